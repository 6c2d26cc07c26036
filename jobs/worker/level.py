"""One batch's work at one level of one partition: store, then probe, then send on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl
import pyarrow as pa

from jobs.expressions.guarded import guarded_rules, raised_by_a_row
from jobs.failures.evaluation_errors import FailedCalls
from jobs.failures.task_failure import telling
from jobs.join.emit import emit
from jobs.join.probe import Tables, TooMany, probe
from jobs.join.probe_plan import is_prepared, plan_of
from jobs.metrics.cpu_time import CpuClock
from jobs.metrics.tally import Tally
from jobs.partitioning.layout import NO_LAYOUTS, Layouts
from jobs.partitioning.router import arriving, partitioning_under, send, sent_columns
from jobs.plan.index import RuleIndex, index_of
from jobs.plan.stage_fusion import Stages
from jobs.plan.tuples import ARRIVAL, EVERY_TASK, LATE, ORDINAL, Message, Result, ordinal
from jobs.protocol.metrics import EdgeMetrics, ElementCounts, QueryCounts, StoreCounts
from jobs.storage.partition import PartitionState
from jobs.storage.run import RunRef
from jobs.worker.holding import Waiting, aggregate, fall_due, hold, settle
from jobs.worker.running import answer_changes
from optimizer.physical.graph import Edge, PhysicalGraph
from optimizer.physical.rules import ProbeRule


@dataclass(frozen=True, slots=True)
class Worked:
    messages: list[Message]
    """For later levels: made here, and those handed in that are not for this level."""
    results: list[Result]
    added: tuple[RunRef, ...]
    """Runs that the batch's manifest must list."""
    dropped: tuple[RunRef, ...]
    """Runs of the last manifest that this batch's must not list: evicted, or merged into others."""
    counts: Tally
    """By store, edge and query."""
    rule_tuples: dict[str, int]
    """Tuples that each probe rule produced, by rule."""
    too_many: dict[str, int]
    """Probe rules that were given up, and how many combinations they had made or begun to check. What
    is behind them is missing, so the work must not be committed."""
    dead: pa.Table | None = None
    """Dead letters of what raised."""


def work(
    graph: PhysicalGraph,
    level: int,
    state: PartitionState,
    messages: Sequence[Message],
    watermark_us: int | None,
    most: int | None = None,
    layouts: Layouts = NO_LAYOUTS,
    tables: Tables | None = None,
    waiting: Waiting | None = None,
    here: Collection[str] | None = None,
) -> Worked:
    """Do everything that `level` has to do in the partition of `state`.

    All store rules run before all probe rules. At level 1 expired runs leave and small ones are
    merged, so level 1 has to be worked in every partition, with or without messages.
    `watermark_us` is the topology's watermark at the end of the previous batch; `most` bounds what
    one probe rule may make here, see `probe`; `layouts` are the batch's; `tables` is what other levels of
    the stage can use again, see `probe`; `waiting` says what is due, nothing if it is missing. What holds may
    still need is evicted a batch later. `here` are the edges that the stage works behind, all if missing: a
    level may be in several stages, and what works without messages does so in one of them.
    """
    index = index_of(graph)
    waiting, tables = waiting or Waiting(watermark_us), {} if tables is None else tables
    arrived: dict[str, list[Message]] = defaultdict(list)
    later: list[Message] = []
    for message in messages:
        if index.edges[message.edge].level == level:
            arrived[message.edge].append(message)
        else:
            later.append(message)
    frames = _frames(arrived)
    tally = Tally()
    added: list[RunRef] = []
    dropped: list[RunRef] = []
    produced: dict[str, int] = {}
    if level == 1:
        produced = fall_due(index, state, waiting, later, layouts)
        _maintain(index, state, waiting.evicted_under(graph), tally, added, dropped)
    with telling("storing at level", (), level):
        added.extend(_store(index, state, level, frames, tally))
    results: list[Result] = []
    too_many: dict[str, int] = {}
    failed, clock = FailedCalls(index), CpuClock()
    for rule in index.probe_rules[level]:
        frame = frames.get(rule.edge)
        if frame is None:
            continue
        store = index.stores[rule.store]
        users = index.users.of_rule(rule.id)
        with telling("probing", users, store.label):
            if not is_prepared(index, rule):
                with telling("preparing the probe of", users, store.label, every_tuple=True):
                    plan_of(index, rule)
            try:
                found = _probed(index, rule, state, frame, most, tables)
            except TooMany as error:
                too_many[rule.id] = error.combinations
                continue
        failed.count(users, rule.start)
        tally.add(StoreCounts, store.id, probes=frame.height, matches=found.height)
        produced[rule.id] = found.height
        if found.height:
            with telling("sending what was found in", users, store.label):
                later.extend(send(index, rule.out, found, state.partition, layouts))
            inputs = tuple(bound.input for bound in rule.windows)
            made = emit(index, rule.id, rule.emits, inputs, found, failed)
            later.extend(hold(index, made, results, waiting, layouts))
        tally.add(ElementCounts, rule.id, cpu_us=clock.lap_us())
    waited = _waited(index, state, level, frames, waiting, failed, produced, tally, added, here)
    later.extend(hold(index, waited, results, waiting, layouts))
    _count_arrived(index, arrived, frames, state.partition, layouts, tally)
    _count_failed(failed, tally)
    return Worked(
        later,
        results,
        tuple(added),
        tuple(dropped),
        tally,
        produced,
        too_many,
        failed.letters,
    )


