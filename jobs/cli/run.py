"""`python -m jobs run`: a topology that runs until it is told to stop.

The plan in use is part of the checkpoint. A plan given on the command line or by a deploy
message becomes a plan change there first and is carried out at the next batch boundary, so what
was accepted survives a crash at any moment.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from urllib.parse import quote

import redis

from jobs.cli.ending.last_words import one_line, tell
from jobs.cli.process import write_job_file
from jobs.control_plane.channel import Incoming, Outgoing, connect
from jobs.control_plane.epoch_reporter import EpochLog
from jobs.control_plane.events import batch_completed
from jobs.control_plane.latency_window import LatencyWindow
from jobs.control_plane.tables import table_changes, tables_of
from jobs.driver.batch_totals import waits
from jobs.driver.coordinator import Committed, Excess, Outage, Stopping, Trouble
from jobs.driver.settings import Settings
from jobs.driver.topology import Topology
from jobs.protocol import (
    BatchFailed,
    BatchGivenUp,
    BatchWaits,
    Control,
    Deploy,
    DeployRefused,
    Expect,
    JobFailed,
    JobStarted,
    JobStopped,
    PlanSwitched,
    ShapeChange,
    ShapesChanged,
    Stop,
    Verified,
)
from jobs.reconfigure.admission import check_usable
from jobs.recovery.checkpoint import Change, Checkpoint, Identity, read_identity
from jobs.recovery.lock import hold
from jobs.shapes.live import LiveShapes, shape_labels
from jobs.sinks.configured import open_sinks
from jobs.sinks.outbox import Outbox
from jobs.sinks.publisher import Publisher
from jobs.sinks.redis_table import CurrentTables
from jobs.sinks.redis_tail import MOST_ENTRIES, ResultTail
from jobs.sources.connector import Away, Servers
from jobs.sources.generator import continued, generated
from jobs.sources.live import Arrived, LiveOffsets, LiveSource
from jobs.sources.planner import PlannedBatch
from jobs.sources.spark_source import read_source, write_source
from jobs.spark.oom_guard import OutOfMemory
from jobs.spark.session import create_session, processors
from jobs.storage.remote import below
from optimizer.algebra.errors import InputError, Place
from optimizer.logical.stream import MOST_TASKS
from optimizer.physical.graph import PhysicalGraph

_POLL_S = 0.1
_RETRY_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Until a batch whose server is away is tried again, the last for all later tries."""
_FAREWELL_S = 5.0


def run(given: argparse.Namespace) -> int:
    """Run a topology and return the exit code.

    Raises `InputError` for options that cannot be used.
    """
    try:
        redis.Redis.from_url(given.redis)
    except ValueError as error:
        raise InputError(
            "bad-option",
            Place("command line", path="--redis"),
            given.redis,
            f"redis://HOST:PORT/DB ({error})",
        ) from error
    graph = None if given.plan is None else _read_plan(given.plan)
    root: Path = given.checkpoint
    known = read_identity(root) if root.exists() else None
    least = max((store.tasks for store in graph.stores), default=1) if graph is not None else 1
    partitions = given.parallelism or (known.partitions if known is not None else processors())
    state = None if given.state is None else below(given.state, quote(given.topology, safe=""))
    partitions = max(partitions, min(least, MOST_TASKS))
    checkpoint = Checkpoint(root, Identity("run", given.topology, partitions), state)
    with hold(root / "lock"):
        return _Job(given, checkpoint, graph).run()


