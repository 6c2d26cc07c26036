"""From one plan to the next at a batch boundary.

Stores are matched by id. One that both plans have goes on as it is, provided it holds what the new
plan needs of it; a new base store of a stream that is stored already is filled from what is there,
placed anew, unless it only differs in its number of tasks: then the tuples stay where they lie
(`jobs.partitioning.rescaling`). Runs that nobody uses any more are dropped with the batch's commit. The
result is an interim manifest under which the first batch of the new plan works, so a crash in the middle
leaves the old plan's manifest as it was.

A stream that only the new plan reads is joining: what it had before is read first
(`jobs.reconfigure.completeness`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from jobs.expressions.predicate_order import passing
from jobs.join.index_columns import limit_of
from jobs.partitioning.layout import StoreLayout, partitioning_of
from jobs.partitioning.rescaling import in_first_copy, rescaling_of
from jobs.partitioning.strategy import Arriving, Migrated, Predecessor
from jobs.plan.columns import store_filters, stored_columns
from jobs.plan.event_time import LAST_US, oldest_inside
from jobs.plan.index import index_of
from jobs.plan.tuples import ARRIVAL, LATE, column_name
from jobs.protocol.metrics import newest
from jobs.reconfigure.backfill import rebuild
from jobs.reconfigure.completeness import complete_since
from jobs.reconfigure.continuation import Continuation
from jobs.reconfigure.coverage import Kept, covering, kept_filters
from jobs.recovery.checkpoint import Change, Checkpoint
from jobs.recovery.manifest import Manifest, QueryState, StoreState, StreamState, write_manifest
from jobs.storage.partition import run_figures, state_root
from jobs.storage.run import RunRef, new_attempt, run_path
from optimizer.algebra.expression import Column, Expression, columns_of
from optimizer.physical.graph import GraphStore, PhysicalGraph


@dataclass(frozen=True, slots=True)
class Switched:
    manifest: Manifest
    """What the first batch under the new plan starts from."""
    path: str
    """Where its tasks find it."""
    removed: tuple[str, ...]
    """Runs of the old plan that the new one does not use."""
    moved: int
    """Stored tuples copied into base stores of the new plan; what stayed in its task is not counted."""
    seconds: float
    """For how long the batch waited for it."""


def switch(
    checkpoint: Checkpoint,
    before: Manifest,
    old: PhysicalGraph,
    new: PhysicalGraph,
    change: Change,
    batch: int,
    share_bytes: int | None = None,
) -> Switched:
    """Prepare the state for `new`, whose first batch is `batch`.

    `share_bytes` is what may be in memory of the state meanwhile; None for any amount.
    """
    began = time.perf_counter()
    limit = limit_of(index_of(new), share_bytes)
    runs = before.runs_by_store()
    kept: dict[str, tuple[RunRef, ...]] = {}
    states: dict[str, StoreState] = {}
    columns, filters = stored_columns(new), store_filters(new)
    for store in new.stores:
        known = before.stores.get(store.id)
        if known is not None and _serves(known, columns[store.id], filters[store.id]):
            kept[store.id] = runs.get(store.id, ())
            states[store.id] = replace(
                known,
                columns=columns[store.id],
                filter=filters[store.id],
                complete_from_us=newest(known.complete_from_us, _kept_from(before, old, store)),
            )
    had, wants = kept_filters(old), kept_filters(new)
    missing = [store for store in new.stores if store.id not in kept]
    served = frozenset(kept)
    using = {store.id for store in new.stores}
    moved = 0
    for store in (wanted for wanted in missing if wanted.is_base):
        condition = wants.get(store.id)
        sources = _sources(before, old, had, store, columns[store.id], condition, using)
        sources = sources or _same_groups(old, new, store)
        layout: StoreLayout | None = partitioning_of(store, None).first_layout()
        if not sources:
            kept[store.id] = ()
            start = _unseen_from(new, store, before)
            # Nothing says which versions were in force before.
            start = LAST_US if store.key and start is not None else start
        else:
            held = [next(one for one in old.stores if one.id == source) for source in sources]
            root, times = state_root(checkpoint.state), _times(new, store)
            predecessors = [
                Predecessor(
                    one,
                    rescaling_of(before.stores[one.id].layout),
                    runs.get(one.id, ()),
                    root,
                    limit,
                    times,
                    batch,
                )
                for one in held
            ]
            filled = None
            within = all(Kept.by(condition).covers(Kept.by(had.get(source))) for source in sources)
            if within and set(before.stores[held[0].id].columns) == set(columns[store.id]):
                filled = _as_they_lie(predecessors, store, using)
            if filled is None:
                filled = _placed_anew(predecessors, store, None if within else condition)
            kept[store.id], layout = filled.runs, filled.layout or layout
            moved += filled.sent
            start = _complete_from(before, old, store, sources)
        states[store.id] = StoreState(
            columns=columns[store.id],
            filter=filters[store.id],
            complete_from_us=start,
            layout=layout,
        )
    intermediate = [store for store in missing if not store.is_base]
    if intermediate:
        layouts = {name: state.layout for name, state in states.items() if state.layout is not None}
        wanted = [store.id for store in intermediate]
        made = rebuild(checkpoint, new, kept, wanted, batch, layouts, share_bytes)
        for store in intermediate:
            kept[store.id] = made.get(store.id, ())
            states[store.id] = StoreState(
                columns=columns[store.id],
                filter=filters[store.id],
                complete_from_us=_mir_complete_from(new, store, states),
            )
    manifest = replace(
        before,
        plan=change.plan,
        change=change.number,
        runs=tuple(run for store in new.stores for run in kept[store.id]),
        stores=states,
        streams=_with_joining(before, old, new),
        queries=_queries(before, old, new, complete_since(Continuation(old, new, before, states, served))),
        files=(),
        removed=(),
    )
    # Processes keep manifests by name, and a batch may be begun more than once while they live.
    path = checkpoint.root / "commits" / f"switch-{batch}-{new_attempt()}.json"
    write_manifest(path, manifest)
    listed = {run.path for run in manifest.runs}
    removed = tuple(sorted(run.path for run in before.runs if run.path not in listed))
    return Switched(manifest, str(path), removed, moved, time.perf_counter() - began)


def _with_joining(before: Manifest, old: PhysicalGraph, new: PhysicalGraph) -> dict[str, StreamState]:
    """The streams' states, with those that only the new plan reads joining."""
    if before.watermark_us is None:
        return before.streams
    known = {stream.name for stream in old.streams}
    come = [stream.name for stream in new.sources if stream.name not in known]
    joining = {name: replace(before.streams.get(name, StreamState()), joining=True) for name in come}
    return {**before.streams, **joining}