def _waited(
    index: RuleIndex,
    state: PartitionState,
    level: int,
    frames: Mapping[str, pl.DataFrame],
    waiting: Waiting,
    failed: FailedCalls,
    produced: dict[str, int],
    tally: Tally,
    added: list[RunRef],
    here: Collection[str] | None,
) -> list[Result]:
    """What has waited and is now final, counted in `produced`.

    The runs of sessions that are open, and of running groups, are `added`.
    """
    final: dict[str, list[Result]] = {}
    clock = CpuClock()
    for settling in index.settle_rules[level]:
        final[settling.id] = settle(index, settling, frames, failed)
        tally.add(ElementCounts, settling.id, cpu_us=clock.lap_us())
    for aggregating in index.aggregate_rules[level]:
        if here is not None and aggregating.edge not in here:
            continue
        if index.holds[aggregating.hold].is_running:
            final[aggregating.id], still = answer_changes(index, aggregating, frames, state, failed)
        else:
            final[aggregating.id], still = aggregate(index, aggregating, frames, waiting, failed)
        if still is not None:
            store = index.stores[index.holds[aggregating.hold].store]
            # At a level of its own: what leaves hold may come into the store at this one.
            added.append(state.insert(store, index.stored_times(store), index.behind_all, still))
            tally.add(StoreCounts, store.id, inserted=still.height)
        tally.add(ElementCounts, aggregating.id, cpu_us=clock.lap_us())
    produced |= {rule: sum(one.table.height for one in made) for rule, made in final.items()}
    return [result for made in final.values() for result in made]


def _probed(
    index: RuleIndex,
    rule: ProbeRule,
    state: PartitionState,
    frame: pl.DataFrame,
    most: int | None,
    tables: Tables,
) -> pl.DataFrame:
    runs = state.runs(rule.store)
    try:
        return probe(index, rule, state, runs, frame, most, tables)
    except TooMany:
        raise
    except BaseException as error:
        if not raised_by_a_row(error):
            raise
        known, whole = guarded_rules(rule)
        try:
            return probe(index, known, state, runs, frame, most, tables)
        except TooMany:
            raise
        except BaseException as again:
            if not raised_by_a_row(again):
                raise
            return probe(index, whole, state, runs, frame, most, tables)


def work_stage(
    graph: PhysicalGraph,
    stages: Stages,
    stage: int,
    state: PartitionState,
    messages: Sequence[Message],
    watermark_us: int | None,
    most: int | None = None,
    layouts: Layouts = NO_LAYOUTS,
    waiting: Waiting | None = None,
) -> Iterator[tuple[int, Worked]]:
    """Do what `stage` has to do in the partition of `state`, level after level.

    Gives each level and what it did, with messages for later stages only: what one level sends to another
    of the stage is handed over right here. `messages` are for this stage; the rest is as for `work`.
    """
    tables: Tables = {}
    here = stages.edges[stage - 1]
    for level in stages.levels[stage - 1]:
        done = work(graph, level, state, messages, watermark_us, most, layouts, tables, waiting, here)
        messages = [m for m in done.messages if stages.of_edge[m.edge] == stage]
        yield level, replace(done, messages=[m for m in done.messages if stages.of_edge[m.edge] > stage])
    assert not messages, "a stage has all levels of its edges"


def _frames(arrived: Mapping[str, Sequence[Message]]) -> dict[str, pl.DataFrame]:
    """What arrived on each edge.

    Edges whose messages share their bodies have the same table.
    """
    frames: dict[str, pl.DataFrame] = {}
    made: dict[tuple[int, ...], pl.DataFrame] = {}
    for edge, messages in arrived.items():
        bodies = tuple(id(message.body) for message in messages)
        if bodies not in made:
            made[bodies] = _frame(messages)
        frames[edge] = made[bodies]
    return frames


