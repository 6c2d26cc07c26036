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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

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
from jobs.recovery.checkpoint import Change, Checkpoint
from jobs.recovery.manifest import Manifest, QueryState, StoreState, StreamState, write_manifest
from jobs.storage.partition import run_figures, state_root
from jobs.storage.run import RunRef, new_attempt, run_path
from optimizer.algebra.expression import Column
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
    missing = [store for store in new.stores if store.id not in kept]
    using = {store.id for store in new.stores}
    moved = 0
    for store in (wanted for wanted in missing if wanted.is_base):
        source = _best_source(before, old, store, columns[store.id], filters[store.id], using)
        partitioning = partitioning_of(store, None)
        layout: StoreLayout | None = partitioning.first_layout()
        if source is None:
            kept[store.id] = ()
            start = _unseen_from(new, store, before)
            # Nothing says which versions were in force before.
            start = LAST_US if store.key and start is not None else start
        else:
            held = next(s for s in old.stores if s.id == source)
            free = source not in using and set(before.stores[source].columns) == set(columns[store.id])
            root, rescaling = state_root(checkpoint.state), rescaling_of(before.stores[source].layout)
            stored, times = runs.get(source, ()), _times(new, store)
            old_one = Predecessor(held, rescaling, stored, root, limit, times, batch)
            ways = (way(old_one, store) for way in partitioning.migrate_from if free)
            filled = next((migrated for migrated in ways if migrated is not None), None)
            if filled is None:
                filled = _placed_anew(old_one, store)
            else:
                using.add(source)
            kept[store.id], layout = filled.runs, filled.layout or layout
            moved += filled.sent
            start = newest(before.stores[source].complete_from_us, _kept_from(before, old, store, source))
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
    complete = complete_since(new, states, before)
    manifest = replace(
        before,
        plan=change.plan,
        change=change.number,
        runs=tuple(run for store in new.stores for run in kept[store.id]),
        stores=states,
        streams=_with_joining(before, old, new),
        queries={
            query.name: replace(
                before.queries.get(query.name, QueryState()),
                complete_since_us=complete[query.name],
            )
            for query in new.queries
        },
        files=(),
        removed=(),
    )
    # Processes keep manifests by name, and a batch may be begun more than once while they live.
    path = checkpoint.root / "commits" / f"switch-{batch}-{new_attempt()}.json"
    write_manifest(path, manifest)
    listed = {run.path for run in manifest.runs}
    removed = tuple(sorted(run.path for run in before.runs if run.path not in listed))
    return Switched(manifest, str(path), removed, moved)


def _with_joining(before: Manifest, old: PhysicalGraph, new: PhysicalGraph) -> dict[str, StreamState]:
    """The streams' states, with those that only the new plan reads joining."""
    if before.watermark_us is None:
        return before.streams
    known = {stream.name for stream in old.streams}
    come = [stream.name for stream in new.streams if stream.name not in known]
    joining = {name: replace(before.streams.get(name, StreamState()), joining=True) for name in come}
    return {**before.streams, **joining}


def _unseen_from(graph: PhysicalGraph, store: GraphStore, before: Manifest) -> int | None:
    """The event time from which nothing that fills a store has come; None before all."""
    kept = next((hold for hold in graph.holds if hold.groups and hold.store == store.id), None)
    streams = [store.inputs[0].stream]
    if kept is not None:
        streams = [i.stream for query in graph.queries if query.name == kept.query for i in query.inputs]
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


def _best_source(
    before: Manifest,
    old: PhysicalGraph,
    store: GraphStore,
    columns: tuple[str, ...],
    condition: str,
    using: set[str],
) -> str | None:
    """The old base store of the same stream to fill `store` from.

    The widest is taken; of equally wide ones that whose tuples may stay where they lie, because no other
    store is `using` them.
    """
    wanted = store.inputs[0]
    fitting = [
        held
        for held in old.stores
        if held.is_base
        and held.inputs[0].stream == wanted.stream
        and held.inputs[0].input == wanted.input
        and held.id in before.stores
        and _serves(before.stores[held.id], columns, condition)
    ]

    def reach(held: GraphStore) -> tuple[bool, int, bool, str]:
        retention = held.retention[0].reach_us
        stays = held.id not in using and held.partitioning == store.partitioning
        return (retention is not None, -(retention or 0), not stays, held.id)

    return min(fitting, key=reach).id if fitting else None


def _placed_anew(old: Predecessor, store: GraphStore) -> Migrated:
    """The tuples of an old store, placed as `store` wants them, in new runs."""
    limit, (times,) = old.limit, old.times
    written: list[RunRef] = []
    partitioning = partitioning_of(store, None)
    key = column_name(store.partitioning) if isinstance(store.partitioning, Column) else None
    names = [f"{stored.input}.{name}" for stored in store.inputs for name in stored.columns]
    attempt = new_attempt()
    most_bytes = None if limit is None else limit.part_bytes
    once = (run for run in old.runs if in_first_copy(old.store, run.partition))
    frames = (old.root.read(run, keep=limit is None) for run in once)
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
    times = {stream.name: stream.event_time for stream in graph.streams}
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