class _Job:
    """The process of a topology, and the coordinator of its batches."""

    def __init__(
        self, given: argparse.Namespace, checkpoint: Checkpoint, graph: PhysicalGraph | None
    ) -> None:
        self._given = given
        self._checkpoint = checkpoint
        self._graph = graph
        tail = ResultTail(connect(given.redis), given.topology, checkpoint.identity.id)
        tables = CurrentTables(connect(given.redis), given.topology, checkpoint.identity.id)
        self._outgoing = Outgoing(connect(given.redis), given.topology, given.run, tail, tables)
        # A blocking read must be allowed to last longer than the other commands.
        self._incoming = Incoming(connect(given.redis), given.topology, self._handle, self._refuse)
        self._wake = threading.Event()
        self._has_plan = threading.Event()
        self._stop: Stop | None = None
        self._stop_reason = ""
        self._announced = ""
        self._latencies = LatencyWindow()
        self._changing = threading.Lock()
        self._topology: Topology | None = None
        self._epochs: EpochLog | None = None
        self._shapes: LiveShapes
        """From before the first batch on."""
        self._labels: dict[str, str] = {}
        """The shapes of the newest batch's grids, by stream."""
        self._offsets: LiveOffsets | None = None
        self._drain_to: Arrived | None = None
        self._publisher: Publisher | None = None

    def run(self) -> int:
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        write_job_file(self._checkpoint.root, self._given.run, self._given.topology)
        self._outgoing.start()
        try:
            self._checkpoint.remove_unfinished()
            self._checkpoint.verify()
            self._incoming.start()
            self._take_first_plan()
            self._wait_for_plan()
            if self._stop is None:
                self._work()
        except InputError as error:
            self._fail(error)
            print(error, file=sys.stderr)
            return 2
        except Exception as error:
            self._fail(error)
            tell(error, self._checkpoint.root / "error.log")
            return 1
        finally:
            self._incoming.close()
        self._outgoing.now("stopping")
        self._outgoing.send(JobStopped(run=self._given.run, at=_now(), reason=self._stop_reason))
        self._outgoing.close(_FAREWELL_S)
        return 0

    def _take_first_plan(self) -> None:
        """The given plan, unless it is the one in use already; otherwise the checkpoint's."""
        newest = self._checkpoint.newest_change()
        if self._graph is not None:
            plan_id = self._given.plan.stem
            if newest is None or (newest.plan_id, newest.plan) != (
                plan_id,
                self._checkpoint.keep_plan(self._graph),
            ):
                newest = self._change(self._graph, plan_id, "start")
        if newest is not None:
            self._announced = newest.plan_id
            self._has_plan.set()

    def _wait_for_plan(self) -> None:
        if not self._has_plan.is_set():
            self._outgoing.now("idle")
        while not self._has_plan.wait(_POLL_S) and self._stop is None:
            pass

    def _work(self) -> None:
        given = self._given
        self._outgoing.now("starting", phase="spark")
        self._write_source()
        partitions = self._checkpoint.identity.partitions
        master = given.master or f"local[{min(partitions, processors())},4]"
        spark = create_session(
            master, f"millrace {given.topology}", partitions, self._checkpoint.root / "scratch"
        )
        self._outgoing.now("starting", phase="query")
        publisher = self._results_publisher()
        settings = Settings(
            output=publisher.outbox.output if publisher is not None else self._out(),
            passing=publisher is not None and publisher.outbox.passing,
            redis_url=given.redis,
            idle_timeout_us=given.idle_timeout,
            epoch_batches=given.epoch_batches,
            tail=MOST_ENTRIES,
            most=given.most_combinations,
        )
        topology = self._topology = Topology(spark, self._checkpoint, settings, self, given.memory_limit)
        try:
            self._epochs = EpochLog(given.run, settings.epoch_batches, topology.last)
            self._shapes = LiveShapes(self._checkpoint, given.storage_weight)
            last = topology.last
            if last is not None:
                self._labels = shape_labels(self._checkpoint.graph(last.plan))
                tables = tables_of(self._checkpoint.graph(last.plan), last, self._checkpoint.state)
                self._outgoing.send_results(last.batch, self._announced or "", {}, (), tables)
                if publisher is not None:
                    publisher.restore(last.batch, tables)
            # Set before there is a batch: one that it does not hear of is never published.
            self._publisher = publisher
            topology.start(given.trigger_ms)
            if publisher is not None:
                publisher.start(last)
            first = last.batch + 1 if last is not None else 0
            self._outgoing.send(
                JobStarted(
                    run=given.run,
                    at=_now(),
                    pid=os.getpid(),
                    host=socket.gethostname(),
                    plan_id=self._announced,
                    batch=first,
                )
            )
            self._outgoing.now("running", first, "batch")
            while not self._done(topology):
                self._wake.wait(_POLL_S)
                self._wake.clear()
                if topology.failed() and not self._done(topology):
                    topology.wait(_FAREWELL_S)
                    raise RuntimeError("Spark ended the streaming query without an error")
                if publisher is not None and publisher.error is not None:
                    raise publisher.error
        finally:
            self._outgoing.now("stopping")
            if self._publisher is not None:
                self._publisher.release()
            topology.stop()
            if self._publisher is not None:
                self._publisher.close(_FAREWELL_S)
            spark.stop()

    def _out(self) -> Path | None:
        out: Path | None = self._given.out
        return None if out is None else out.absolute()

    def _results_publisher(self) -> Publisher | None:
        """What publishes results, if any sink is wanted.

        Result files pass through the checkpoint unless people want them too.
        """
        given, out = self._given, self._out()
        sinks = open_sinks(given, self._checkpoint.identity.id)
        if not sinks:
            return None
        root = self._checkpoint.root.absolute()
        folder = root / "results" if out is None else out
        outbox = Outbox(root, folder, passing=out is None, sinks=sinks)
        return Publisher(sinks, outbox, given.most_unpublished)

    def _write_source(self) -> None:
        """Write the source of the streams' tuples into the checkpoint."""
        now_us = int(_now().timestamp() * 1_000_000)
        asked = [generated(text, now_us) for text in self._given.generate]
        before = read_source(self._checkpoint.root)
        made_up = continued(asked, before.generated if isinstance(before, LiveSource) else ())
        write_source(self._checkpoint.root, LiveSource(self._given.batch_rows, made_up))
        self._offsets = LiveOffsets(Servers(self._given.redis), made_up)

    def plan_of(self, planned: PlannedBatch) -> Change:
        """The change that the source found in the checkpoint when it planned the batch.

        Its grids are in the shapes for what the batch brings.
        """
        return self._shapes.shaped(planned, self._checkpoint.change(int(planned.end["change"])))

    def batch_committed(self, committed: Committed) -> None:
        """Say what the batch did, and forget plans under which no batch will run again."""
        run, batch = self._given.run, committed.manifest.batch
        if self._publisher is not None:
            # Before the batch is told of: whoever checks it speaks of a plan that is known here.
            self._publisher.verified.committed(committed.change.plan_id, batch)
        self._shapes.committed(committed.manifest)
        if committed.switched:
            self._tell_switch(committed)
        gathered = committed.gathered
        changes = table_changes(committed.manifest, gathered)
        self._outgoing.send_results(batch, committed.change.plan_id, gathered.tails, gathered.dead, changes)
        if committed.trouble is not None:
            self.batch_failed(committed.trouble)
        limited = self._given.memory_limit is not None
        manifest = committed.manifest
        waited = waits(gathered, manifest.started_us, manifest.committed_us)
        self._latencies.add(manifest.committed_us, waited)
        planned = self._shapes.as_planned(committed.change)
        event = batch_completed(committed, run, self._latencies, limited=limited)
        self._outgoing.send(event if planned is None else planned.batch(event))
        if self._epochs is not None and (epoch := self._epochs.add(committed, planned)) is not None:
            # The sample goes first: whoever has heard of the epoch finds it.
            self._outgoing.send(self._epochs.samples(committed, epoch, self._checkpoint.state))
            self._outgoing.send(epoch)
        self._outgoing.now("running", batch)
        if self._publisher is not None:
            self._publisher.add(committed.manifest)
        if committed.switched:
            with self._changing:
                self._checkpoint.forget_changes(committed.change.number, {committed.manifest.plan})
        self._wake.set()
        if self._publisher is not None:
            self._publisher.wait_for_room()

    def _tell_switch(self, committed: Committed) -> None:
        """Say which plan took over with the batch, or which shapes of its grids."""
        change, manifest = committed.change, committed.manifest
        before, self._labels = self._labels, shape_labels(committed.graph)
        figures = manifest.figures
        if change.plan_id != self._announced:
            self._announced = change.plan_id
            self._outgoing.send(
                PlanSwitched(
                    run=self._given.run,
                    at=_now(),
                    plan_id=change.plan_id,
                    epoch=manifest.epoch,
                    batch=manifest.batch,
                    cause=change.cause,
                    moved=figures.moved,
                    seconds=round(figures.switch_seconds, 6),
                )
            )
            return
        changed = {
            stream: ShapeChange(before=before[stream], after=label)
            for stream, label in self._labels.items()
            if before.get(stream, label) != label
        }
        if changed:
            self._outgoing.send(
                ShapesChanged(
                    run=self._given.run,
                    at=_now(),
                    plan_id=change.plan_id,
                    epoch=manifest.epoch,
                    batch=manifest.batch,
                    stores=changed,
                    moved=figures.moved,
                    seconds=round(figures.switch_seconds, 6),
                )
            )

    def batch_failed(self, trouble: Trouble) -> None:
        """Say that a batch fails, and later what of it was set aside."""
        self._outgoing.send(
            BatchFailed(
                run=self._given.run,
                at=_now(),
                plan_id=trouble.change.plan_id,
                batch=trouble.batch,
                error=trouble.error,
                set_aside=dict(trouble.set_aside),
            )
        )

    def batch_waits(self, outage: Outage) -> None:
        """Say for which server a batch waits, and try it again later."""
        self._outgoing.send(
            BatchWaits(
                run=self._given.run,
                at=_now(),
                plan_id=outage.change.plan_id,
                batch=outage.batch,
                reason=outage.reason,
            )
        )
        later = time.monotonic() + _RETRY_S[min(outage.tries, len(_RETRY_S)) - 1]
        while time.monotonic() < later:
            if self._stop is not None and self._stop.mode == "now":
                raise Stopping
            time.sleep(_POLL_S)

    def batch_given_up(self, excess: Excess) -> Change | None:
        """Report a batch that makes too much and wait for another plan; None for a stop."""
        change = excess.change
        self._outgoing.send(
            BatchGivenUp(
                run=self._given.run,
                at=_now(),
                plan_id=change.plan_id,
                batch=excess.batch,
                steps=dict(excess.too_many),
                most=excess.most,
                failed=dict(excess.failed),
            )
        )
        while self._stop is None or self._stop.mode != "now":
            newest = self._checkpoint.newest_change()
            if newest is not None and newest.number > change.number:
                return newest
            time.sleep(_POLL_S)
        return None

    def _handle(self, message: Control) -> bool:
        """Called from the control thread."""
        match message:
            case Deploy():
                return self._deploy(message)
            case Stop():
                if message.mode == "drain":
                    self._outgoing.now("stopping")
                self._end(message, f"stop ({message.mode}) asked for by the control plane")
                return True
            case Expect():
                if self._epochs is not None:
                    self._epochs.expect(message)
                return True
            case Verified():
                return self._publisher is not None and self._publisher.verified.take(message)

    def _deploy(self, message: Deploy) -> bool:
        try:
            graph = PhysicalGraph.from_json(json.dumps(message.graph), f"plan {message.plan_id}")
            change = self._change(graph, message.plan_id, message.cause)
        except InputError as error:
            self._refuse(message.plan_id, str(error))
            return False
        if message.storage_weight is not None:
            self._given.storage_weight = message.storage_weight
            if self._topology is not None:
                self._shapes.weigh_storage(message.storage_weight)
        if not self._has_plan.is_set():
            self._announced = change.plan_id
            self._has_plan.set()
        return True

    def _change(self, graph: PhysicalGraph, plan_id: str, cause: str) -> Change:
        with self._changing:
            newest = self._checkpoint.newest_change()
            running = None if newest is None else self._checkpoint.graph(newest.plan)
            check_usable(graph, running, plan_id)
            self._checkpoint.grow(max((store.tasks for store in graph.stores), default=1))
            return self._checkpoint.record_change(graph, plan_id, cause)

    def _refuse(self, plan_id: str, reason: str) -> None:
        self._outgoing.send(DeployRefused(run=self._given.run, at=_now(), plan_id=plan_id, reason=reason))

    def _end(self, stop: Stop, reason: str) -> None:
        self._stop_reason = reason
        self._stop = stop
        self._wake.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._end(Stop(mode="now"), signal.Signals(number).name)

    def _done(self, topology: Topology) -> bool:
        """True once the topology may be stopped."""
        if self._stop is None:
            return False
        if self._stop.mode == "now":
            return True
        assert self._offsets is not None, "the source is written before there is a topology"
        if self._drain_to is None:
            # What had arrived by now; another time while a server is away.
            with suppress(Away):
                self._drain_to = self._offsets.newest(self._checkpoint.root)
        if self._drain_to is None or (self._publisher is not None and self._publisher.waiting()):
            return False
        position = topology.last.position["streams"] if topology.last is not None else {}
        return self._offsets.have_come(position, self._drain_to)

    def _fail(self, error: Exception) -> None:
        self._outgoing.now("stopping")
        text = one_line(error)
        detail = "".join(traceback.format_exception(error))
        final = isinstance(error, OutOfMemory)
        self._outgoing.send(JobFailed(run=self._given.run, at=_now(), error=text, detail=detail, final=final))
        self._outgoing.close(_FAREWELL_S)


def _read_plan(path: Path) -> PhysicalGraph:
    try:
        return PhysicalGraph.from_json(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError("no-plan", Place(str(path)), error.strerror or str(error), "a plan file") from error


def _now() -> datetime:
    return datetime.now(UTC)
