"""A small workload answered by the runtime's state logic in this process."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import polars as pl

from jobs.aggregation.changes import current_table
from jobs.join import probe
from jobs.storage import run_index as blocks
from jobs.storage.partition import CompactionPolicy
from optimizer.formulate.model import Retain
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.partitioning.slicing import slice_all
from optimizer.physical.graph import PhysicalGraph, Slices
from optimizer.planner.plan import plan
from optimizer.search.problem import GridUse, Options
from optimizer.sql import parse_query
from tests.oracle.small.filed import FileForm, files_of
from tests.oracle.small.versions import NAME
from tests.oracle.small.workload import Arrival, SmallQuery, SmallWorkload, table_of
from tests.unit.runtime.in_process import Topology

METHODS = ("greedy", "flat", "individual", "tree", "left-deep", "ilp")


@dataclass(frozen=True, slots=True)
class Setup:
    """One way of answering a workload."""

    method: str
    tasks: int
    batches: tuple[int, ...]
    """Where batches end, as numbers of tuples; the last is the number of all."""
    share_bytes: int | None
    """What each task may have of the stores in memory."""
    grids: GridUse
    slices: int
    """Of event time per task of bounded stores; 0 for none."""
    few: bool
    """Whether the limits from which on probes join in other ways are lowered to some tuples."""
    uncommitted: int | None = None
    """A batch that is worked on twice, as if the process had died before its commit."""
    files: FileForm | None = None
    """As what tuples are written and read first; None for tuples in memory."""
    near: bool = False
    """Whether tasks hand messages over, as in one worker of Spark, and do not write them."""

    @property
    def plan(self) -> tuple[object, ...]:
        """What the plan depends on."""
        return (self.method, self.tasks, self.grids, self.slices)

    def planned_as(self, other: Setup) -> Setup:
        """The same with the plan of another one."""
        return replace(self, method=other.method, tasks=other.tasks, grids=other.grids, slices=other.slices)

    def describe(self) -> str:
        return f"-- {self}"


def draw_setups(chance: random.Random, tuples: int) -> tuple[Setup, Setup]:
    """Two ways; mostly with one plan, since planning takes as long as answering both."""
    one, other = draw_setup(chance, tuples), draw_setup(chance, tuples)
    if chance.random() < 0.7:
        other = other.planned_as(one)
    return replace(one, near=chance.random() < 0.5), replace(other, near=chance.random() < 0.5)


def draw_setup(chance: random.Random, tuples: int) -> Setup:
    if chance.random() < 0.12 and 0 < tuples <= 20:
        batches = tuple(range(1, tuples + 1))
    else:
        inner = (
            {chance.randint(1, tuples) for _ in range(chance.choice((0, 0, 1, 2, 3)))} if tuples else set()
        )
        batches = tuple(sorted(inner | {tuples}))
    return Setup(
        method=chance.choices(METHODS, (6, 6, 4, 4, 4, 1))[0],
        tasks=chance.choice((1, 1, 1, 2, 3, 4)),
        batches=batches,
        share_bytes=chance.choice((None, None, None, 600, 40_000)),
        grids="always" if chance.random() < 0.12 else "cost",
        slices=chance.choice((0, 0, 0, 0, 1, 2, 5)),
        few=chance.random() < 0.5,
        uncommitted=chance.randrange(len(batches)) if chance.random() < 0.05 else None,
        files=chance.choices((None, "parquet", "csv"), (8, 1, 1))[0],
    )


@dataclass(frozen=True, slots=True)
class Answered:
    """What a run gave."""

    accepted: Mapping[str, Sequence[Arrival]]
    """By stream: the tuples that had an event time and were not late."""
    dead: int
    """How many tuples the run itself put among its dead letters."""
    answers: Mapping[str, pl.DataFrame]
    commits: Sequence[tuple[Mapping[str, Sequence[Arrival]], Mapping[str, pl.DataFrame]]] = ()
    """What was accepted by each commit but the last, and tables of running groups that wait for nothing."""


@lru_cache(maxsize=2)
def parsed(queries: Sequence[SmallQuery], catalog: Catalog) -> Sequence[Query]:
    """The queries as Millrace reads them, read once for all setups."""
    return [parse_query(query.text(), query.name, catalog) for query in queries]


def planned(workload: SmallWorkload, setup: Setup, retain: Retain = "needed") -> PhysicalGraph:
    """The plan of a workload's queries."""
    catalog = workload.catalog
    queries = parsed(workload.queries, catalog)
    options = Options(grids=setup.grids)
    made = plan(queries, catalog, method=setup.method, options=options, retain=retain, tasks=setup.tasks)
    return slice_all(made.graph, Slices(setup.slices)) if setup.slices else made.graph


