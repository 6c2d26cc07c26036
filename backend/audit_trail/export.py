"""The audit trail as a file, however long: read and sent a part at a time."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from asgiref.sync import sync_to_async

from backend.audit.models import AuditEntry
from backend.audit_trail.queries import Wanted, page
from backend.live.results.downloads import as_text

PART = 500
"""Entries that are read at once."""
COLUMNS = (
    *("id", "at", "account", "through", "through_name", "verb", "kind", "name", "key", "team", "topology"),
    *("detail", "changes"),
)
Document = dict[str, object]


def csv_header() -> str:
    return _lines([COLUMNS])


def to_csv(entries: Iterable[Document]) -> str:
    """Rows of a CSV file; changes are JSON, and no text is a formula to a spreadsheet."""
    return _lines([_field(one[column]) for column in COLUMNS] for one in entries)


def to_json_lines(entries: Iterable[Document]) -> str:
    """One JSON object per line."""
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in entries)


async def parts(
    wanted: Wanted, header: str, written: Callable[[Sequence[AuditEntry]], str]
) -> AsyncIterator[str]:
    """The text of all entries that are wanted, newest first.

    What is written meanwhile is not among them.
    """
    yield header
    before: int | None = None
    while True:
        found = await sync_to_async(page)(wanted, before, PART)
        yield await sync_to_async(written)(found.entries)
        if found.next is None:
            return
        before = found.next


def _field(value: object) -> object:
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return as_text(value)


def _lines(rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
