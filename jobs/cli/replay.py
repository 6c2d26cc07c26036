"""`python -m jobs replay`: answer a workload's queries over files, then end."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NoReturn

from jobs.adaptation.controller import Controller, Policy
from jobs.adaptation.report import report_epochs
from jobs.adaptation.schedule import Schedule, read_schedule
from jobs.cli.ending.given_up import given_up
from jobs.cli.progress import Progress
from jobs.cli.replay_report import completeness, report
from jobs.driver.coordinator import Committed, Excess, Outage, Trouble
from jobs.driver.settings import Settings
from jobs.driver.topology import Topology
from jobs.failures.dead_letters import DEAD_LETTERS
from jobs.metrics.cpu_time import cpu_seconds
from jobs.recovery.batch_history import History
from jobs.recovery.checkpoint import Change, Checkpoint, Identity
from jobs.recovery.lock import hold
from jobs.recovery.manifest import Manifest
from jobs.sinks.parquet import DEAD_LETTER_FOLDER, write_schemas
from jobs.sources.ahead import latest_time
from jobs.sources.files.inputs import find_inputs
from jobs.sources.files.replay import ReplaySource, settled
from jobs.sources.planner import PlannedBatch
from jobs.sources.spark_source import read_source, write_source
from jobs.spark.session import create_session, processors
from jobs.storage.memory_budget import share
from optimizer.algebra.errors import InputError, Place
from optimizer.cli.setting_options import given_coefficients, given_settings
from optimizer.logical.query import Query, derived_of
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.settings import PlannerSettings
from optimizer.search.problem import Options
from optimizer.udf.reader import SETTING as FUNCTIONS
from optimizer.workload import Workload, functions_file, load_workload

DEFAULT_BATCH_ROWS = 750_000
"""Large enough that a batch's fixed cost is small beside its work, small enough for its messages to
stay in memory: measured in tests/bench."""


def replay(given: argparse.Namespace) -> None:
    """Replay a workload. Raises `InputError` for anything that the user can mend."""
    planner = given_settings(given, PlannerSettings)
    workload = load_workload(given.workload)
    own = functions_file(given.workload)
    if own is not None:
        # Spark's Python workers inherit it, and read the file for themselves.
        os.environ[FUNCTIONS] = str(own.absolute())
    policy = _policy(given, planner, workload)
    given_plan = None if given.plan is None else _read_plan(given.plan, workload, policy.schedule.at(0))
    partitions = _partitions(policy, workload, given_plan)
    share(given.memory_limit, partitions)  # Refused before anything is written.
    output = _output(given.out)
    subject = _subject(given, workload, policy, given_plan)
    checkpoint = Checkpoint(
        output / "checkpoint",
        Identity("replay", subject, partitions),
        given.state,
    )
    with hold(output / "checkpoint" / "lock"):
        checkpoint.remove_unfinished()
        checkpoint.verify()
        controller = Controller(checkpoint, workload, policy)
        try:
            # A replay that continues keeps its plans; planning again would only take time.
            if not controller.begun:
                controller.first_plan(given_plan)
            graph = checkpoint.graph(checkpoint.change_at(0).plan)
            (output / "plan.json").write_text(graph.to_json(), encoding="utf-8")
            write_schemas(output, graph.answered, DEAD_LETTERS)
            inputs = find_inputs(given.data, graph.sources, output / "checkpoint" / "staging")
            began_ms = _began_ms(checkpoint)
            inputs = tuple(
                replace(files, latest_us=latest_time(stream, began_ms))
                for files, stream in zip(inputs, graph.sources, strict=True)
            )
            settles = _settling_batches(workload.queries)
            source = ReplaySource(inputs, given.batch_rows or DEFAULT_BATCH_ROWS, began_ms, settles)
            write_source(checkpoint.root, source)
            _Replay(given, output, checkpoint, controller, source, policy.schedule).run()
        finally:
            controller.close()


class _Replay:
    """A replay's run on Spark, and the coordinator of its batches."""

    def __init__(
        self,
        given: argparse.Namespace,
        output: Path,
        checkpoint: Checkpoint,
        controller: Controller,
        source: ReplaySource,
        schedule: Schedule,
    ) -> None:
        self._given = given
        self._output = output
        self._checkpoint = checkpoint
        self._controller = controller
        self._schedule = schedule
        self._settles = source.settles
        self._rows = {files.stream: files.rows for files in source.streams}
        self._history = History(checkpoint.root, checkpoint.commits.last())
        self._progress = Progress(sum(self._rows.values()), sys.stderr)
        self._done = threading.Event()
        self._cpu_before: float | None = None
        self._cpu_seconds: float | None = None
        """Of all processes, from this process's first batch to its last commit."""

    def run(self) -> None:
        last = self._checkpoint.commits.last()
        if last is not None and self._is_over(last):
            # Nothing left to read; a process killed right after the last commit may still owe the names.
            topology_output_is_final(self._output, self._checkpoint)
        elif any(self._rows.values()):
            self._work()
        self._write_metrics()

    def _work(self) -> None:
        partitions = self._checkpoint.identity.partitions
        master = self._given.master or f"local[{min(partitions, processors())},4]"
        spark = create_session(
            master, f"millrace replay {self._given.workload.name}", partitions, self._scratch
        )
        settings = Settings(
            output=self._output.absolute(),
            epoch_batches=self._given.epoch_batches,
            most=self._given.most_combinations,
        )
        topology = Topology(spark, self._checkpoint, settings, self, self._given.memory_limit)
        try:
            self._controller.resume(self._checkpoint.commits.last(), self._history.lines)
            topology.start(trigger_ms=0)
            while not self._done.is_set():
                # Ends early only by an exception, which it raises.
                if not self._done.wait(0.2) and topology.failed():
                    topology.wait(60.0)
        finally:
            self._progress.close()
            topology.stop()
            spark.stop()

    @property
    def _scratch(self) -> Path:
        return self._checkpoint.root / "scratch"

    def plan_of(self, planned: PlannedBatch) -> Change:
        """The batch's change once it is decided, grids in the shape for what it brings."""
        if self._cpu_before is None:
            self._cpu_before = cpu_seconds()
        self._controller.prepare(planned.batch)
        return self._controller.shaped(planned, self._checkpoint.change_at(planned.batch))

    def batch_failed(self, trouble: Trouble) -> None:
        """Tell people that a batch fails, and later what of it was set aside."""
        self._progress.close()
        said = f"batch {trouble.batch} failed repeatedly: {trouble.error}"
        if trouble.set_aside:
            count = sum(trouble.set_aside.values())
            tuples = "1 tuple" if count == 1 else f"{count} tuples"
            said = f"{said}; {tuples} set aside, see {self._output / DEAD_LETTER_FOLDER}"
        else:
            said = f"{said}; searching for the tuples that it fails with"
        print(said, file=sys.stderr)

    def batch_committed(self, committed: Committed) -> None:
        """Keep the batch's figures and show how far the replay is."""
        if committed.trouble is not None:
            self.batch_failed(committed.trouble)
        self._history.append(committed.manifest)
        self._controller.committed(committed.manifest, self._history.lines)
        done = sum(p["row"] for p in committed.manifest.position["streams"].values())
        self._progress.show(done, sum(state.results for state in committed.manifest.queries.values()))
        if self._is_over(committed.manifest):
            now = cpu_seconds()
            if now is not None and self._cpu_before is not None:
                self._cpu_seconds = round(now - self._cpu_before, 3)
            self._done.set()

    def _is_over(self, last: Manifest) -> bool:
        """True if nothing is left to read, and nothing waits any more."""
        ended = all(state.ended for state in last.streams.values())
        return ended and settled(last.position) >= self._settles

    def batch_waits(self, outage: Outage) -> NoReturn:
        """End the replay: its files are here, so no server is asked for tuples."""
        raise RuntimeError(f"batch {outage.batch} waits: {outage.reason}")

    def batch_given_up(self, excess: Excess) -> NoReturn:
        """End the replay, before a step that makes too much fills the memory."""
        graph = self._checkpoint.graph(excess.change.plan)
        raise given_up(excess, graph, self._given.workload / "queries")

    def _write_metrics(self) -> None:
        last = self._checkpoint.commits.last()
        graph = self._checkpoint.graph(last.plan if last is not None else self._checkpoint.change_at(0).plan)
        (self._output / "plan.json").write_text(graph.to_json(), encoding="utf-8")
        metrics = report(graph, self._checkpoint, self._history.lines)
        metrics["cpu_seconds"] = self._cpu_seconds
        metrics["epochs"] = report_epochs(
            self._history.lines, self._controller.decisions.all, cache(self._checkpoint.graph)
        )
        metrics["results"] = {
            name: sum(line.figures.results.get(name, 0) for line in self._history.lines)
            for name, _, _ in self._schedule.spans
        }
        metrics["failed_calls"] = {
            name: sum(line.figures.failed_calls.get(name, 0) for line in self._history.lines)
            for name, _, _ in self._schedule.spans
        }
        aside = Counter[str]()
        for line in self._history.lines:
            aside.update(line.figures.set_aside)
        metrics["set_aside"] = dict(sorted(aside.items()))
        metrics["queries"] = self._queries()
        metrics["memory_limit_bytes"] = self._given.memory_limit
        metrics["peak_resident_state_bytes"] = (
            None
            if self._given.memory_limit is None
            else max((line.figures.resident_bytes for line in self._history.lines), default=0)
        )
        target = self._output / "metrics.json"
        unfinished = target.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(metrics, indent=1) + "\n", encoding="utf-8")
        os.replace(unfinished, target)

    def _queries(self) -> dict[str, dict[str, object]]:
        """Which batches each query was answered in, and which of its results are complete."""
        batches = len(self._history.lines)
        return {
            name: {
                "first_batch": first if first < batches else None,
                "last_batch": min(batches, batches if end is None else end) - 1 if first < batches else None,
                "complete": completeness(name, first, end, self._history.lines),
            }
            for name, first, end in self._schedule.spans
        }


