"""One partition of the stores: insert, scan, evict, compact.

A partition is a list of immutable runs in the order of their batches. Nothing that happens here
is visible to another batch before the driver lists it in a commit manifest: inserting and
compacting write new files, evicting only names runs to leave out. So a batch can be repeated at
any time, even while an earlier attempt at it is still at work: no file is ever written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import polars as pl

from jobs.plan.event_time import FIRST_US, all_later, oldest_inside
from jobs.plan.tuples import ARRIVAL
from jobs.storage.chunked_scan import pieces
from jobs.storage.memory_budget import COPIES, Limit
from jobs.storage.run import RunRef, StateRoot, host_name, new_attempt, run_path
from jobs.storage.versions import in_force_from
from optimizer.physical.graph import GraphStore


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """When neighbouring runs become one.

    Runs of one size class (up to `smallest_rows`, then `fan` times that, and so on) are merged
    once there are `fan` of them side by side, unless the result would span more than one
    `spans_per_retention`-th of the store's retention: a run leaves the store as a whole, so a
    run that spans much of the retention would keep much that nobody needs.

    A materialized result expires with the first of its components, so that any run of results spans a
    whole retention, however short its batch. Such runs become one, or one is written anew, once a quarter of
    each has expired (`RunRef.stale_us`) and they hold at least one `stale_part`-th of the store: a tuple is
    then written three times more at the most, on average, and the store holds a third more than is needed.
    """

    fan: int = 8
    smallest_rows: int = 4096
    most_rows: int = 4_000_000
    most_runs: int = 64
    spans_per_retention: int = 8
    stale_part: int = 8
    most_bytes: int | None = None
    """Of the runs that become one; None for any number."""

    def repays(self, group: Sequence[RunRef]) -> bool:
        """Whether the runs are worth becoming one.

        A large one and some small ones would be written again and again. A run of half of `most_bytes` is
        as large as it gets, so two may do to make one.
        """
        rows = [run.rows for run in group]
        if len(group) >= self.fan and 2 * sum(rows) >= self.fan * max(rows):
            return True
        full = self.most_bytes is not None and 2 * sum(run.bytes for run in group) >= self.most_bytes
        return full and len(group) > 1 and 2 * max(rows) <= sum(rows)


@dataclass(frozen=True, slots=True)
class Evicted:
    """Runs that leave the store, and how many tuples expire with them."""

    dropped: tuple[RunRef, ...]
    tuples: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """`added` replaces `dropped`; `expired` tuples were left out on the way."""

    added: tuple[RunRef, ...]
    dropped: tuple[RunRef, ...]
    expired: int


class PartitionState:
    """The stores' runs that one task sees during one batch.

    Arguments: the state's root; the task's number; the batch; the runs of the last commit by
    store id, of all partitions or of this one; when to compact; the runs that earlier levels of this
    batch have inserted in this partition; how much of the state may be in memory; whether `compact` does
    anything, or somebody else merges runs (`jobs.driver.background_compaction`); by store, what makes fewer
    rows of those that become one run.
    """

    def __init__(
        self,
        root: str,
        partition: int,
        batch: int,
        committed: Mapping[str, Sequence[RunRef]],
        policy: CompactionPolicy | None = None,
        inserted: Sequence[RunRef] = (),
        limit: Limit | None = None,
        merges: bool = True,
        folding: Mapping[str, Callable[[pl.DataFrame], pl.DataFrame]] | None = None,
    ) -> None:
        self.root = state_root(root)
        self.partition = partition
        self.batch = batch
        self.policy = policy or (CompactionPolicy() if limit is None else _UNDER_A_LIMIT)
        if limit is not None:
            self.policy = replace(self.policy, most_bytes=limit.part_bytes)
        self.limit = limit
        self._merges = merges
        self._folding = folding or {}
        self.peak_resident_bytes = 0
        """The most that was in memory of the state at one moment, under a limit; not known without one."""
        self._runs = {
            store: tuple(run for run in runs if run.partition == partition)
            for store, runs in committed.items()
        }
        self.inserted: tuple[RunRef, ...] = tuple(inserted)
        """What this batch has inserted so far, level by level; its later levels must be handed it."""
        self._attempt = new_attempt()
        self._scanned: dict[tuple[str, ...], pl.DataFrame] = {}

    def runs(self, store: str) -> tuple[RunRef, ...]:
        """The store's runs: committed ones, then those of this batch so far."""
        return (*self._runs.get(store, ()), *(run for run in self.inserted if run.store == store))

    def insert(self, store: GraphStore, times: Sequence[str], level: int, frame: pl.DataFrame) -> RunRef:
        """Write `frame`, which is not empty, as this batch's run of the store at `level`.

        `times` names the event-time column of each of the store's inputs. The run is one of
        `runs(store)` from now on.
        """
        path = run_path(store.id, self.partition, self.batch, level, self._attempt)
        if self.limit is None:
            run = self.root.write(run_figures(store, times, self.partition, path, frame), frame)
        else:
            frame, index = self.limit.arranged(store.id, frame)
            run = self.root.write(run_figures(store, times, self.partition, path, frame), frame, index)
        self.inserted = (*self.inserted, run)
        return run

    def scan(self, run: RunRef) -> pl.DataFrame:
        return self.root.read(run)

    def scan_all(self, runs: Sequence[RunRef]) -> pl.DataFrame:
        """The tuples of several runs, at least one.

        No tuple is copied.

        Runs from before the first query that marks late results lack that column: NULL there.
        """
        paths = tuple(run.path for run in runs)
        if paths not in self._scanned:
            frames = [self.scan(run) for run in runs]
            alike = all(frame.columns == frames[0].columns for frame in frames)
            self._scanned[paths] = pl.concat(frames, how="vertical" if alike else "diagonal")
        return self._scanned[paths]

    def pieces(
        self, runs: Sequence[RunRef], columns: Sequence[str], sought: Mapping[str, pl.Series]
    ) -> Iterator[pl.DataFrame]:
        """The tuples of several runs, at least one, one part after the other.

        Without a limit there is one part, which has everything. Under a limit each part has a bounded size,
        only those of `columns` that are stored, and need not have tuples without a sought value; it has to
        be let go of before the next one. `sought` is as for `chunked_scan.pieces`.
        """
        if self.limit is None:
            yield self.scan_all(runs)
            return
        for piece in pieces(self.root, runs, columns, sought, self.limit.part_bytes, self.limit.part_bytes):
            self._holds(piece.bytes * COPIES + piece.beside_bytes)
            yield piece.frame
            del piece

    def evict(self, store: GraphStore, watermark_us: int | None) -> Evicted:
        """Runs none of whose tuples is needed any more.

        Of tables there are none: versions that are needed no more are left out when runs are merged.

        A tuple is needed while event time + retention >= watermark for all its inputs: with a
        retention of 60 s and the watermark at 12:01:00, a tuple of 12:00:00 is kept and one of
        11:59:59.999999 is not.
        """
        dropped = tuple(
            run
            for run in self._runs.get(store.id, ())
            if not store.key
            and any(
                newest < keep
                for newest, keep in zip(run.max_times_us, _oldest(store, watermark_us), strict=True)
            )
        )
        return Evicted(dropped, sum(run.rows for run in dropped))

    def compact(
        self, store: GraphStore, times: Sequence[str], watermark_us: int | None, level: int
    ) -> Compacted:
        """Merge at most one group of neighbouring committed runs.

        The new run is ordered by event time, or as a limit wants.

        Tuples that have expired are left out. Runs that `evict` names are not merged.
        """
        group = self.mergeable(store, watermark_us) if self._merges else ()
        return self.merge(group, store, times, watermark_us, level) if group else Compacted((), (), 0)

    def mergeable(self, store: GraphStore, watermark_us: int | None) -> tuple[RunRef, ...]:
        """Committed runs that repay being merged, or none.

        `evict` names none of them.

        They are neighbours, or results of which much has expired: then one may do.
        """
        gone = set(self.evict(store, watermark_us).dropped)
        left = [run for run in self._runs.get(store.id, ()) if run not in gone]
        return self._group(store, left) or self._stale(left, watermark_us)

    def merge(
        self,
        group: tuple[RunRef, ...],
        store: GraphStore,
        times: Sequence[str],
        watermark_us: int | None,
        level: int,
    ) -> Compacted:
        """Write the tuples of some runs as one run, without those that have expired.

        Args:
            group: runs of the store in this partition, at least one.
            store, times: as for `insert`.
            watermark_us: the topology's, microseconds since 1970; None before there is one.
            level: at which it happens, 0 between batches.
        Raises:
            FileNotFoundError: a run is not there.
        """
        kept = self._together(group)
        rows = kept.height
        for time, keep in zip(times, _oldest(store, watermark_us), strict=True):
            if store.key:
                kept = in_force_from(
                    kept, [f"{store.inputs[0].input}.{name}" for name in store.key], time, keep
                )
            elif keep > FIRST_US:
                kept = kept.filter(pl.col(time).to_physical() >= keep)
        if store.id in self._folding:
            kept = self._folding[store.id](kept)
        expired = rows - kept.height
        if kept.is_empty():
            return Compacted((), group, expired)
        index: dict[bytes, bytes] = {}
        if self.limit is not None and self.limit.searched.get(store.id):
            kept, index = self.limit.arranged(store.id, kept)
        else:
            kept = kept.sort(times[0], maintain_order=True)
        path = run_path(store.id, self.partition, self.batch, level, self._attempt, "merged")
        run = self.root.write(run_figures(store, times, self.partition, path, kept), kept, index)
        return Compacted((run,), group, expired)

    def _together(self, group: Sequence[RunRef]) -> pl.DataFrame:
        if self.limit is not None:
            self._holds(sum(run.bytes for run in group) * COPIES)
        # Not kept open: they are not read again, and other threads of whoever merges may use the root.
        frames = [pl.DataFrame(pl.from_arrow(self.root.map(run).table)) for run in group]
        return pl.concat(frames, how="diagonal")

    def _holds(self, size: int) -> None:
        self.peak_resident_bytes = max(self.peak_resident_bytes, size)

    def _group(self, store: GraphStore, runs: Sequence[RunRef]) -> tuple[RunRef, ...]:
        policy = self.policy
        # What a table keeps of a run does not depend on how old the run is.
        bounded = [r.reach_us for r in store.retention if r.reach_us is not None and not store.key]
        span_limit = min(bounded) // policy.spans_per_retention if bounded else None
        largest = policy.smallest_rows
        while largest <= policy.most_rows:
            group: list[RunRef] = []
            for run in (*runs, None):
                small = run is not None and run.rows <= largest and len(group) < policy.most_runs
                if run is not None and small and _fits(group, run, span_limit, policy):
                    group.append(run)
                    continue
                if policy.repays(group):
                    return tuple(group)
                group = [run] if run is not None and run.rows <= largest else []
            largest *= policy.fan
        return ()

    def _stale(self, runs: Sequence[RunRef], watermark_us: int | None) -> tuple[RunRef, ...]:
        """Runs that hold many expired results.

        What is too much for one merge is left to the next.
        """
        if watermark_us is None:
            return ()
        policy = self.policy
        stale = [run for run in runs if run.stale_us is not None and run.stale_us < watermark_us]
        if not stale or policy.stale_part * sum(run.rows for run in stale) < sum(run.rows for run in runs):
            return ()
        group: list[RunRef] = []
        for run in stale:
            if len(group) < policy.most_runs and _is_small((*group, run), policy):
                group.append(run)
        return tuple(group)


