"""Carry a schedule out: processes that start, work and die on a disk, beside a source, a sink and Redis."""

from __future__ import annotations

import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import polars as pl

import jobs.cli.run
import jobs.driver.split_assignment
import jobs.storage.run
import jobs.worker.task
from jobs.cli.run import _Job
from jobs.plan.event_time import LAST_US
from jobs.protocol import Deploy, results_key
from jobs.recovery.lock import hold
from jobs.recovery.manifest import Manifest, read_manifest
from jobs.sinks.parquet import DEAD_LETTER_FOLDER, result_folder
from jobs.sinks.redis_tail import to_json
from jobs.storage.disk import using
from jobs.storage.partition import CompactionPolicy, PartitionState, state_root
from optimizer.algebra.errors import InputError
from tests.simulation.control import ControlPlane, deployment
from tests.simulation.disk import DiskFault, Killed, SimulatedDisk
from tests.simulation.executor import Tasks
from tests.simulation.judging import SCHEMA, Answer, Judge, Wrong, require
from tests.simulation.network import TOPOLOGY, Network, TransactionalSink
from tests.simulation.process import Process
from tests.simulation.queries import LATENESS
from tests.simulation.schedule import Schedule, Step
from tests.simulation.source import Source

START = datetime(2026, 1, 1, tzinfo=UTC)
_LEFT = 1
"""Batches without tuples at the end, in which what waits falls due."""
PROTOCOL = {
    "recover": "start: recover",
    "remove_unfinished": "start: remove what is unfinished",
    "record_change": "2: record a plan change",
    "switch": "3: switch plans",
    "write_hidden": "5: write results and dead letters",
    "insert": "5: write runs",
    "compact": "5: merge inside",
    "_merge": "14: merge beside",
    "_relieved": "7: give a batch up",
    "adopted": "8: adopt merged runs",
    "make_durable": "9: flush what the manifest lists",
    "write_manifest": "10: write the manifest",
    "show": "11: show results",
    "delete": "12: delete runs",
    "remove_empty_folders": "12: remove folders",
    "_sweep": "13: sweep",
    "forget_changes": "14: forget plan changes",
    "add": "14: queue for the sink",
    "_forget": "14: delete what every sink has",
    "close": "end",
    "write_schemas": "3: write empty files",
}
"""By function, the step of `jobs.driver.batch_protocol` that it carries out."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a schedule."""

    batches: int
    results: int
    processes: int
    counts: Counter[str]
    trace: tuple[str, ...]
    """Every change of the disk, in order."""


