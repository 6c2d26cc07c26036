"""Read a query's results from where a subscriber is."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from backend.errors import Conflict, MillraceError
from backend.live.subscription.cursor import Cursor, Since
from backend.live.subscription.kept import checkpoint_id, kept_from, newest_final
from backend.topologies.folders import result_files

MOST_ROWS = 10_000
"""Of a page."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Lost(MillraceError):
    """What a subscriber asks for is no longer there."""

    status = 410


@dataclass(frozen=True, slots=True)
class Page:
    """Results in the order of their batches, each once; all have one schema."""

    table: pa.Table
    batches: tuple[int, ...]
    """Of each row."""
    cursor: Cursor
    """Behind them."""
    more: bool
    """True if there are more already."""


def start(topology: str, query: str, since: Since) -> Cursor:
    """Where a subscription begins.

    Raises:
        Conflict: the deployment keeps no results, or nothing has run yet.
        Lost: they are of another checkpoint, or kept no longer; says which are.
    """
    first, own = kept_from(topology), checkpoint_id(topology)
    if first is None:
        raise Conflict(
            "results-not-kept",
            f"{topology} keeps no results to read on from: an operator sets MILLRACE_RESULT_FILES=1 "
            "and restarts it",
        )
    if own is None:
        raise Conflict("not-run", f"{topology} has not run yet")
    if since is None:
        newest = newest_final(topology, query)
        return Cursor(own, first if newest is None else max(first, newest + 1), 0)
    if since == "earliest":
        return Cursor(own, first, 0)
    cursor = Cursor(own, since, 0) if isinstance(since, int) else since
    if cursor.checkpoint != own:
        raise Lost(
            "other-checkpoint", f"{topology} began anew since; its results are kept from batch {first} on"
        )
    if cursor.batch < first:
        raise _no_longer_kept(topology, cursor.batch, first)
    return cursor


def read_page(topology: str, query: str, cursor: Cursor, limit: int) -> Page:
    """The next results, at most `limit`. Raises as `start`."""
    cursor = start(topology, query, cursor)
    newest = newest_final(topology, query)
    folder = result_files(topology) / "results" / query
    if newest is None or newest < cursor.batch or not folder.is_dir():
        return Page(_nothing(folder), (), cursor, False)
    parts: list[pa.Table] = []
    batches: list[int] = []
    batch, row, more = cursor.batch, cursor.row, False
    try:
        for number, files in _by_batch(folder, cursor.batch, newest):
            if number != batch:
                batch, row = number, 0
            skip = row
            for file in files:
                table = pq.read_table(file)
                if skip >= table.num_rows:
                    skip -= table.num_rows
                    continue
                if len(batches) >= limit or (parts and not table.schema.equals(parts[0].schema)):
                    more = True
                    break
                taken = table.slice(skip, limit - len(batches))
                skip = 0
                parts.append(taken)
                batches += [number] * taken.num_rows
                row += taken.num_rows
                if taken.num_rows < table.num_rows and len(batches) >= limit:
                    # Whether that was all of the batch is found out by asking again.
                    more = True
                    break
            if more:
                break
        else:
            batch, row = newest + 1, 0
    except FileNotFoundError as error:
        raise _no_longer_kept(topology, batch, kept_from(topology)) from error
    # What is deleted while it is read, is deleted behind the word that it is no longer kept.
    start(topology, query, cursor)
    table = pa.concat_tables(parts) if parts else _nothing(folder)
    return Page(table, tuple(batches), Cursor(cursor.checkpoint, batch, row), more)


def _no_longer_kept(topology: str, batch: int, first: int | None) -> Lost:
    told = f"batch {batch} of {topology} is no longer kept; its results are from batch {first} on (earliest)"
    return Lost("no-longer-kept", told)


def _by_batch(folder: Path, first: int, last: int) -> Iterator[tuple[int, list[Path]]]:
    found: dict[int, list[Path]] = {}
    for path in sorted(folder.glob("[0-9]*.parquet")):
        number = int(path.name.partition("-")[0])
        if first <= number <= last:
            found.setdefault(number, []).append(path)
    yield from found.items()


def _nothing(folder: Path) -> pa.Table:
    """No results, with their columns as far as they are known."""
    schema = folder / "schema.parquet"
    return pq.read_schema(schema).empty_table() if schema.exists() else pa.table({})


def as_json(table: pa.Table) -> list[dict[str, object]]:
    """Rows as JSON has them, as the live tail shows them.

    Moments are ISO 8601, binaries base64, intervals seconds, decimals text with all their digits; NaN and
    infinities, which JSON lacks, are null.
    """
    for position, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            moments = [_moment(value) for value in table.column(position).cast(pa.int64()).to_pylist()]
            table = table.set_column(position, field.name, pa.array(moments, pa.string()))
    return [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]


def as_arrow(page: Page) -> bytes:
    """The table as an Arrow IPC stream; its schema's metadata has the cursor."""
    sink = pa.BufferOutputStream()
    known = page.table.schema.metadata or {}
    schema = page.table.schema.with_metadata({**known, b"millrace.cursor": str(page.cursor).encode()})
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(page.table.cast(schema))
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _moment(microseconds: int | None) -> str | None:
    if microseconds is None:
        return None
    try:
        return (_EPOCH + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        # Python's calendar ends before the type does.
        return str(microseconds)


def _plain(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return format(value, "f")
        case _:
            return value
