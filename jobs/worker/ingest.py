"""One batch of one stream: arrival numbers, late tuples, filters, first messages.

Late tuples. A tuple older than the watermark it is given (see `ingest`) goes to the dead letters
under the stream's policy `drop`; under `join` it travels on, marked, and meets what is still
stored. A tuple without event time has no place in any window: it is a dead letter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import polars as pl
import pyarrow as pa

from jobs.expressions.predicate_order import passing
from jobs.failures.dead_letters import DEAD_LETTERS, letters_of, undecodable_letters
from jobs.failures.evaluation_errors import FailedCalls
from jobs.failures.task_failure import telling
from jobs.join.emit import emit
from jobs.partitioning.layout import NO_LAYOUTS, Layouts
from jobs.partitioning.router import send
from jobs.plan.index import index_of
from jobs.plan.tuples import ARRIVAL, LATE, Message, Result, column_name
from jobs.protocol.metrics import StreamProgress
from jobs.sources.ahead import LatestTimes, beyond
from jobs.worker.holding import NOTHING_PASSED, Waiting, hold
from optimizer.algebra.expression import Column
from optimizer.physical.graph import GraphStream, PhysicalGraph
from optimizer.physical.rules import SourceRule

AHEAD = "event time ahead of arrival"
"""The reason of a tuple whose event time lies further ahead of its arrival than its stream allows."""


@dataclass(frozen=True, slots=True)
class Ingested:
    messages: list[Message]
    results: list[Result]
    """Of queries over this stream alone."""
    dead: pa.Table | None
    """With the columns of `DEAD_LETTERS`; None if there are none."""
    counts: StreamProgress
    """Late ones are dropped or joined; undecodable ones include those without event time and those ahead of
    their arrival; all others move the newest event time, and with it the stream's watermark."""
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
    latest_us: LatestTimes = None,
    waiting: Waiting = NOTHING_PASSED,
) -> Ingested:
    """Accept a batch's tuples of a stream and send them on their way.

    Arguments: `table` has the stream's columns, at least those that the graph reads, in its
    declared types (timestamps in microseconds, UTC), in order of arrival; row i gets the arrival
    number `arrival_base + i`, so a caller leaves room between batches and tasks. `watermark_us` is
    the watermark at the end of the previous batch, the newer of the stream's own and, if the stream
    was passed over as idle, the topology's; None before the first tuple. A tuple is late iff it is
    strictly older. `layouts` are the batch's. A tuple with an event time above its row's `latest_us` is
    a dead letter and moves no watermark. `waiting` has the watermarks before which nothing that is held falls
    due.
    """
    index = index_of(graph)
    declared = index.streams[stream]
    frame = pl.DataFrame(pl.from_arrow(table))
    frame = frame.with_columns(
        pl.int_range(arrival_base, arrival_base + frame.height, dtype=pl.Int64).alias(ARRIVAL)
    )
    checked = _checked(stream, declared, frame, watermark_us, latest_us)
    frame, dead = checked.frame, checked.dead
    if index.marks_late:
        frame = frame.with_columns(checked.is_late.alias(LATE))
    unreadable = checked.unplaced
    if undecodable is not None and undecodable.num_rows:
        unreadable += undecodable.num_rows
        dead.append(undecodable_letters(stream, undecodable))
    messages: list[Message] = []
    results: list[Result] = []
    passed: dict[str, int] = {}
    failed = FailedCalls(index)
    for rule in index.sources[stream]:
        rows = frame.rename(
            {name: f"{rule.input}.{name}" for name, _ in declared.columns if name in frame.columns}
        )
        if rule.filter is not None:
            with telling("filtering", index.users.of_rule(rule.id), stream):
                rows = passing(rule.filter, rows, partial(_told_beside, declared, rule, rows))
            failed.count(index.users.of_rule(rule.id), rule.input)
        passed[rule.id] = rows.height
        if rows.is_empty():
            continue
        messages.extend(send(index, rule.out, rows, layouts=layouts))
        answers = emit(index, rule.id, rule.emits, (rule.input,), rows, failed)
        messages.extend(hold(index, answers, results, waiting, layouts))
    tables = [pl.concat(dead).to_arrow().cast(DEAD_LETTERS)] if dead else []
    if failed.letters is not None:
        tables.append(failed.letters)
    letters = pa.concat_tables(tables) if tables else None
    counts = StreamProgress(
        accepted=frame.height,
        late=checked.late,
        undecodable=unreadable,
        max_event_time_us=checked.newest_us,
    )
    return Ingested(messages, results, letters, counts, passed, failed.by_query)


@dataclass(frozen=True, slots=True)
class _Checked:
    """A batch's tuples of a stream by what their event times say."""

    frame: pl.DataFrame
    """Those that are accepted."""
    dead: list[pl.DataFrame]
    """Letters for the others."""
    unplaced: int
    """Those without an event time, and those ahead of their arrival."""
    late: int
    is_late: pl.Expr
    newest_us: int | None


def _checked(
    stream: str,
    declared: GraphStream,
    frame: pl.DataFrame,
    watermark_us: int | None,
    latest_us: LatestTimes,
) -> _Checked:
    """Turn away tuples ahead of their arrival, too late, or without an event time."""
    time = pl.col(declared.event_time)
    times = frame[declared.event_time].cast(pl.Int64)
    dead: list[pl.DataFrame] = []
    ahead = beyond(times, latest_us)
    if ahead is not None:
        dead.append(letters_of(stream, AHEAD, declared.event_time, frame.filter(ahead)))
        frame, times = frame.filter(~ahead), times.filter(~ahead)
    newest: int | None = times.max()  # type: ignore[assignment]
    oldest: int | None = times.min()  # type: ignore[assignment]
    if times.null_count():
        dead.append(letters_of(stream, "null event time", declared.event_time, frame.filter(time.is_null())))
        frame = frame.filter(time.is_not_null())
    unplaced = sum(letters.height for letters in dead)
    late = 0
    is_late = pl.lit(False) if watermark_us is None else time.to_physical() < watermark_us
    if watermark_us is not None and oldest is not None and oldest < watermark_us:
        behind = frame.filter(is_late)
        late = behind.height
        if declared.late == "drop":
            dead.append(letters_of(stream, "late", declared.event_time, behind))
            frame = frame.filter(~is_late)
    return _Checked(frame, dead, unplaced, late, is_late, newest)


def _told_beside(declared: GraphStream, rule: SourceRule, rows: pl.DataFrame) -> list[Column]:
    """All of a tuple that is there, the event time first."""
    columns = sorted(declared.columns, key=lambda column: column[0] != declared.event_time)
    beside = [Column(rule.input, name, kind) for name, kind in columns]
    return [column for column in beside if column_name(column) in rows.columns]