def _unseen_from(graph: PhysicalGraph, store: GraphStore, before: Manifest) -> int | None:
    """The event time from which nothing that fills a store has come; None before all."""
    kept = next((hold for hold in graph.holds if hold.store == store.id), None)
    streams = [store.inputs[0].stream]
    inner = {stream.name for stream in graph.derived}
    if kept is not None or streams[0] in inner:
        # A result that has come in is not newer than what it was made of.
        streams = sorted(graph.read_by(streams[0] if kept is None else kept.query))
    seen = [before.streams.get(name, StreamState()).max_event_time_us for name in streams]
    known = [time for time in seen if time is not None]
    return max(known) + 1 if known else None


def _serves(known: StoreState, columns: tuple[str, ...], condition: str) -> bool:
    """True if a store's content has every column and tuple asked of it."""
    return set(columns) <= set(known.columns) and known.filter in ("", condition)


def _kept_from(
    before: Manifest, old: PhysicalGraph, store: GraphStore, source: str | None = None
) -> int | None:
    """When the old store's tuples begin (event time), if the new one wants older ones."""
    held = next(s for s in old.stores if s.id == (source or store.id))
    starts: int | None = None
    for have, want in zip(held.retention, store.retention, strict=True):
        if not have.covers(want) and before.watermark_us is not None:
            starts = newest(starts, oldest_inside(have, before.watermark_us))
    return starts


def _complete_from(
    before: Manifest, old: PhysicalGraph, store: GraphStore, sources: Sequence[str]
) -> int | None:
    """The event time from which what fills a store is complete."""
    starts: int | None = None
    for source in sources:
        starts = newest(starts, before.stores[source].complete_from_us)
        starts = newest(starts, _kept_from(before, old, store, source))
    return starts


def _sources(
    before: Manifest,
    old: PhysicalGraph,
    had: Mapping[str, Expression | None],
    store: GraphStore,
    columns: tuple[str, ...],
    condition: Expression | None,
    using: set[str],
) -> Sequence[str]:
    """The old base stores of the same stream to fill `store` from.

    There is none if some of its tuples are nowhere.
    Of those that have them all the widest is taken; of equally wide ones that whose tuples may stay where
    they lie, because they are no others and no other store is `using` them. Else several, if what these
    filters passed is all that is wanted.
    """
    wanted, filters = store.inputs[0], store_filters(old)
    own = Kept.by(condition)
    read = set() if condition is None else {f"{c.input}.{c.name}" for c in columns_of(condition)}
    fitting: dict[str, GraphStore] = {}
    for held in old.stores:
        state = before.stores.get(held.id)
        if state is None or not held.is_base or held.id not in had or state.filter != filters[held.id]:
            continue
        if (held.inputs[0].stream, held.inputs[0].input) != (wanted.stream, wanted.input):
            continue
        needed = set(columns) if own.covers(Kept.by(had[held.id])) else {*columns, *read}
        if needed <= set(state.columns):
            fitting[held.id] = held

    def reach(held: GraphStore) -> tuple[bool, int, bool, bool, str]:
        retention = held.retention[0].reach_us
        stays = held.id not in using and held.partitioning == store.partitioning
        more = not own.covers(Kept.by(had[held.id]))
        return (retention is not None, -(retention or 0), more, not stays, held.id)

    ordered = sorted(fitting.values(), key=reach)
    return covering({held.id: Kept.by(had[held.id]) for held in ordered}, own)


