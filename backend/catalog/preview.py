"""A query over recent retained tuples, before it is deployed.

DuckDB runs what the optimizer says the query means (`optimizer.sql.to_duckdb`), never a person's
text. It sees nothing but the tuples that it is handed: no files, no network, bounded memory, time
and rows.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from backend.catalog.sandbox import TooLarge, TooLong, sandbox
from backend.errors import Conflict, Unavailable
from backend.streams.retained import Retained, retained
from backend.streams.values import shown
from optimizer.catalog import Catalog
from optimizer.expression_sql import quote
from optimizer.query import Query
from optimizer.sql import to_duckdb
from optimizer.udf.registry import FunctionRegistry

MOST_TUPLES = 20_000
"""Of each stream."""
SECONDS = 10.0
MEMORY = "256MB"
_PLACES = threading.BoundedSemaphore(2)
"""Previews at once in one web process: each may fill a processor and MEMORY."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a preview read of one stream."""

    stream: str
    tuples: int
    unreadable: int
    whole: bool
    """True if the preview saw everything that lies in Redis."""
    oldest: datetime | None
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class Preview:
    columns: tuple[tuple[str, str], ...]
    rows: tuple[dict[str, Any], ...]
    """Those with the newest tuple first; values as JSON."""
    more: bool
    """True if there are more results than rows."""
    sources: tuple[Source, ...]
    complete_from: datetime | None
    """Results whose newest tuple is not older are all among the results; None if that holds for none
    (an unbounded window reaches behind what was read) or, with every source whole, for all."""
    seconds: float


def preview(query: Query, catalog: Catalog, limit: int) -> Preview:
    """Run the query over the newest tuples of its streams.

    Late tuples count like all others. Raises `Conflict` when it takes too long or too much memory,
    `Unavailable` when too many previews run.
    """
    if not _PLACES.acquire(blocking=False):
        raise Unavailable("previews-busy", "other previews are running; try again in a few seconds")
    try:
        return _preview(query, catalog, limit)
    finally:
        _PLACES.release()


def _preview(query: Query, catalog: Catalog, limit: int) -> Preview:
    began = time.monotonic()
    names = sorted({source.stream for source in query.inputs})
    found = {name: retained(catalog[name], MOST_TUPLES) for name in names}
    moments = [f"{quote(i.alias)}.{quote(catalog[i.stream].event_time)}" for i in query.inputs]
    newest = moments[0] if len(moments) == 1 else f"greatest({', '.join(moments)})"
    text = f"{to_duckdb(query, catalog)}\nORDER BY {newest} DESC LIMIT {limit + 1}"
    rows = _run(text, found, catalog.functions)
    outputs = tuple((output.name, output.expression.type.value) for output in query.outputs)
    return Preview(
        columns=outputs,
        rows=tuple(
            {name: _plain(value) for (name, _), value in zip(outputs, row, strict=True)}
            for row in rows[:limit]
        ),
        more=len(rows) > limit,
        sources=tuple(
            Source(name, one.table.num_rows, one.unreadable, one.whole, one.oldest, one.newest)
            for name, one in found.items()
        ),
        complete_from=_complete_from(query, found),
        seconds=time.monotonic() - began,
    )


def _run(text: str, found: dict[str, Retained], functions: FunctionRegistry) -> list[tuple[Any, ...]]:
    tables = {name: one.table for name, one in found.items()}
    try:
        with sandbox(tables, functions, SECONDS, MEMORY) as connection:
            return connection.execute(text).fetchall()
    except TooLong as error:
        raise Conflict(
            "preview-too-long",
            f"the preview took longer than {SECONDS:g} s: shorten windows, or filter or join on more",
        ) from error
    except TooLarge as error:
        raise Conflict(
            "preview-too-large",
            f"the preview needs more than {MEMORY}: shorten windows, or filter or join on more",
        ) from error


def _complete_from(query: Query, found: dict[str, Retained]) -> datetime | None:
    """A result with newest time T needs every tuple of input i from T - window on."""
    reached: list[datetime] = []
    for source in query.inputs:
        one = found[source.stream]
        if one.whole or one.oldest is None:
            continue
        if source.window is None:
            return None
        try:
            reached.append(one.oldest + source.window)
        except OverflowError:
            return None
    return max(reached, default=None)


def _plain(value: object) -> Any:
    """As the live tail shows values: seconds for an interval."""
    return value.total_seconds() if isinstance(value, timedelta) else shown(value)