class World:
    """A topology with everything around it, for one schedule."""

    def __init__(self, schedule: Schedule, folder: Path, network: Network, judge: Judge) -> None:
        self.schedule = schedule
        self.folder, vault = folder / "disk", folder / "vault"
        inputs = folder / "inputs"
        for made in (self.folder, vault, inputs):
            made.mkdir(parents=True)
        self.output = self.folder / "out"
        self.network, self.judge = network, judge
        network.begin()
        judge.begin()
        self.disk = SimulatedDisk(self.folder, vault)
        self.disk.step = _protocol_step
        self.sinks = {"one": TransactionalSink()}
        if schedule.other_away is not None:
            self.sinks["other"] = TransactionalSink()
        self.control = ControlPlane(schedule.first, network, schedule.seed)
        self.source = Source(inputs, schedule.most_rows)
        self.tasks = Tasks(self.disk, schedule.seed, self.source.poison)
        self.policy = CompactionPolicy(
            fan=schedule.fan, smallest_rows=4, most_rows=60, spans_per_retention=schedule.spans
        )
        self.processes = 0
        self.counts: Counter[str] = Counter()
        self._process: Process | None = None
        self._now_s, self._clock_s = 0, 0
        self._judged = -1
        self._watermark = -(2**80)
        self._newest_us = -(2**80)
        """Of all tuples that were read."""
        self._history: dict[tuple[int, str], Answer] = {}
        """What was shown, by batch and query."""
        self._texts: dict[tuple[int, str], Counter[str]] = {}
        """The same as texts."""

    def clock(self) -> int:
        """The wall clock, in microseconds since 1970."""
        moment = START + timedelta(seconds=self._now_s + self._clock_s)
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)

    def run(self) -> Outcome:
        """Carry the schedule out; raises `Wrong` for what must not happen, and what the product raises."""
        quiet = Step(tuples={})
        steps = [*self.schedule.steps, *(quiet for _ in range(_LEFT))]
        for number, step in enumerate(steps):
            self.source.ended = number >= len(self.schedule.steps)
            self._step(number, step)
        assert self._process is not None
        assert self._process.protocol.last is not None
        # Streams of which something is left are read to their ends, also those that are deployed only now.
        # A sink that had nothing to take could not go away; it does once it has: tried again each time.
        still = self._behind_tuples()
        while still:
            self._step(len(steps), quiet)
            left = any(self.source.left(name, self._judged) for name in self._active())
            still = self._behind_tuples() if left else still - 1
        last = self._process.protocol.last
        assert last is not None
        self.judge.end(last)
        if self.schedule.passing is not None:
            require(
                self._process.publisher is not None and not self._process.publisher.waiting(), "unpublished"
            )
        self._check_kept()
        self._process.end()
        self._process.die()
        parts = (self.control, self.disk, self.tasks, self.network, *self.sinks.values())
        counts = sum((part.counts for part in parts), self.counts)
        return Outcome(last.batch + 1, self.judge.results, self.processes, counts, tuple(self.disk.trace))

    def _step(self, number: int, step: Step) -> None:
        self._now_s += step.gap_s
        self._clock_s += step.clock_s
        if step.clock_s:
            self.counts["the clock is set"] += 1
        self.source.arrive(number, step, START + timedelta(seconds=self._now_s))
        self.control.begin(number, step)
        self.tasks.begin(number, step)
        self.network.arm(step.redis)
        self.sinks["one"].away.extend(step.sink_away)
        if self.schedule.other_away is not None:
            begin, end = self.schedule.other_away
            self.sinks["other"].there = not begin <= number < min(end, len(self.schedule.steps))
        batch = self._judged + 1
        for share, fault in enumerate((*step.disk, None)):
            self.disk.arm(fault, f"{self.schedule.seed} {number} {share}")
            self.disk.hooks.clear()
            try:
                self._work(batch, step, share)
            except Killed:
                self._died(fault, step, f"{self.schedule.seed} {number} {share}")
                continue
            except OSError as error:
                if not self.disk.injected(error):
                    raise
                self.counts["a process that fails"] += 1
                if self._process is not None:
                    with suppress(Killed):
                        self._process.end()
                self._died(None, step, "")
                continue
            break
        else:
            raise Wrong(f"batch {batch} was never committed")
        self.disk.arm(None, "")
        assert self._process is not None
        self._judge(batch)
        self._process.speak()
        self._check_tails()

    def _work(self, batch: int, step: Step, share: int) -> None:
        began = self._process is None
        if began:
            self.processes += 1
            state_root.cache_clear()
            read_manifest.cache_clear()
            self._process = Process(self)
            self.tasks.left = False
        process = self._process
        assert process is not None
        if share or not step.heard_at:
            process.hear()
        else:
            self.disk.hooks[step.heard_at] = process.hear
        last = process.protocol.last
        committed = -1 if last is None else last.batch
        if began and step.repeated and committed >= 0:
            require(process.protocol.is_committed(committed), f"batch {committed} is forgotten")
        if committed < batch:
            require(committed == batch - 1, f"batch {committed} is the last one behind {batch - 1}")
            require(not process.protocol.is_committed(batch), f"batch {batch} is said to be committed")
            process.protocol.work(batch, self.source.planned(batch, process.checkpoint, last))

    def _died(self, fault: DiskFault | None, step: Step, seed: str) -> None:
        """Clear away behind a process; what it leaves is on the disk."""
        process, self._process = self._process, None
        if fault is not None and fault.kind == "pause" and process is not None:
            # It is stopped and not dead: nobody else may start.
            try:
                with hold(self.folder / "checkpoint" / "lock"):
                    raise Wrong("two processes at once")
            except InputError:
                self.counts["a second process is refused"] += 1
        if process is not None:
            process.die()
        if fault is not None and fault.kind == "power":
            self.disk.arm(None, "")
            self.disk.lose_power(seed)
            self.tasks.zombies.clear()
            if step.log_lost:
                self.source.lose_end(self._judged)
        self._check_visible()

    def _behind_tuples(self) -> int:
        """How many batches follow the one with the last tuples."""
        return 2 + sum(len(sink.away) for sink in self.sinks.values())

    def _active(self) -> tuple[str, ...]:
        assert self._process is not None
        newest = self._process.checkpoint.newest_change()
        return newest.streams if newest is not None else ()

    def relieve(self, job: _Job) -> None:
        """Give a job whose batch makes too much another plan, by another way than its messages."""
        wanted = self.control.wanted
        self.control.wanted = replace(wanted, variation=(wanted.variation + 1) % 4, slices=0, grids=False)
        job._deploy(Deploy.model_validate_json(deployment(self.control.wanted)))

    # Judging

    def _judge(self, batch: int) -> None:
        assert self._process is not None
        last = self._process.protocol.last
        assert last is not None
        require(last.batch == batch, f"batch {last.batch} is the last one, not {batch}")
        require(last.watermark_us is None or last.watermark_us >= self._watermark, "the watermark went back")
        if last.watermark_us is not None:
            self._watermark = last.watermark_us
        graph = self._process.checkpoint.graph(last.plan)
        self.source.committed(last)
        late_below = dict(self.tasks.contexts[batch].late_below_us)
        self._check_patience(late_below)
        kept: dict[str, pl.DataFrame] = {}
        aside = late = 0
        for stream in sorted(one.name for one in graph.streams):
            arrived = self.source.arrived(stream, batch)
            read = [row for file, number, row in arrived if (file, number) not in self.source.poison]
            frame = pl.DataFrame(read, schema=SCHEMA)
            oldest = late_below.get(stream)
            kept[stream] = frame if oldest is None else frame.filter(pl.col("at").to_physical() >= oldest)
            aside += len(arrived) - len(read)
            late += frame.height - kept[stream].height
            every = pl.DataFrame([row for _, _, row in arrived], schema=SCHEMA)
            newest = every["at"].to_physical().max()
            self._newest_us = self._newest_us if newest is None else max(self._newest_us, newest)
        self._judged = batch
        letters = self._letters(batch)
        if letters is not None:
            expected = +Counter({"late": late, "set aside: ValueError: poison": aside})
            require(letters == expected, f"dead letters {dict(letters)}, not {dict(expected)}")
        self._check_files(last)
        frames = {name: self._shown(name, batch) for name in last.queries}
        answers = {n: Counter() if f is None else Counter(f.rows()) for n, f in frames.items()}
        for name, frame in frames.items():
            texts = [] if frame is None else to_json(frame.to_arrow())
            self._texts[batch, name], self._history[batch, name] = Counter(texts), answers[name]
        self.judge.commit(last, kept, answers)
        self.counts["late tuples"] += late
        self.counts["tuples set aside"] += aside

    def _shown(self, query: str, batch: int) -> pl.DataFrame | None:
        assert self._process is not None
        publisher = self._process.publisher
        output = self.output if publisher is None else publisher.outbox.output
        files = sorted((output / result_folder(query)).glob(f"{batch:08d}-*.parquet"))
        return pl.concat([pl.read_parquet(file) for file in files]) if files else None

    def _letters(self, batch: int) -> Counter[str] | None:
        if self.schedule.passing:
            return None
        files = sorted((self.output / DEAD_LETTER_FOLDER).glob(f"{batch:08d}-*.parquet"))
        return Counter(reason for file in files for reason in pl.read_parquet(file)["reason"].to_list())

    def _check_files(self, last: Manifest) -> None:
        """Everything that the manifest lists is there as it was written, and nothing else is."""
        assert self._process is not None
        state = Path(self._process.checkpoint.state)
        state_root(str(state)).verify(last.runs)
        listed = {run.path for run in last.runs}
        files = {str(path.relative_to(state)) for path in state.rglob("*.arrow")}
        extra = {path for path in files - listed if not (self.schedule.beside and "-merged-" in path)}
        # What a zombie left goes behind the next attempt that is given up, or with the next start.
        require(not extra or self.tasks.left, f"files that nothing lists: {sorted(extra)}")
        commits = self._process.checkpoint.root / "commits"
        require(self.tasks.left or not list(commits.glob("switch-*")), "an interim manifest is left")
        if not self.tasks.left:
            require(not list(self.output.rglob(".*.pending*")), "hidden files are left")

    def _check_patience(self, late_below: Mapping[str, int]) -> None:
        """No tuple is late that is behind the newest one of all by less than streams may be."""
        for stream, oldest in late_below.items():
            within = oldest == LAST_US or oldest <= self._newest_us - LATENESS // timedelta(microseconds=1)
            require(within, f"{stream}: tuples before {oldest} are late, and {self._newest_us} is the newest")

    def _check_visible(self) -> None:
        """Whoever reads the results of a topology that died sees no batch that is not final."""
        commits = (self.folder / "checkpoint" / "commits").glob("[0-9]*.json")
        last = max((int(path.stem) for path in commits), default=-1)
        for path in self.output.rglob("[0-9]*-*.parquet"):
            batch = int(path.name.partition("-")[0])
            require(batch <= last, f"results of batch {batch} are shown, and {last} is the last one")

    def _check_tails(self) -> None:
        """What Redis has of a batch is what it has shown, once; it may have nothing."""
        for query in sorted({query for _, query in self._texts}):
            told: dict[int, Counter[str]] = {}
            for _, fields in self.network.backend.xrange(results_key(TOPOLOGY, query)):
                told.setdefault(int(fields[b"batch"]), Counter())[fields[b"json"].decode()] += 1
            for batch, rows in told.items():
                shown = self._texts[batch, query]
                require(
                    rows == shown, f"of batch {batch} Redis has {dict(rows)} of {query}, not {dict(shown)}"
                )

    def _check_kept(self) -> None:
        """What was shown once is still there, in files or in the sinks."""
        for (batch, query), rows in self._history.items():
            if self.schedule.passing is not None:
                for name, sink in self.sinks.items():
                    taken = sink.batches.get(batch, {}).get(query, Counter())
                    said = f"sink {name} has {taken.total()} results of {query}, not {rows.total()}"
                    require(taken == rows, said)
            if not self.schedule.passing:
                frame = self._shown(query, batch)
                found: Answer = Counter() if frame is None else Counter(frame.rows())
                require(
                    found == rows, f"batch {batch} of {query} has {found.total()} results, not {rows.total()}"
                )