def _began_ms(checkpoint: Checkpoint) -> int:
    """When the replay was run for the first time, milliseconds since 1970."""
    before = read_source(checkpoint.root)
    known = before.began_ms if isinstance(before, ReplaySource) else None
    return time.time_ns() // 1_000_000 if known is None else known


def topology_output_is_final(output: Path, checkpoint: Checkpoint) -> None:
    """Give the last commit's files their names, if a killed process did not get to it."""
    from jobs.sinks.parquet import remove_hidden, show

    last = checkpoint.commits.last()
    if last is not None:
        show(output, last.files)
    remove_hidden(output)


def _output(path: Path) -> Path:
    if path.exists() and not path.is_dir():
        raise InputError("bad-output", Place(str(path)), "a file", "a directory for --out")
    taken = [
        name for name in ("results", "metrics.json", "plan.json", "dead_letters") if (path / name).exists()
    ]
    if taken and not (path / "checkpoint" / "checkpoint.json").exists():
        raise InputError(
            "foreign-output",
            Place(str(path)),
            f"{taken[0]} without a checkpoint",
            "an empty directory, or that of a replay to continue; choose another --out or empty this one",
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            "bad-output", Place(str(path)), str(error), "a directory that can be made"
        ) from error
    return path


def _policy(given: argparse.Namespace, planner: PlannerSettings, workload: Workload) -> Policy:
    """How the plan changes on the way.

    Raises `InputError` for a schedule that cannot be used.
    """
    names = [query.name for query in workload.queries]
    inside = Path(given.workload) / "schedule.yaml"
    path = given.schedule or (inside if inside.exists() else None)
    schedule = Schedule.always(names) if path is None else read_schedule(path, names)
    return Policy(
        method=planner.method,
        tasks=given.parallelism,
        epoch_batches=given.epoch_batches,
        adaptive=given.adaptive,
        forced=given.another_plan_every_epoch,
        schedule=schedule,
        evolves=bool(schedule.batches),
        batch_rows=given.batch_rows or DEFAULT_BATCH_ROWS,
        options=planner.options(coefficients=given_coefficients(given), memory_limit=given.memory_limit),
    )


