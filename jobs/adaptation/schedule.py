"""Queries that come and go during a replay: schedule.yaml.

    changes:
      - {batch: 4, add: [late_flights]}
      - {batch: 9, remove: [wind_pairs]}

A query that is added somewhere is not answered before; every other query is answered from batch 0.
`add` counts from that batch on, `remove` ends before it. What exactly a query added at batch b
answers: results whose newest tuple arrives in batch b or later; see docs/design/adaptivity.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, Field, ValidationError

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.identifiers import nearest


class _Entry(BaseModel, extra="forbid", strict=True):
    batch: Annotated[int, Field(ge=1)]
    add: list[str] = []
    remove: list[str] = []


class _Document(BaseModel, extra="forbid", strict=True):
    changes: list[_Entry]


@dataclass(frozen=True, slots=True)
class Schedule:
    """From which batch to which each query is answered."""

    spans: tuple[tuple[str, int, int | None], ...]
    """(query, first batch, first batch no more), by name; None is the end."""

    @staticmethod
    def always(queries: Iterable[str]) -> Schedule:
        """Every query from the first batch to the last."""
        return Schedule(tuple((name, 0, None) for name in sorted(queries)))

    def at(self, batch: int) -> tuple[str, ...]:
        """The queries that a batch answers, sorted."""
        return tuple(
            name for name, first, end in self.spans if first <= batch and (end is None or batch < end)
        )

    @property
    def batches(self) -> tuple[int, ...]:
        """The batches at which something changes, ascending."""
        found = {first for _, first, _ in self.spans} | {end for _, _, end in self.spans if end is not None}
        return tuple(sorted(found - {0}))


def read_schedule(path: Path, queries: Iterable[str]) -> Schedule:
    """Read a schedule.

    Raises `InputError` naming the file and the entry for anything unusable.
    """
    known = sorted(queries)
    try:
        content = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise InputError("no-schedule", Place(str(path)), error.strerror or str(error), "a file") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _unusable(path, None, " ".join(str(error).split())[:100], "YAML with changes: [...]") from error
    try:
        document = _Document.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or None
        raise _unusable(path, where, repr(first["input"])[:80], first["msg"]) from error
    spans: dict[str, tuple[int, int | None]] = {}
    added = {name for entry in document.changes for name in entry.add}
    spans.update((name, (0, None)) for name in known if name not in added)
    previous = 0
    for number, entry in enumerate(document.changes):
        place = f"changes.{number}"
        if entry.batch <= previous:
            raise _unusable(path, f"{place}.batch", str(entry.batch), f"a batch after {previous}")
        previous = entry.batch
        for name in (*entry.add, *entry.remove):
            if name not in known:
                raise _unusable(path, place, f"query {name}", "a query of the workload", nearest(name, known))
        for name in entry.add:
            if name in spans:
                raise _unusable(path, f"{place}.add", f"query {name} a second time", "each query added once")
            spans[name] = (entry.batch, None)
        for name in entry.remove:
            if name not in spans or spans[name][1] is not None or spans[name][0] == entry.batch:
                raise _unusable(path, f"{place}.remove", f"query {name}", "a query that is answered by then")
            spans[name] = (spans[name][0], entry.batch)
    schedule = Schedule(tuple((name, *spans[name]) for name in sorted(spans)))
    for batch in (0, *schedule.batches):
        if not schedule.at(batch):
            raise _unusable(path, None, f"no query from batch {batch} on", "at least one query at all times")
    return schedule


def _unusable(
    path: Path, where: str | None, found: str, expected: str, suggestion: str | None = None
) -> InputError:
    return InputError("bad-schedule", Place(str(path), path=where), found, expected, suggestion)
