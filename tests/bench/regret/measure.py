"""Every method's plan and several weights' on the same data, in turns, in processor time."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import polars as pl

from jobs.calibration.processor_time import TimedTopology
from jobs.sources.files.stream_files import FileRange
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import Plan, plan
from optimizer.search.problem import Options
from optimizer.statistics import statistics_of_workload
from optimizer.workload import load_workload
from tests.bench.regret.workload import Drawn, draw, write, write_data

CORES = "cores"
MESSAGES = "messages"
ALONE = "individual"
SUBJECTS: Mapping[str, tuple[str, Options]] = {
    CORES: ("ilp", Options(cost="cores")),
    MESSAGES: ("ilp", Options(cost="messages")),
    "cores, memory x 10": ("ilp", Options(cost="cores", storage_weight=10.0)),
    "cores, greedy": ("greedy", Options(cost="cores")),
    "messages, storage x 10": ("ilp", Options(cost="messages", storage_weight=10.0)),
    "messages, storage / 1000": ("ilp", Options(cost="messages", storage_weight=0.001)),
    "messages, no results kept": ("ilp", Options(cost="messages", mirs=False)),
    "messages, flat": ("flat", Options(cost="messages")),
    "messages, left-deep": ("left-deep", Options(cost="messages")),
    ALONE: (ALONE, Options(cost="cores")),
}
"""By name: method and options. Plans that are equal are measured once."""


@dataclass(slots=True)
class Measured:
    """A plan and what it took."""

    names: list[str]
    """Of the subjects that found it."""
    plan: Plan
    cores: list[float] = field(default_factory=list)
    """Processor seconds per second of event time, run by run."""
    results: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By query: how many, and the sum of their hashes."""


def plans(workload: Path, drawn: Drawn, time_limit_s: float) -> list[Measured]:
    """The subjects' plans, equal ones as one."""
    loaded = load_workload(workload)
    known = statistics_of_workload(loaded.catalog, loaded.selectivities)
    found: dict[str, Measured] = {}
    for name, (method, options) in SUBJECTS.items():
        limited = replace(options, time_limit_s=time_limit_s)
        made = plan(loaded.queries, loaded.catalog, known, method, limited, batch_s=drawn.batch_s)
        found.setdefault(_does(made.graph), Measured([], made)).names.append(name)
    return list(found.values())


def _does(graph: PhysicalGraph) -> str:
    """What a plan does, without what is said about it."""
    document = json.loads(graph.to_json())
    return json.dumps({key: document[key] for key in ("stores", "edges", "rules")}, sort_keys=True)


def measure(seed: int, repeat: int, scratch: Path, time_limit_s: float = 5.0) -> tuple[Drawn, list[Measured]]:
    """Draw a workload and work on it by every plan, `repeat` times in turns.

    Raises:
        AssertionError: plans differ in their results, or all subjects found the same one.
    """
    drawn = draw(seed)
    workload = scratch / "workload"
    write(drawn, workload)
    batches = write_data(drawn, scratch / "data")
    found = plans(workload, drawn, time_limit_s)
    assert len(found) > 1, f"seed {seed}: there is one plan only, and so nothing to compare"
    for turn in range(repeat):
        for number, one in enumerate(found):
            folder = scratch / f"run-{number}"
            one.cores.append(_run(one.plan.graph, batches, drawn, folder))
            if turn == 0:
                one.results = _results(folder / "results", sorted(drawn.queries))
                assert one.results == found[0].results, (
                    f"seed {seed}: {one.names} and {found[0].names} differ"
                )
            shutil.rmtree(folder)
    return drawn, found


def _run(graph: PhysicalGraph, batches: Sequence[Sequence[FileRange]], drawn: Drawn, folder: Path) -> float:
    folder.mkdir()
    topology = TimedTopology(graph, folder)
    read = {stream.name for stream in graph.streams}
    gc.collect()
    for ranges in batches:
        topology.work([one for one in ranges if one.stream in read])
    steady = topology.seconds[drawn.warm_batches :]
    return sum(steady) / (len(steady) * drawn.batch_s)


def _results(folder: Path, queries: Sequence[str]) -> dict[str, tuple[int, int]]:
    found = {}
    for query in queries:
        frame = pl.read_parquet(folder / query / "*.parquet")
        found[query] = (frame.height, int(frame.hash_rows(seed=1).cast(pl.UInt64).sum() or 0))
    return found


def best(found: Sequence[Measured]) -> Measured:
    """The plan with the least processor time in the median."""
    return min(found, key=lambda one: median(one.cores))


def of(found: Sequence[Measured], name: str) -> Measured:
    """The plan that a subject found."""
    return next(one for one in found if name in one.names)