def _subject(
    given: argparse.Namespace, workload: Workload, policy: Policy, graph: PhysicalGraph | None
) -> str:
    """A digest of everything that a continued replay must have alike."""
    digest = hashlib.sha256()
    for stream in sorted(workload.catalog.streams, key=lambda s: s.name):
        digest.update(repr(stream).encode())
    for name, sql in workload.sql:
        digest.update(f"{name}\0{sql}\0".encode())
    if graph is not None:
        digest.update(graph.to_json().encode())
    if graph is None or policy.changes:
        digest.update(f"{given.method} {given.parallelism}".encode())
        if repr(policy.options) != repr(Options()):
            digest.update(repr((policy.options.storage_weight, policy.options.grids)).encode())
            others = replace(policy.options, storage_weight=1.0, grids="cost")
            if repr(others) != repr(Options()):
                digest.update(repr(others).encode())
    if policy.changes:
        digest.update(repr((policy.epoch_batches, policy.adaptive, policy.forced, policy.schedule)).encode())
    return digest.hexdigest()[:16]


def _partitions(policy: Policy, workload: Workload, graph: PhysicalGraph | None) -> int:
    """The most tasks that a store of any plan may have."""
    declared = {stream.name: stream.parallelism for stream in workload.catalog.streams}
    answered = (*workload.queries, *(one.query for one in derived_of(workload.queries)))
    used = {item.stream for query in answered for item in query.inputs}
    # A derived stream's stores have as many as those of one that declares none.
    tasks = [declared.get(name) or policy.tasks for name in used]
    planned = [] if graph is None else [store.tasks for store in graph.stores]
    return max(planned + (tasks if graph is None or policy.changes else []), default=policy.tasks)


def _settling_batches(queries: Iterable[Query]) -> int:
    """How many batches without tuples let everything fall due, tier by tier."""
    return max((1 + 2 * query.tier for query in queries if query.branches or query.derived), default=0)


def _read_plan(path: Path, workload: Workload, queries: Sequence[str]) -> PhysicalGraph:
    try:
        graph = PhysicalGraph.from_json(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError("no-plan", Place(str(path)), error.strerror or str(error), "a plan file") from error
    asked, planned = set(queries), {query.name for query in graph.answered}
    if asked != planned:
        differing = sorted(asked ^ planned)[0]
        raise InputError(
            "foreign-plan",
            Place(str(path), path="queries"),
            f"{'no ' if differing in asked else ''}query {differing}",
            f"a plan of this workload's queries ({', '.join(sorted(asked))})",
        )
    declared = {stream.name: stream for stream in workload.catalog.streams}
    for stream in graph.sources:
        if stream.name not in declared or declared[stream.name].columns != stream.columns:
            raise InputError(
                "foreign-plan",
                Place(str(path), path=f"streams.{stream.name}"),
                "a stream that streams.yaml declares otherwise",
                "a plan of this workload",
            )
    return graph
