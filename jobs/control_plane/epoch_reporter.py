"""Report epochs of a topology under the control plane from its committed batches."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO

import polars as pl

from jobs.control_plane.as_planned import AsPlanned
from jobs.control_plane.core_use import CoresUsed, Spent, cores_used
from jobs.control_plane.stream_samples import predicate_columns, sample_streams
from jobs.driver.coordinator import Committed
from jobs.metrics.cpu_time import cpu_seconds
from jobs.protocol import ElementRate, EpochCompleted, Expect, StreamsSampled
from jobs.protocol.metrics import newest
from jobs.recovery.epochs import EpochCounts, q_error, sent, sum_counts
from jobs.recovery.manifest import BatchCounts, Manifest
from jobs.storage.partition import state_root
from optimizer.physical.graph import Estimate, PhysicalGraph


@dataclass(frozen=True, slots=True)
class _Clocks:
    """What the clocks said behind a commit."""

    committed_us: int
    driver_us: int
    """Processor time of this process."""
    processes_s: float | None
    """Processor time of all processes of the job; None if nobody has looked."""


class EpochLog:
    """Adds up an epoch's batches and reports it when its last one is committed.

    Only batches under the epoch's last plan count, because rates of different plans' elements
    cannot be added. A process that starts in the middle of an epoch reports the rest of it.

    Arguments: the run's id, batches of an epoch, and the last manifest before the first batch.
    """

    def __init__(self, run: str, epoch_batches: int, last: Manifest | None) -> None:
        self._run = run
        self._epoch_batches = epoch_batches
        self._newest_us: int | None = None
        if last is not None:
            for state in last.streams.values():
                self._newest_us = newest(self._newest_us, state.max_event_time_us)
        self._before_us = self._newest_us
        self._plan = ""
        self._first_batch = 0
        self._started_us = 0
        self._sent = 0
        self._batches: list[BatchCounts] = []
        self._expected: Expect | None = None
        self._start: _Clocks | None = None
        """Before the first counted batch; None if that is this process's first."""
        self._now: _Clocks | None = None
        """Behind the newest batch."""

    def expect(self, message: Expect) -> None:
        """Have epochs compared with this instead of with what the plan was chosen for.

        For as long as its plan is in use; called from another thread.
        """
        self._expected = message

    def add(self, committed: Committed, planned: AsPlanned | None = None) -> EpochCompleted | None:
        """Count a batch; what its epoch did, if it was the last one.

        Args:
            committed: the batch.
            planned: how to tell of it, if its grids had other shapes than in the plan.
        """
        manifest = committed.manifest
        counts = manifest.figures.counts
        sent_now = sent(committed.graph, counts.edges)
        shapes: dict[str, list[int]] = {}
        if planned is not None:
            counts = planned.counts(counts)
            shapes = {store: list(rows) for store, rows in planned.rows.items()}
            committed = replace(committed, graph=planned.graph)
        if committed.change.plan_id != self._plan or not self._batches:
            self._plan, self._first_batch, self._sent = committed.change.plan_id, manifest.batch, 0
            self._started_us = manifest.started_us
            self._batches, self._before_us, self._start = [], self._newest_us, self._now
        self._batches.append(counts)
        self._sent += sent_now
        self._newest_us = newest(self._newest_us, counts.newest_us)
        ends = (manifest.batch + 1) % self._epoch_batches == 0
        # To look at all processes takes a while, so that is done between epochs only.
        processes_s = cpu_seconds() if ends else None
        self._now = _Clocks(manifest.committed_us, time.process_time_ns() // 1000, processes_s)
        if not ends:
            return None
        event = self._event(committed, shapes)
        self._batches = []
        return event

    def samples(self, committed: Committed, epoch: EpochCompleted, state: str) -> StreamsSampled:
        """A sample of an epoch that `add` has just told of; `state` is the checkpoint's."""
        sampled = sample_streams(
            committed.graph,
            committed.manifest.runs_by_store(),
            state_root(state),
            epoch.first_batch,
            predicate_columns(committed.graph),
        )
        return StreamsSampled(
            run=self._run,
            at=datetime.now(UTC),
            epoch=epoch.epoch,
            plan_id=epoch.plan_id,
            streams={stream: b64encode(_arrow(frame)) for stream, frame in sampled.items()},
        )

    def _event(self, committed: Committed, shapes: dict[str, list[int]]) -> EpochCompleted:
        graph, manifest = committed.graph, committed.manifest
        total = sum_counts(self._batches, self._before_us)
        actuals = {**total.edges, **total.rules}
        plan_id = committed.change.plan_id
        estimates = self._estimates(graph, plan_id)
        used = self._cores(committed, total, estimates)
        rates = {
            estimate.id: ElementRate(
                estimated=estimate.tuples_per_second, actual=actuals[estimate.id] / total.seconds
            )
            for estimate in estimates
            if estimate.id in actuals and total.seconds > 0
        }
        return EpochCompleted(
            run=self._run,
            at=datetime.now(UTC),
            epoch=manifest.epoch,
            plan_id=plan_id,
            first_batch=self._first_batch,
            last_batch=manifest.batch,
            event_seconds=total.seconds,
            until_us=self._newest_us,
            accepted=total.accepted,
            edges=total.edges,
            rules=total.rules,
            held=total.held,
            sent=self._sent,
            rates=rates,
            stores={one.id: one.tuples for one in estimates if one.tuples is not None},
            cores=used.elements,
            total_cores=used.total,
            process_cores=used.processes,
            shapes=shapes,
            q_error=q_error(estimates, total),
        )

    def _cores(self, committed: Committed, counts: EpochCounts, estimates: Sequence[Estimate]) -> CoresUsed:
        expected, start, end = self._expected, self._start, self._now
        assert end is not None, "a batch was counted"
        if expected is not None and expected.plan_id != committed.change.plan_id:
            expected = None
        rates = {one.id: one.tuples_per_second for one in estimates if one.tuples_per_second is not None}
        if start is None:
            # How much of the process's time went into its start nobody knows.
            wall_s = (end.committed_us - self._started_us) / 1e6
            return replace(cores_used(committed.graph, Spent(counts, wall_s), expected, rates), total=None)
        known = start.processes_s is not None and end.processes_s is not None
        spent = Spent(
            counts,
            (end.committed_us - start.committed_us) / 1e6,
            end.driver_us - start.driver_us,
            (end.processes_s or 0.0) - (start.processes_s or 0.0) if known else None,
        )
        return cores_used(committed.graph, spent, expected, rates)

    def _estimates(self, graph: PhysicalGraph, plan_id: str) -> Sequence[Estimate]:
        newer = self._expected
        if newer is None or newer.plan_id != plan_id:
            return graph.estimates
        return [
            replace(
                one,
                tuples_per_second=newer.rates.get(one.id, one.tuples_per_second),
                tuples=newer.stores.get(one.id, one.tuples),
            )
            for one in graph.estimates
        ]


def _arrow(frame: pl.DataFrame) -> bytes:
    file = BytesIO()
    frame.write_ipc_stream(file)
    return file.getvalue()
