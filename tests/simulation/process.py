"""One process of a simulated topology: what `python -m jobs run` sets up, without Spark and threads."""

from __future__ import annotations

import argparse
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import redis

from jobs.cli.run import _Job
from jobs.control_plane.epoch_reporter import EpochLog
from jobs.driver.background_compaction import Merging
from jobs.driver.batch_protocol import BatchProtocol
from jobs.driver.coordinator import Excess
from jobs.driver.settings import Settings
from jobs.recovery.checkpoint import Change, Checkpoint, Identity
from jobs.recovery.lock import hold
from jobs.shapes.live import LiveShapes
from jobs.sinks.outbox import Outbox
from jobs.sinks.publisher import Publisher
from jobs.sources.connector import Away
from optimizer.search.problem import Options
from tests.simulation.control import plan_id
from tests.simulation.executor import FaultyExecutor
from tests.simulation.network import TOPOLOGY
from tests.simulation.queries import PARTITIONS, graph_of
from tests.unit.runtime.stepwise import Stepwise

if TYPE_CHECKING:
    from tests.simulation.world import World

EPOCH_BATCHES = 2


class _SimulatedJob(_Job):
    """A job whose control plane answers at once when a batch is given up."""

    world: World

    def batch_given_up(self, excess: Excess) -> Change | None:
        self.world.relieve(self)
        return super().batch_given_up(excess)


class Process:
    """One process of a topology, from its start to its death."""

    def __init__(self, world: World) -> None:
        self._held = ExitStack()
        with ExitStack() as held:
            self._start(world, held)
            self._held = held.pop_all()

    def _start(self, world: World, held: ExitStack) -> None:
        schedule = world.schedule
        root = world.folder / "checkpoint"
        identity = Identity("run", TOPOLOGY, PARTITIONS, "simulated")
        self.checkpoint = Checkpoint(root, identity)
        held.enter_context(hold(root / "lock"))
        wanted = world.control.wanted
        given = argparse.Namespace(
            redis="redis://simulated",
            topology=TOPOLOGY,
            run=f"run-{world.processes}",
            plan=Path(f"{plan_id(wanted)}.json"),
            memory_limit=schedule.share_bytes,
        )
        job = self.job = _SimulatedJob(given, self.checkpoint, graph_of(wanted))
        job.world = world
        self.stepwise = Stepwise()
        policy = world.policy
        self.checkpoint.remove_unfinished()
        self.checkpoint.verify()
        job._incoming.pass_over_earlier()
        job._take_first_plan()
        job._shapes = LiveShapes(self.checkpoint, Options().storage_weight)
        self.publisher = None
        if schedule.passing is not None:
            folder = root / "results" if schedule.passing else world.output
            outbox = Outbox(root, folder, schedule.passing, world.sinks)
            self.publisher = Publisher(world.sinks, outbox, most=1000)
        settings = Settings(
            output=self.publisher.outbox.output if self.publisher is not None else world.output,
            passing=bool(schedule.passing),
            idle_timeout_us=None if schedule.idle_s is None else schedule.idle_s * 1_000_000,
            epoch_batches=EPOCH_BATCHES,
            tail=1000,
            clock=world.clock,
        )
        self.merging = (
            Merging(self.checkpoint.state, schedule.share_bytes, policy, self.stepwise)
            if schedule.beside
            else None
        )
        self.executor = FaultyExecutor(world.tasks, self.stepwise.step)
        self.protocol = BatchProtocol(
            self.checkpoint, self.executor, job, settings, self.merging, schedule.share_bytes
        )
        job._epochs = EpochLog(given.run, EPOCH_BATCHES, self.protocol.last)
        self.protocol.recover()
        if self.publisher is not None:
            self.publisher.add_last(self.protocol.last)
            job._publisher = self.publisher

    def hear(self) -> None:
        """Take the control messages that are there; later, while a plan is being recorded or forgotten."""
        if not self.job._changing.locked():
            with suppress(redis.RedisError):
                self.job._incoming.take_new()

    def speak(self) -> None:
        """Send what waits, to Redis and to the sinks, as far as they are there."""
        with suppress(redis.RedisError):
            while self.job._outgoing.deliver_next():
                pass
        if self.publisher is not None:
            for lane in self.publisher.lanes:
                with suppress(Away):
                    lane.publish_waiting()

    def end(self) -> None:
        """End as a process does that fails: it gives back what it holds."""
        if self.merging is not None:
            self.merging.close()

    def die(self) -> None:
        """What the operating system does behind a process."""
        self._held.close()