def _frame(messages: Sequence[Message]) -> pl.DataFrame:
    parts = [message.body for message in messages]
    if len(parts) == 1:
        return parts[0]
    if any(part.columns != parts[0].columns for part in parts):
        # Which edges share a body may differ from sender to sender; all of them have what they share.
        common = [name for name in parts[0].columns if all(name in part.columns for part in parts)]
        parts = [part[common] for part in parts]
    # Every rule behind the edge reads it, faster from one block of memory.
    return pl.concat(parts, rechunk=True)


def _maintain(
    index: RuleIndex,
    state: PartitionState,
    watermark_us: int | None,
    tally: Tally,
    added: list[RunRef],
    dropped: list[RunRef],
) -> None:
    clock = CpuClock()
    for store in index.graph.stores:
        evicted = state.evict(store, watermark_us)
        compacted = state.compact(store, index.stored_times(store), watermark_us, level=1)
        dropped.extend((*evicted.dropped, *compacted.dropped))
        added.extend(compacted.added)
        tally.add(StoreCounts, store.id, evicted=evicted.tuples + compacted.expired)
        tally.add(ElementCounts, store.id, cpu_us=clock.lap_us())


def _store(
    index: RuleIndex,
    state: PartitionState,
    level: int,
    frames: dict[str, pl.DataFrame],
    tally: Tally,
) -> list[RunRef]:
    parts: dict[str, list[pl.DataFrame]] = defaultdict(list)
    clock = CpuClock()
    for rule in index.store_rules[level]:
        frame = frames.get(rule.edge)
        if frame is not None and frame.height:
            parts[rule.store].append(_stored(index, index.edges[rule.edge], frame))
            tally.add(ElementCounts, rule.store, cpu_us=clock.lap_us())
    runs = []
    for store_id, stored in parts.items():
        store = index.stores[store_id]
        frame = stored[0] if len(stored) == 1 else pl.concat(stored, how="diagonal")
        runs.append(state.insert(store, index.stored_times(store), level, frame))
        tally.add(StoreCounts, store_id, inserted=frame.height)
        tally.add(ElementCounts, store_id, cpu_us=clock.lap_us())
    return runs


def _stored(index: RuleIndex, edge: Edge, frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that a store keeps of what arrives on an edge.

    A tuple of a base store is its own start, so its ordinal depends on the name under which it
    is probed and is not kept.
    """
    store = index.stores[edge.target]
    names = [f"{stored.input}.{name}" for stored in store.inputs for name in stored.columns]
    kept = frame[[*names, ARRIVAL, *((LATE,) if index.marks_late else ())]]
    if store.is_base:
        return kept
    start = ordinal(index.start_of(edge))
    return kept.with_columns(pl.lit(start, dtype=pl.Int8).alias(ORDINAL))


def _count_failed(failed: FailedCalls, tally: Tally) -> None:
    for query, calls in failed.by_query.items():
        tally.add(QueryCounts, query, failed_calls=calls)


def _count_arrived(
    index: RuleIndex,
    arrived: Mapping[str, Sequence[Message]],
    frames: Mapping[str, pl.DataFrame],
    task: int,
    layouts: Layouts,
    tally: Tally,
) -> None:
    for edge, parts in arrived.items():
        counted = _counted(index, index.edges[edge], frames[edge], task, layouts)
        _count_received(index, index.edges[edge], parts, counted, tally)


def _counted(index: RuleIndex, edge: Edge, frame: pl.DataFrame, task: int, layouts: Layouts) -> int:
    """The tuples that a task counts, of those that arrived there.

    Of a tuple's copies only one counts.
    """
    if edge.kind in ("home", "group"):
        return frame.height
    tuples, probing = arriving(index, edge, frame, frame), edge.id not in index.store_edges
    partitioning = partitioning_under(index, edge.target, layouts)
    if probing:
        partitioning = partitioning.probed_by(tuples.key)
    return partitioning.counted_in(task, tuples, probing=probing)


def _count_received(
    index: RuleIndex, edge: Edge, messages: Sequence[Message], counted: int, tally: Tally
) -> None:
    assert edge.kind in ("all", "slices") or all(message.partition != EVERY_TASK for message in messages)
    columns = sent_columns(index, edge)
    counts = counted or edge.kind not in ("all", "grid")
    tally.add(
        EdgeMetrics,
        edge.id,
        tuples=counted,
        messages=len(messages),
        bytes=sum(int(message.body[columns].estimated_size()) for message in messages) if counts else 0,
    )
