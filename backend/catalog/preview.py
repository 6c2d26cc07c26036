"""A query over recent retained tuples, before it is deployed.

DuckDB runs what the optimizer says the query means (`optimizer.sql.to_duckdb`), never a person's
text, and goes on with NULL where an expression errs, as a running topology does. It sees nothing but
the tuples that it is handed: no files, no network, bounded memory, time and rows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backend.catalog.sandbox import TooLarge, TooLong, sandbox
from backend.errors import Conflict
from backend.redis import binary_connection_to
from backend.streams.retained import Retained, retained
from backend.streams.values import shown
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import needed_windows
from optimizer.logical.query import Input, Query, registered_inputs
from optimizer.logical.window import UNBOUNDED, Sliding
from optimizer.sql import newest_first, null_where_it_errs
from optimizer.udf.registry import FunctionRegistry

MOST_TUPLES = 20_000
"""Of each stream."""
DUCKDB_SECONDS = 10.0
"""Of DuckDB's work; then the preview is refused."""
DUCKDB_MEMORY = "256MB"
"""DuckDB ends a query that needs more."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a preview reads, and what it may use."""

    redis_url: str
    tuples: int
    """Of each stream."""
    seconds: float
    memory: str
    """As DuckDB writes sizes."""


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
    rows: tuple[dict[str, object], ...]
    """Those with the newest tuple first; values as JSON."""
    more: bool
    """True if there are more results than rows."""
    sources: tuple[Source, ...]
    complete_from: datetime | None
    """Results whose newest tuple is not older are all among the results; None if that holds for none
    (an unbounded window reaches behind what was read) or, with every source whole, for all."""
    seconds: float


def preview(query: Query, catalog: Catalog, limit: int, bounds: Bounds) -> Preview:
    """Run the query over the newest tuples of its streams.

    Late tuples count like all others. Raises `Conflict` when it takes too long or too much memory.
    """
    began = time.monotonic()
    names = sorted({source.stream for source in registered_inputs(query)})
    client = binary_connection_to(bounds.redis_url)
    found = {name: retained(catalog[name], bounds.tuples, client) for name in names}
    text = newest_first(query, catalog, limit + 1, null_where_it_errs)
    rows = _run(text, found, catalog.functions, bounds)
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
        complete_from=_complete_from(_needed(query, catalog), found),
        seconds=time.monotonic() - began,
    )


def _needed(query: Query, catalog: Catalog) -> list[Input]:
    """How far back results reach into each registered stream."""
    inner = {one.stream.name: one for one in query.derived}
    found: list[Input] = []
    for item in needed_windows(query, catalog):
        if item.stream not in inner:
            found.append(item)
            continue
        derived = inner[item.stream]
        further = [item.window.reach_us, _bucket_us(derived.query)]
        for own in _needed(derived.query, catalog):
            reach = [own.window.reach_us, *further]
            known = [us for us in reach if us is not None]
            window = Sliding(sum(known)) if len(known) == len(reach) else UNBOUNDED
            found.append(Input(f"{item.alias}.{own.alias}", own.stream, window))
    return found


def _bucket_us(query: Query) -> int:
    bucket = None if query.grouping is None else query.grouping.bucket
    return 0 if bucket is None else bucket.size_us


def _run(
    text: str, found: dict[str, Retained], functions: FunctionRegistry, bounds: Bounds
) -> list[tuple[object, ...]]:
    tables = {name: one.table for name, one in found.items()}
    try:
        with sandbox(tables, functions, bounds.seconds, bounds.memory) as connection:
            return connection.execute(text).fetchall()
    except TooLong as error:
        raise Conflict(
            "preview-too-long",
            f"the preview took longer than {bounds.seconds:g} s: shorten windows, or filter or join on more",
        ) from error
    except TooLarge as error:
        raise Conflict(
            "preview-too-large",
            f"the preview needs more than {bounds.memory}: shorten windows, or filter or join on more",
        ) from error


def _complete_from(inputs: Sequence[Input], found: dict[str, Retained]) -> datetime | None:
    """A result with newest time T needs every tuple of input i from T - retention on."""
    reached: list[datetime] = []
    for source in inputs:
        one = found[source.stream]
        if one.whole or one.oldest is None:
            continue
        if source.window.reach_us is None:
            return None
        try:
            reached.append(one.oldest + timedelta(microseconds=source.window.reach_us))
        except OverflowError:
            return None
    return max(reached, default=None)


def _plain(value: object) -> object:
    """As the live tail shows values: seconds for an interval."""
    return value.total_seconds() if isinstance(value, timedelta) else shown(value)
