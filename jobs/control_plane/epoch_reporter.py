"""Report epochs of a topology under the control plane from its committed batches."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO

import polars as pl

from jobs.control_plane.stream_samples import predicate_columns, sample_streams
from jobs.driver.coordinator import Committed
from jobs.protocol import ElementRate, EpochCompleted, Expect, StreamsSampled
from jobs.protocol.metrics import newest
from jobs.recovery.epochs import q_error, sent, sum_counts
from jobs.recovery.manifest import BatchCounts, Manifest
from jobs.storage.partition import state_root
from optimizer.physical.graph import Estimate, PhysicalGraph


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
        self._batches: list[BatchCounts] = []
        self._expected: Expect | None = None

    def expect(self, message: Expect) -> None:
        """Have epochs compared with this instead of with what the plan was chosen for.

        For as long as its plan is in use; called from another thread.
        """
        self._expected = message

    def add(self, committed: Committed) -> EpochCompleted | None:
        """Count a batch; what its epoch did, if it was the last one."""
        manifest = committed.manifest
        counts = manifest.figures.counts
        if manifest.plan != self._plan or not self._batches:
            self._plan, self._first_batch = manifest.plan, manifest.batch
            self._batches, self._before_us = [], self._newest_us
        self._batches.append(counts)
        self._newest_us = newest(self._newest_us, counts.newest_us)
        if (manifest.batch + 1) % self._epoch_batches:
            return None
        event = self._event(committed)
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

    def _event(self, committed: Committed) -> EpochCompleted:
        graph, manifest = committed.graph, committed.manifest
        total = sum_counts(self._batches, self._before_us)
        actuals = {**total.edges, **total.rules}
        estimates = self._estimates(graph, committed.change.plan_id)
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
            plan_id=committed.change.plan_id,
            first_batch=self._first_batch,
            last_batch=manifest.batch,
            event_seconds=total.seconds,
            until_us=self._newest_us,
            accepted=total.accepted,
            edges=total.edges,
            rules=total.rules,
            held=total.held,
            sent=sent(graph, total.edges),
            rates=rates,
            stores={one.id: one.tuples for one in estimates if one.tuples is not None},
            q_error=q_error(estimates, total),
        )

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
