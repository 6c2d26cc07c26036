"""Combinations that wait: held, sent once they are due, settled or aggregated.

A combination whose deadline the watermark has passed is due in one batch: the first behind the one that found
it in which the watermark stands behind the deadline and did not do so before. So nothing is marked, and a
batch that is repeated does the same. What falls due gets arrival numbers of the batch, by which it sees all
that earlier batches stored, and by which the partners that are found come back to the task that sent it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from jobs.aggregation.groups import finish, first_groups, merge, states_of
from jobs.aggregation.sessions import split_sessions
from jobs.expressions.dtypes import DTYPES
from jobs.expressions.predicate_order import staged
from jobs.failures.evaluation_errors import FailedCalls
from jobs.join.emit import emit
from jobs.join.newest import with_newest
from jobs.partitioning.layout import NO_LAYOUTS, Layouts
from jobs.partitioning.router import send
from jobs.plan.event_time import FIRST_US, LAST_US, later_than
from jobs.plan.index import RuleIndex
from jobs.plan.tuples import ARRIVAL, ARRIVALS_PER_TASK, LATE, Message, Result, column_name, first_arrival
from jobs.storage.partition import PartitionState
from optimizer.algebra.types import ColumnType
from optimizer.physical.graph import Hold, PhysicalGraph
from optimizer.physical.groups import Groups
from optimizer.physical.rules import AggregateRule, SettleRule


@dataclass(frozen=True, slots=True)
class Waiting:
    """Under which watermarks a batch holds, sends and evicts."""

    watermark_us: int | None
    """The topology's, at the end of the previous batch."""
    passed_us: int | None = None
    """The one before it: what it had passed was due before."""
    certain_from_us: Mapping[str, int] = field(default_factory=dict)
    """By hold, the event time from which its combinations can be settled; missing if all can be."""
    earlier_us: tuple[int | None, ...] = ()
    """Those of the batches before these, the newest first."""

    def of(self, tier: int) -> tuple[int | None, int | None]:
        """The watermark of a tier of derived streams, and the one before it.

        What falls due of a tier comes in one batch later, and is stored for those behind that one. So when a
        batch begins, all that the tier before has found under the watermark of two batches ago is there.

        >>> Waiting(90, 80, earlier_us=(70, 60, 50)).of(1), Waiting(90).of(1)
        ((70, 60), (None, None))
        """
        known = (self.watermark_us, self.passed_us, *self.earlier_us)
        return tuple((*known, *[None] * (2 * tier + 2))[2 * tier : 2 * tier + 2])  # type: ignore[return-value]

    def evicted_under(self, graph: PhysicalGraph) -> int | None:
        """The watermark behind which nothing asks for a tuple any more.

        A watermark may jump, and what falls due then still finds its partners.
        """
        return self.of(graph.tiers)[1] if graph.waits else self.watermark_us


NOTHING_PASSED = Waiting(None)


def hold(
    index: RuleIndex,
    found: Sequence[Result],
    final: list[Result],
    waiting: Waiting,
    layouts: Layouts = NO_LAYOUTS,
) -> list[Message]:
    """Send what has to wait to its store, and add to `final` what is final at once."""
    messages: list[Message] = []
    for result in found:
        held = index.holds.get(result.query)
        derived = index.derived_edges.get((result.query, result.rule))
        if derived is not None:
            messages.extend(send(index, (derived,), _as_stored(index, result), layouts=layouts))
        elif held is None:
            final.append(result)
        elif held.groups is not None and held.groups.running:
            counted = _counted(held.groups, result, waiting.certain_from_us.get(held.name))
            if counted.table.height:
                states = _waiting(index, held, counted, None)
                edge = index.held_edges[held.name, result.rule]
                messages.extend(send(index, (edge,), states, layouts=layouts))
        elif result.table.height:
            watermark_us, _ = waiting.of(held.tier)
            rows = _waiting(index, held, result, watermark_us)
            direct = index.direct_edges.get((held.name, result.rule))
            if direct is not None and watermark_us is not None:
                # Its group's other rows are on their way from the store, to where these go too.
                due = pl.col(f"{held.stream.name}.{held.stream.event_time}").to_physical() < watermark_us
                messages.extend(send(index, (direct,), rows.filter(due), layouts=layouts))
                rows = rows.filter(~due)
            messages.extend(send(index, (index.held_edges[held.name, result.rule],), rows, layouts=layouts))
    return messages