def answer(
    workload: SmallWorkload,
    graph: PhysicalGraph,
    setup: Setup,
    folder: Path,
    others: Sequence[PhysicalGraph] = (),
) -> Answered:
    """Feed the workload's tuples to a plan of its queries, or to `others` in turn from the second batch on.

    Which tuples are accepted is worked out here from the meaning of lateness alone: a tuple is late iff it is
    strictly older than the newest of its stream's earlier batches less the allowed lateness; a version is,
    iff it is older than that of all streams.
    """
    reader = None
    if setup.files is not None:
        reader = files_of(graph, workload.arrivals, setup.files, folder / "files")
    used = [stream.name for stream in graph.sources]
    policy = CompactionPolicy(fan=2, smallest_rows=8, spans_per_retention=4)
    topology = Topology(graph, folder, policy, setup.share_bytes, in_memory=reader is None, near=setup.near)
    accepted: dict[str, list[Arrival]] = {name: [] for name in workload.streams}
    newest: dict[str, int] = {}
    begins = dict.fromkeys(used, 0)
    # A key that is an event time is a bucket, whose groups wait for its end.
    running = {hold.query for hold in graph.holds if hold.is_running}
    at_once = [q.name for q in workload.queries if q.name in running and waits_for_nothing(q)]
    commits: list[tuple[Mapping[str, Sequence[Arrival]], Mapping[str, pl.DataFrame]]] = []
    begin = late = 0
    with limits(setup.few):
        for number, end in enumerate(setup.batches):
            batch = workload.arrivals[begin:end]
            begin = end
            rows = {name: [a for a in batch if a.stream == name] for name in used}
            # The slowest of the streams; tables have no say.
            others_newest = [newest.get(name) for name in used if name != NAME]
            slowest = None if None in others_newest else min(others_newest, default=None)
            for name in used:
                before = slowest if name == NAME else newest.get(name)
                for arrival in rows[name]:
                    if _in_time(arrival, before, workload.lateness_us):
                        accepted[name].append(arrival)
                    else:
                        late += 1
                times = [a.time_us for a in rows[name] if a.time_us is not None]
                newest[name] = max([*times, *([newest[name]] if name in newest else [])], default=_NEVER)
                if newest[name] == _NEVER:
                    del newest[name]
            tables = {name: table_of(own) for name, own in rows.items()}
            if reader is not None:
                ends = {name: begins[name] + len(own) for name, own in rows.items()}
                tables = {name: reader(name, begins[name], ends[name]) for name in used}
                begins = ends
            if others and number:
                topology.change(others[number % len(others)])
            if number == setup.uncommitted:
                topology.die_in(tables)
            topology.feed(tables, ended=used if end == setup.batches[-1] else ())
            if at_once and end != setup.batches[-1]:
                kept = {name: tuple(rows) for name, rows in accepted.items()}
                commits.append((kept, {name: table(topology, name) for name in at_once}))
        queries = parsed(workload.queries, workload.catalog)
        # What waits falls due at the end, tier by tier.
        for _ in range(max((1 + 2 * q.tier for q in queries if q.branches or q.derived), default=0)):
            topology.feed({})
    # The letter of an expression that raised is of a tuple that was accepted.
    dead = sum(letters["expression"].null_count for letters in topology.dead)
    assert dead == late, f"{dead} dead letters of {late} tuples that are late or have no event time"
    answers = {query.name: table(topology, query.name) for query in workload.queries}
    return Answered(accepted, dead, answers, commits)


def waits_for_nothing(query: SmallQuery) -> bool:
    """True of running groups of what is found at once: their table is DuckDB's at every commit."""
    inner = all(one.joined in ("", "INNER") for one in query.inputs)
    return inner and query.grouped is not None and query.grouped.running and query.also is None


def table(topology: Topology, query: str) -> pl.DataFrame:
    """The answer: of running groups the current table, of which every change must be one."""
    found = topology.answers(query)
    key = next(one.key for one in topology.graph.queries if one.name == query)
    if key is None or found.is_empty():
        return found
    return current_table(found, key)


_NEVER = -(2**80)


def _in_time(arrival: Arrival, newest_us: int | None, lateness_us: int | None) -> bool:
    if arrival.time_us is None:
        return False
    return newest_us is None or lateness_us is None or arrival.time_us >= newest_us - lateness_us


@contextmanager
def limits(few: bool) -> Iterator[None]:
    """Have probes take, for some tuples, the ways that they otherwise take for many."""
    changed = [(blocks, "BLOCK_ROWS", 3)]
    if few:
        changed += [
            (probe, "_FEW_PAIRS", 2),
            (probe, "_PAIRS", 7),
            (probe, "_SORTING", 0),
            (probe, "_FEW_STORED", 0),
            (probe, "_SCREENED", 0),
        ]
    before = [(module, name, getattr(module, name)) for module, name, _ in changed]
    try:
        for module, name, value in changed:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