def _same_groups(old: PhysicalGraph, new: PhysicalGraph, store: GraphStore) -> Sequence[str]:
    """The old store, with other tasks, of the running groups of a new one.

    None for other stores. Their stream is called by all that the groups are made of.
    """
    if not any(hold.is_running and hold.store == store.id for hold in new.holds):
        return ()
    return [held.id for held in old.stores if held.inputs[0].stream == store.inputs[0].stream]


def _queries(
    before: Manifest, old: PhysicalGraph, new: PhysicalGraph, complete: Mapping[str, int | None]
) -> dict[str, QueryState]:
    """The queries' states, in which running groups that are new have no table."""
    known = {hold.stream.name for hold in old.holds}
    anew = {hold.query for hold in new.holds if hold.is_running and hold.stream.name not in known}
    found: dict[str, QueryState] = {}
    for query in new.queries:
        state = replace(before.queries.get(query.name, QueryState()), complete_since_us=complete[query.name])
        found[query.name] = replace(state, table_from=None, table_changes=0) if query.name in anew else state
    return found


def _as_they_lie(predecessors: Sequence[Predecessor], store: GraphStore, using: set[str]) -> Migrated | None:
    """An old store as the new one, if nothing else uses it and it can be."""
    old, *others = predecessors
    if others or old.store.id in using:
        return None
    ways = (way(old, store) for way in partitioning_of(store, None).migrate_from)
    filled = next((migrated for migrated in ways if migrated is not None), None)
    if filled is not None:
        using.add(old.store.id)
    return filled


def _placed_anew(
    predecessors: Sequence[Predecessor], store: GraphStore, condition: Expression | None
) -> Migrated:
    """Write tuples of old stores that pass a condition as `store` wants them."""
    old = predecessors[0]
    limit, (times,) = old.limit, old.times
    written: list[RunRef] = []
    partitioning = partitioning_of(store, None)
    key = column_name(store.partitioning) if isinstance(store.partitioning, Column) else None
    names = [f"{stored.input}.{name}" for stored in store.inputs for name in stored.columns]
    attempt = new_attempt()
    most_bytes = None if limit is None else limit.part_bytes
    frames = _each_once(predecessors, condition)
    for number, frame in enumerate(_bounded(frames, most_bytes)):
        kept = frame.select([c for c in (*names, ARRIVAL, LATE) if c in frame.columns])
        for tasks, part in partitioning.place(Arriving(kept, kept, key, times)):
            arranged, index = part, dict[bytes, bytes]()
            if limit is not None:
                arranged, index = limit.arranged(store.id, part)
            for task in tasks:
                path = run_path(store.id, task, old.batch, 0, attempt, f"filled{number:05d}")
                figures = run_figures(store, (times,), task, path, part)
                written.append(old.root.write(figures, arranged, index))
    return Migrated(tuple(written), kept=0, sent=sum(run.rows for run in written))


def _each_once(predecessors: Sequence[Predecessor], condition: Expression | None) -> Iterator[pl.DataFrame]:
    """The tuples of some stores that pass a condition, each of them once."""
    seen: list[pl.Series] = []
    for place, old in enumerate(predecessors):
        known = pl.concat(seen) if seen else None
        for run in old.runs:
            if not in_first_copy(old.store, run.partition):
                continue
            frame = old.root.read(run, keep=old.limit is None)
            if known is not None:
                frame = frame.filter(~pl.col(ARRIVAL).is_in(known.implode()))
            if condition is not None:
                frame = passing(condition, frame)
            if place + 1 < len(predecessors):
                seen.append(frame[ARRIVAL])
            yield frame


_ROWS_AT_ONCE = 500_000
"""Of a store that is written anew; bounds memory."""


def _bounded(frames: Iterator[pl.DataFrame], most_bytes: int | None) -> Iterator[pl.DataFrame]:
    """Put neighbouring frames together up to `most_bytes`.

    So many small runs do not become many more. A frame that alone has more stays by itself.
    """
    gathered: list[pl.DataFrame] = []
    for frame in frames:
        size = sum(part.estimated_size() for part in (*gathered, frame))
        if gathered and most_bytes is not None and size > most_bytes:
            yield pl.concat(gathered, how="diagonal")
            gathered = []
        gathered.append(frame)
        if sum(f.height for f in gathered) >= _ROWS_AT_ONCE:
            yield pl.concat(gathered, how="diagonal")
            gathered = []
    if gathered:
        yield pl.concat(gathered, how="diagonal")


def _times(graph: PhysicalGraph, store: GraphStore) -> tuple[str, ...]:
    times = {stream.name: stream.event_time for stream in index_of(graph).streams.values()}
    return tuple(f"{stored.input}.{times[stored.stream]}" for stored in store.inputs)


def _mir_complete_from(
    graph: PhysicalGraph, store: GraphStore, states: Mapping[str, StoreState]
) -> int | None:
    """An intermediate result is as complete as the base stores of its streams."""
    streams = {stored.stream for stored in store.inputs}
    starts: int | None = None
    for other in graph.stores:
        if other.is_base and other.inputs[0].stream in streams:
            starts = newest(starts, states[other.id].complete_from_us)
    return starts