def _protocol_step() -> str:
    """Which step of the batch protocol changes the disk."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_back is not None:
        if "/jobs/" in frame.f_code.co_filename and frame.f_code.co_name in PROTOCOL:
            return PROTOCOL[frame.f_code.co_name]
        frame = frame.f_back
    return "elsewhere"


@contextmanager
def surroundings(schedule: Schedule, network: Network) -> Iterator[None]:
    """What is put in the place of chance, clients and sizes while a schedule is carried out."""
    names = random.Random(f"{schedule.seed} names")
    policy = CompactionPolicy(
        fan=schedule.fan, smallest_rows=4, most_rows=60, spans_per_retention=schedule.spans
    )
    with ExitStack() as stack:
        # Only attempts draw from it: what is cached between schedules draws names, too, the first time.
        drawn = SimpleNamespace(token_hex=lambda size: f"{names.getrandbits(8 * size):0{2 * size}x}")
        stack.enter_context(patch.object(jobs.storage.run, "secrets", drawn))
        stack.enter_context(patch.object(jobs.cli.run, "connect", network.connect))
        stack.enter_context(
            patch.object(jobs.worker.task, "PartitionState", partial(PartitionState, policy=policy))
        )
        stack.enter_context(patch.object(jobs.driver.split_assignment, "_LEAST_ROWS", 2))
        yield


def simulate(schedule: Schedule, folder: Path, network: Network, judge: Judge) -> Outcome:
    """Carry a schedule out in a folder that does not exist yet.

    Raises `Wrong` for what must not happen, and whatever the product raises.
    """
    world = World(schedule, folder, network, judge)
    try:
        with surroundings(schedule, network), using(world.disk):
            return world.run()
    finally:
        if world._process is not None:
            world._process.die()
        state_root.cache_clear()
        read_manifest.cache_clear()
        shutil.rmtree(folder, ignore_errors=True)