def _counted(groups: Groups, result: Result, certain_from_us: int | None) -> Result:
    """The combinations that running groups count: those that are complete."""
    if certain_from_us is None:
        return result
    passing = result.table.get_column(groups.counted_by).to_physical() >= certain_from_us
    table, arrivals = result.table.filter(passing), result.arrivals.filter(passing)
    return replace(result, table=table, arrivals=arrivals)


def _as_stored(index: RuleIndex, result: Result) -> pl.DataFrame:
    """Results as tuples of the stream that has their query's name."""
    rows = result.table.rename({name: f"{result.query}.{name}" for name in result.table.columns})
    late = [pl.lit(False).alias(LATE)] if index.marks_late else []
    return rows.with_columns(result.arrivals.alias(ARRIVAL), *late)


def _waiting(index: RuleIndex, held: Hold, result: Result, watermark_us: int | None) -> pl.DataFrame:
    ((deadline, _), *_) = held.stream.columns
    names = [name for name, _ in held.stream.columns]
    if held.groups is not None:
        rows = states_of(held.groups, result.table.with_columns(result.arrivals.alias(ARRIVAL)), deadline)
    else:
        until = _deadline(held, watermark_us).alias(deadline)
        rows = result.table.with_columns(until, result.arrivals.alias(ARRIVAL))
    late = [pl.lit(False).alias(LATE)] if index.marks_late else []
    rows = rows[[*names, ARRIVAL]].rename({name: f"{held.stream.name}.{name}" for name in names})
    return rows.with_columns(*late)


def _deadline(held: Hold, watermark_us: int | None) -> pl.Expr:
    latest = [
        pl.min_horizontal(*(later_than(pl.col(bound.input), _us(bound.window.reach_us)) for bound in bounds))
        for bounds in held.deadlines
    ]
    # Not before the watermark: what is past already is due in the next batch in which that moves.
    first = FIRST_US if watermark_us is None else watermark_us
    until = pl.max_horizontal(*latest, pl.lit(first, dtype=pl.Int64))
    until = pl.min_horizontal(until, pl.lit(LAST_US - 1, dtype=pl.Int64))
    return until.cast(pl.Datetime("us", "UTC"))


def _us(reach_us: int | None) -> int:
    assert reach_us is not None, "deadlines are finite"
    return reach_us


def fall_due(
    index: RuleIndex,
    state: PartitionState,
    waiting: Waiting,
    messages: list[Message],
    layouts: Layouts = NO_LAYOUTS,
) -> dict[str, int]:
    """Add to `messages` what is due in a batch; returns how much each due rule sent."""
    sent: dict[str, int] = {}
    after = first_arrival(state.batch, state.partition)
    for held in index.holds.values():
        if held.is_running:
            continue
        rows = _due(index, held, state, waiting)
        if rows is None or rows.is_empty():
            continue
        if held.groups is not None and held.groups.merges:
            rows = _merged(held, held.groups, rows)
        rows = rows.with_columns(pl.int_range(after, after + rows.height, dtype=pl.Int64).alias(ARRIVAL))
        after += rows.height
        for rule in index.due_rules[held.name]:
            tree = rows.select(
                *(
                    pl.col(f"{held.stream.name}.{name}").alias(column_name(column))
                    for name, column in rule.columns
                ),
                ARRIVAL,
                *((LATE,) if index.marks_late else ()),
            )
            messages.extend(send(index, rule.out, tree, layouts=layouts))
            sent[rule.id] = tree.height
    assert after - first_arrival(state.batch, state.partition) <= ARRIVALS_PER_TASK
    return sent


def _merged(held: Hold, groups: Groups, rows: pl.DataFrame) -> pl.DataFrame:
    """One row of what is due of each group here."""
    prefix = f"{held.stream.name}."
    own = rows.rename({name: name.removeprefix(prefix) for name in rows.columns})
    found = merge(groups, own, (LATE,) if LATE in rows.columns else ())
    return found.rename({name: f"{prefix}{name}" for name in found.columns if name not in (ARRIVAL, LATE)})


