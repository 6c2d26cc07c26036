"""One batch of one stream: arrival numbers, late tuples, filters, first messages.

Late tuples. A tuple older than the watermark it is given (see `ingest`) goes to the dead letters
under the stream's policy `drop`; under `join` it travels on, marked, and meets what is still
stored. A tuple without event time has no place in any window: it is a dead letter.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from jobs.emission import emit
from jobs.expressions.screen import staged
from jobs.failed_calls import FailedCalls
from jobs.layouts import NO_LAYOUTS, Layouts
from jobs.message import ARRIVAL, LATE, Message, Result
from jobs.rules import index_of
from jobs.sending import send
from optimizer.graph import PhysicalGraph

DEAD_LETTERS = pa.schema(
    [
        ("stream", pa.string()),
        ("reason", pa.string()),
        ("arrival", pa.int64()),
        ("event_time", pa.timestamp("us", "UTC")),
        ("tuple", pa.string()),
    ]
)
"""`reason` is `late`, `null event time`, or why the tuple could not be decoded; `tuple` is JSON,
or the text as it came."""

UNDECODABLE = pa.schema([("reason", pa.string()), ("tuple", pa.string())])
"""What a source hands over of tuples that it could not decode."""


@dataclass(frozen=True, slots=True)
class Ingested:
    messages: list[Message]
    results: list[Result]
    """Of queries over this stream alone."""
    dead: pa.Table | None
    """With the columns of `DEAD_LETTERS`; None if there are none."""
    accepted: int
    late: int
    """Late tuples, dropped or joined."""
    undecodable: int
    """Including those without event time."""
    max_event_time_us: int | None
    """Newest event time of all decoded tuples, which moves the stream's watermark."""
    rule_tuples: dict[str, int]
    """Tuples that passed each source rule, before copies, by rule."""
    failed_calls: dict[str, int]
    """Calls of user functions that raised, by query."""


def ingest(
    graph: PhysicalGraph,
    stream: str,
    table: pa.Table,
    undecodable: pa.Table | None,
    arrival_base: int,
    watermark_us: int | None,
    layouts: Layouts = NO_LAYOUTS,
) -> Ingested:
    """Accept a batch's tuples of a stream and send them on their way.

    Arguments: `table` has the stream's columns, at least those that the graph reads, in its
    declared types (timestamps in microseconds, UTC), in order of arrival; row i gets the arrival
    number `arrival_base + i`, so a caller leaves room between batches and tasks. `watermark_us` is
    the watermark at the end of the previous batch, the newer of the stream's own and, if the stream
    was passed over as idle, the topology's; None before the first tuple. A tuple is late iff it is
    strictly older. `layouts` are the batch's.
    """
    index = index_of(graph)
    declared = index.streams[stream]
    frame = pl.DataFrame(pl.from_arrow(table))
    frame = frame.with_columns(
        pl.int_range(arrival_base, arrival_base + frame.height, dtype=pl.Int64).alias(ARRIVAL)
    )
    time = pl.col(declared.event_time)
    times = frame[declared.event_time].cast(pl.Int64)
    newest: int | None = times.max()  # type: ignore[assignment]
    oldest: int | None = times.min()  # type: ignore[assignment]
    dead: list[pl.DataFrame] = []
    unplaced = frame.clear()
    if times.null_count():
        unplaced = frame.filter(time.is_null())
        dead.append(_letters(stream, "null event time", declared.event_time, unplaced))
        frame = frame.filter(time.is_not_null())
    late = 0
    is_late = pl.lit(False) if watermark_us is None else time.to_physical() < watermark_us
    if watermark_us is not None and oldest is not None and oldest < watermark_us:
        behind = frame.filter(is_late)
        late = behind.height
        if declared.late == "drop":
            dead.append(_letters(stream, "late", declared.event_time, behind))
            frame = frame.filter(~is_late)
    if index.marks_late:
        frame = frame.with_columns(is_late.alias(LATE))
    unreadable = 0
    if undecodable is not None and undecodable.num_rows:
        unreadable = undecodable.num_rows
        dead.append(_undecodable(stream, undecodable))
    messages: list[Message] = []
    results: list[Result] = []
    passed: dict[str, int] = {}
    failed = FailedCalls()
    for rule in index.sources[stream]:
        rows = frame.rename(
            {name: f"{rule.input}.{name}" for name, _ in declared.columns if name in frame.columns}
        )
        if rule.filter is not None:
            rows = rows.filter(*staged([rule.filter]))
            failed.count(index.users.of_rule(rule.id))
        passed[rule.id] = rows.height
        if rows.is_empty():
            continue
        messages.extend(send(index, rule.out, rows, layouts=layouts))
        results.extend(emit(index, rule.id, rule.emits, (rule.input,), rows, failed))
    letters = pl.concat(dead).to_arrow().cast(DEAD_LETTERS) if dead else None
    undecoded = unreadable + unplaced.height
    return Ingested(
        messages, results, letters, frame.height, late, undecoded, newest, passed, failed.by_query
    )


def _letters(stream: str, reason: str, event_time: str, rows: pl.DataFrame) -> pl.DataFrame:
    columns = [name for name in rows.columns if name != ARRIVAL]
    readable = [
        pl.col(name).bin.encode("hex") if rows.schema[name] == pl.Binary else pl.col(name) for name in columns
    ]
    return rows.select(
        pl.lit(stream).alias("stream"),
        pl.lit(reason).alias("reason"),
        pl.col(ARRIVAL).alias("arrival"),
        pl.col(event_time).cast(pl.Datetime("us", "UTC")).alias("event_time"),
        pl.struct(readable).struct.json_encode().alias("tuple"),
    )


def _undecodable(stream: str, table: pa.Table) -> pl.DataFrame:
    rows = pl.DataFrame(pl.from_arrow(table.select(["reason", "tuple"])))
    return rows.select(
        pl.lit(stream).alias("stream"),
        pl.col("reason").cast(pl.String),
        pl.lit(None, dtype=pl.Int64).alias("arrival"),
        pl.lit(None, dtype=pl.Datetime("us", "UTC")).alias("event_time"),
        pl.col("tuple").cast(pl.String),
    )
