"""Runs merged behind the commits, while no batch waits for it.

On one host the driver's process does it, in one thread: it reads runs that the last manifest lists and writes
their tuples as one new run that no manifest lists. The next batch to commit lists that run in their place,
if they are all still there and the plan is the one under which they were chosen; otherwise the file is
deleted. Tasks read what the manifest before their batch lists, so no task sees runs come or go, and when a
merge ends makes no difference to results. Whoever dies in between leaves a file that nothing lists, which
the next start deletes.

In a cluster the tasks merge, inside the batch (`jobs.storage.partition`): a run is on the host where
its partition is worked on, and a driver would have it sent there and back.
"""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from jobs.driver.batch_totals import Gathered
from jobs.join.index_columns import limit_of
from jobs.plan.index import RuleIndex, index_of
from jobs.recovery.manifest import Manifest
from jobs.storage.memory_budget import Limit
from jobs.storage.partition import Compacted, CompactionPolicy, PartitionState, state_root
from jobs.storage.run import RunRef
from jobs.worker.running import folding
from optimizer.physical.graph import PhysicalGraph

LONGEST_BATCHES = 8
"""A commit waits for merges that began before so many others, so that runs cannot pile up without bound."""


@dataclass(frozen=True, slots=True)
class Merges:
    """What was merged of one partition: at most one group of runs per store."""

    by_store: tuple[tuple[str, Compacted], ...]
    resident_bytes: int

    @property
    def added(self) -> tuple[RunRef, ...]:
        return tuple(run for _, done in self.by_store for run in done.added)


class Merging:
    """Merges a topology's runs between its commits.

    Arguments: the state's root; how much of it merging may have in memory, None for any amount; when to
    merge; what executes merges, by default a thread of its own.
    """

    def __init__(
        self,
        state: str,
        share_bytes: int | None,
        policy: CompactionPolicy | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._state = state
        self.share_bytes = share_bytes
        self._policy = policy
        self._executor = executor or ThreadPoolExecutor(1, "merging")
        self._at_work: tuple[Future[Merges], ...] = ()
        self._change = 0
        self._commits = 0
        self._closed = threading.Event()

    def begin(self, manifest: Manifest, graph: PhysicalGraph) -> None:
        """Have merged what repays it, as of the manifest just committed under `graph`.

        Nothing begins while earlier merges are at work or wait for a commit to list what they made.
        """
        if self._at_work:
            return
        self._change, self._commits = manifest.change, 0
        index = index_of(graph)
        limit = limit_of(index, self.share_bytes)
        partitions = sorted({run.partition for run in manifest.runs})
        self._at_work = tuple(
            self._executor.submit(self._merge, manifest, index, limit, partition) for partition in partitions
        )

    def adopted(self, gathered: Gathered, previous: Manifest | None) -> Gathered:
        """Before its commit, what a batch did, with the merges that have ended by now.

        Merges of runs that are not listed any more are given up. `gathered` is what the batch's tasks did,
        `previous` what they started from. Raises what a merge has raised.
        """
        self._commits += 1
        waiting = self._commits >= LONGEST_BATCHES
        ended: list[Future[Merges]] = []
        going: list[Future[Merges]] = []
        for future in self._at_work:
            (ended if waiting or future.done() else going).append(future)
        self._at_work = tuple(going)
        listed: set[RunRef] = set()
        if previous is not None and previous.change == self._change:
            dropped = {run.path for run in gathered.dropped}
            listed = {run for run in previous.runs if run.path not in dropped}
        for merges in (future.result() for future in ended):
            for store, done in merges.by_store:
                if listed.issuperset(done.dropped):
                    gathered = _with(gathered, store, done)
                else:
                    state_root(self._state).delete(run.path for run in done.added)
            gathered = replace(gathered, resident_bytes=gathered.resident_bytes + merges.resident_bytes)
        return gathered

    def made(self) -> tuple[RunRef, ...]:
        """Runs that no manifest lists yet, once the merges at work have ended."""
        return tuple(run for future in self._at_work for run in future.result().added)

    def close(self) -> None:
        """End after the merge at work and delete the files that no manifest will list."""
        self._closed.set()
        self._executor.shutdown(wait=True, cancel_futures=True)
        for future in self._at_work:
            # What one that failed has left, the next start deletes.
            if not future.cancelled() and future.exception() is None:
                state_root(self._state).delete(run.path for run in future.result().added)
        self._at_work = ()

    def _merge(self, manifest: Manifest, index: RuleIndex, limit: Limit | None, partition: int) -> Merges:
        runs = manifest.runs_by_store()
        state = PartitionState(
            self._state,
            partition,
            manifest.batch,
            runs,
            self._policy,
            limit=limit,
            folding=folding(index),
        )
        done: list[tuple[str, Compacted]] = []
        for store in index.graph.stores:
            group = state.mergeable(store, manifest.watermark_us)
            if not group or self._closed.is_set():
                continue
            try:
                merged = state.merge(group, store, index.stored_times(store), manifest.watermark_us, 0)
            except FileNotFoundError:
                # It has left the store meanwhile. That a run which is still listed is not there, the tasks
                # say that need it.
                continue
            # Here nobody waits for the disk; at the commit there is hardly anything left to flush.
            state.root.make_durable(merged.added)
            done.append((store.id, merged))
        return Merges(tuple(done), state.peak_resident_bytes)


def _with(gathered: Gathered, store: str, done: Compacted) -> Gathered:
    work = gathered.stores[store]
    return replace(
        gathered,
        stores=gathered.stores | {store: replace(work, evicted=work.evicted + done.expired)},
        added=(*gathered.added, *done.added),
        dropped=(*gathered.dropped, *done.dropped),
    )