def _due(index: RuleIndex, held: Hold, state: PartitionState, waiting: Waiting) -> pl.DataFrame | None:
    """The combinations of a hold that are due, in the order of deadline and arrival."""
    watermark, passed = waiting.of(held.tier)
    if watermark is None:
        return None
    since = FIRST_US if passed is None else passed
    runs = [
        run
        for run in state.runs(held.store)
        if run.max_times_us[0] >= since and run.min_times_us[0] < watermark
    ]
    if not runs:
        return None
    prefix = f"{held.stream.name}."
    deadline = f"{prefix}{held.stream.event_time}"
    due = (pl.col(deadline).to_physical() >= since) & (pl.col(deadline).to_physical() < watermark)
    certain = waiting.certain_from_us.get(held.name)
    if certain is not None and not (held.groups is not None and held.groups.gap_us):
        # Of a session it is only known in the end when it began.
        times = [pl.col(f"{prefix}{name}").to_physical() for name in held.times]
        due &= pl.max_horizontal(*times) >= certain
    columns = [f"{prefix}{name}" for name, _ in held.stream.columns]
    columns = [*columns, ARRIVAL, *((LATE,) if index.marks_late else ())]
    found = [piece.filter(due) for piece in state.pieces(runs, columns, {})]
    if index.marks_late:
        found = [
            rows if LATE in rows.columns else rows.with_columns(pl.lit(False).alias(LATE)) for rows in found
        ]
    rows = pl.concat([rows.select(columns) for rows in found])
    return rows.sort([deadline, ARRIVAL, *columns[1:]], maintain_order=True)


def aggregate(
    index: RuleIndex,
    rule: AggregateRule,
    frames: Mapping[str, pl.DataFrame],
    waiting: Waiting,
    failed: FailedCalls,
) -> tuple[list[Result], pl.DataFrame | None]:
    """The results of final groups, and the rows of open sessions.

    All rows of the groups are here. Open sessions stay with this task, in the hold's store.
    """
    held = index.holds[rule.hold]
    assert held.groups is not None
    prefix = f"{held.stream.name}."
    parts = [frames[edge] for edge in (rule.edge, *rule.direct) if edge in frames]
    if not parts:
        return [], None
    rows = pl.concat([part[parts[0].columns] for part in parts])
    rows = rows.rename({name: name.removeprefix(prefix) for name in rows.columns})
    still = None
    if held.groups.gap_us:
        watermark_us, _ = waiting.of(held.tier)
        assert watermark_us is not None, "nothing is due without a watermark"
        certain = waiting.certain_from_us.get(held.name)
        rows, opened = split_sessions(held.groups, rows, watermark_us, certain)
        still = _kept_open(index, held, opened, watermark_us) if opened.height else None
    if rows.is_empty():
        return [], still
    groups = finish(held.groups, rows)
    groups = groups.rename({name: f"{prefix}{name}" for name in groups.columns if name != ARRIVAL})
    if held.groups.limit is not None:
        (leaf,) = rule.emits
        groups = first_groups(held.groups, groups.filter(*staged(leaf.residuals, [])), prefix)
    return emit(index, rule.id, rule.emits, (), groups, failed), still


def _kept_open(index: RuleIndex, held: Hold, rows: pl.DataFrame, watermark_us: int) -> pl.DataFrame:
    """Rows of open sessions as the hold's store has them.

    They are due in the next batch in which the watermark moves.
    """
    until = pl.lit(watermark_us, dtype=pl.Int64).cast(DTYPES[ColumnType.TIMESTAMP])
    rows = rows.with_columns(until.alias(held.stream.event_time))
    late = [pl.lit(False).alias(LATE)] if index.marks_late else []
    names = [name for name, _ in held.stream.columns]
    return rows.select(*(pl.col(name).alias(f"{held.stream.name}.{name}") for name in names), ARRIVAL, *late)


def settle(
    index: RuleIndex, rule: SettleRule, frames: Mapping[str, pl.DataFrame], failed: FailedCalls
) -> list[Result]:
    """The results among what is due, with partners or without, as the rule asks."""
    rows = frames.get(rule.edge)
    if rows is None:
        return []
    for found in rule.found:
        hits = frames.get(found.edge)
        if found.newest:
            rows = with_newest(found, rows, hits)
        elif hits is None:
            rows = rows.clear() if found.present else rows
        else:
            rows = rows.join(
                hits.select(ARRIVAL).unique(), on=ARRIVAL, how="semi" if found.present else "anti"
            )
    return emit(index, rule.id, rule.emits, rule.inputs, rows, failed) if rows.height else []