@cache
def state_root(root: str) -> StateRoot:
    """One `StateRoot` per process and root, so that batches share opened runs."""
    return StateRoot(root)


_STALE_SHARE = 0.25
"""Of a run's tuples: when so many have expired, the run is stale."""
_UNDER_A_LIMIT = CompactionPolicy(fan=4)
"""Runs cannot grow beyond a part of the limit, so they are merged sooner for fewer of them to remain."""


def _oldest(store: GraphStore, watermark_us: int | None) -> tuple[int, ...]:
    """Per input the oldest event time that is still needed, inclusive."""
    return tuple(oldest_inside(retention, watermark_us) for retention in store.retention)


def _fits(group: Sequence[RunRef], run: RunRef, span_limit: int | None, policy: CompactionPolicy) -> bool:
    together = (*group, run)
    if not _is_small(together, policy):
        return False
    if span_limit is None:
        return True
    span = max(r.max_times_us[0] for r in together) - min(r.min_times_us[0] for r in together)
    widest = max(r.max_times_us[0] - r.min_times_us[0] for r in together)
    # Runs that are wide in themselves, because tuples arrive out of order, may still be merged
    # with others of the same time.
    return span <= max(span_limit, widest + widest // 2)


def _is_small(runs: Sequence[RunRef], policy: CompactionPolicy) -> bool:
    """Whether the runs may become one, by their size."""
    if sum(run.rows for run in runs) > policy.most_rows:
        return False
    return policy.most_bytes is None or sum(run.bytes for run in runs) <= policy.most_bytes


def run_figures(
    store: GraphStore, times: Sequence[str], partition: int, path: str, frame: pl.DataFrame
) -> RunRef:
    moments = [frame[time].cast(pl.Int64) for time in times]
    return RunRef(
        store=store.id,
        partition=partition,
        path=path,
        rows=frame.height,
        bytes=0,
        min_times_us=tuple(int(column.min()) for column in moments),  # type: ignore[arg-type]
        max_times_us=tuple(int(column.max()) for column in moments),  # type: ignore[arg-type]
        min_arrival=int(frame[ARRIVAL].min()),  # type: ignore[arg-type]
        max_arrival=int(frame[ARRIVAL].max()),  # type: ignore[arg-type]
        host=host_name(),
        stale_us=None if store.is_base else _stale_from(store, moments),
    )


def _stale_from(store: GraphStore, moments: Sequence[pl.Series]) -> int | None:
    """The watermark at which a quarter of some results has expired.

    `moments` are their times by input.
    """
    bounded = [
        pl.Series(all_later(times.to_numpy(), retention.reach_us))
        for times, retention in zip(moments, store.retention, strict=True)
        if retention.reach_us is not None
    ]
    if not bounded:
        return None
    first = pl.select(pl.min_horizontal(*bounded)).to_series()
    return int(first.quantile(_STALE_SHARE, "lower"))  # type: ignore[arg-type]
