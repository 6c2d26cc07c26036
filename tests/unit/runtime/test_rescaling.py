"""Numbers of tasks that change: stored tuples stay where they lie, and every pair still meets once."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import polars as pl
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from jobs.partitioning.layout import rescaled_stores
from jobs.partitioning.rescaling import MOST_OLDER, Older, Rescaling, asked_tasks, taken_over
from jobs.partitioning.router import send
from jobs.plan.index import index_of
from jobs.plan.tuples import ARRIVAL, column_name
from jobs.recovery.manifest import Manifest
from jobs.storage.key_hash import hash_tasks
from jobs.storage.run import RunRef
from optimizer.algebra.expression import Column
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.logical.window import UNBOUNDED, window_of
from optimizer.physical.graph import GraphStore, Grid, PhysicalGraph, Slices, StoredInput
from optimizer.physical.rules import ProbeRule, SourceRule
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from tests.unit.runtime.killed_job import PARTITIONS
from tests.unit.runtime.test_topology_machine import CATALOG as MACHINES_CATALOG
from tests.unit.runtime.test_topology_machine import QUERIES, TopologyMachine, layouts_under

COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.BIGINT), ("j", ColumnType.BIGINT))
CATALOG = Catalog(tuple(Stream(name, COLUMNS, "at", lateness=timedelta(0)) for name in "rst"))
BY_K = Column("r", "k", ColumnType.BIGINT)
BY_J = Column("r", "j", ColumnType.BIGINT)


def store(
    tasks: int, by: Column | Slices | Grid | None = BY_K, retention_us: int | None = 1_000_000
) -> GraphStore:
    return GraphStore(
        f"S-{tasks}", "r", (StoredInput("r", "r", ("at", "k")),), by, tasks, (window_of(retention_us),)
    )


def run(first: int, last: int) -> RunRef:
    """A run with tuples of these arrival numbers."""
    return RunRef("S", 0, f"S/0/{first}.arrow", 1, 1, (0,), (0,), first, last)


# Who is asked


@given(
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True),
    stored=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=30),
    probes=st.lists(st.integers(0, 9), max_size=10),
)
def test_every_pair_meets_exactly_once(
    counts: list[int], stored: list[tuple[int, int]], probes: list[int]
) -> None:
    # Each stored tuple lies as one of the numbers of tasks has it.
    places = [
        (key, int(hash_tasks(pl.Series([key]), counts[number % len(counts)])[0])) for key, number in stored
    ]
    rows, tasks = asked_tasks(pl.Series(probes, dtype=pl.Int64), counts)
    assert rows.tolist() == sorted(rows.tolist())
    asked = list(zip(rows.tolist(), tasks.tolist(), strict=True))
    assert len(set(asked)) == len(asked), "a task is asked once"
    for number, sought in enumerate(probes):
        meetings = Counter(place for place in places if (number, place[1]) in asked and place[0] == sought)
        assert meetings == Counter(place for place in places if place[0] == sought)


def graph(condition: str, tasks: int) -> PhysicalGraph:
    text = (
        "SELECT r.k AS a, s.k AS b, t.k AS c FROM r [RANGE 9 SECONDS], s [RANGE 9 SECONDS], "
        f"t [RANGE 9 SECONDS] WHERE {condition}"
    )
    query = parse_query(text, "q", CATALOG)
    return plan([query], CATALOG, method="flat", options=Options(grids="off"), tasks=tasks).graph


def rows_on(made: PhysicalGraph, edge: str) -> pl.DataFrame:
    """Forty tuples as the rule sends them that an edge comes from."""
    index = index_of(made)
    keys = pl.Series(range(40), dtype=pl.Int64)
    data = {column_name(column): keys for column in index.edges[edge].columns}
    return pl.DataFrame(data).with_columns(keys.alias(ARRIVAL))


def store_of(made: PhysicalGraph, stream: str) -> GraphStore:
    (found,) = (s for s in made.stores if s.inputs[0].stream == stream)
    return found


def targets(made: PhysicalGraph, edge: str, layouts: dict[str, Rescaling], task: int | None) -> list[int]:
    messages = send(index_of(made), [edge], rows_on(made, edge), task, layouts)
    return sorted(task for message in messages for task in [message.partition] * message.body.height)


def test_new_tuples_lie_as_planned_and_probes_ask_under_older_numbers_too() -> None:
    made = graph("r.k = s.k AND s.k = t.k", tasks=2)
    layouts = {store_of(made, "s").id: Rescaling((Older(5, 1),))}
    index = index_of(made)
    (kept,) = (e.id for e in made.edges if e.target in layouts and e.id in index.store_edges)
    (probe,) = (
        e.id for e in made.edges
        if e.target in layouts and index.start_of(e) == "r" and isinstance(index.receivers[e.id], ProbeRule)
    )  # fmt: skip
    keys = pl.Series(range(40), dtype=pl.Int64)
    two, five = hash_tasks(keys, 2).tolist(), hash_tasks(keys, 5).tolist()
    assert targets(made, kept, layouts, None) == sorted(two)
    assert targets(made, probe, layouts, None) == sorted(
        t for pair in zip(two, five, strict=True) for t in {*pair}
    )
    assert targets(made, probe, {}, None) == sorted(two)


def test_what_all_tasks_get_goes_to_as_many_as_there_ever_were() -> None:
    made = graph("r.k = s.k AND s.k < t.k", tasks=2)
    probed = store_of(made, "s")
    (edge,) = (e.id for e in made.edges if e.target == probed.id and e.kind == "all")
    asked = targets(made, edge, {probed.id: Rescaling((Older(5, 1), Older(3, 2)))}, None)
    assert Counter(asked) == dict.fromkeys(range(5), 40)


def test_nothing_stays_in_its_task_while_either_store_lies_under_several_numbers() -> None:
    made = graph("r.k = s.k AND s.k = t.k", tasks=2)
    index = index_of(made)
    # From r by way of s to t, or by way of t to s.
    (edge,) = (e for e in made.edges if e.id in index.staying and index.start_of(e) == "r")
    origin = index.rules[edge.origin]
    assert origin.kind == "probe"
    assert set(targets(made, edge.id, {}, 1)) == {1}
    for moving in (origin.store, edge.target):
        found = set(targets(made, edge.id, {moving: Rescaling((Older(5, 1),))}, 1))
        assert found == (set(range(5)) if moving == edge.target else {0, 1})
    elsewhere = {store_of(made, "r").id: Rescaling((Older(5, 1),))}
    assert set(targets(made, edge.id, elsewhere, 1)) == {1}


# Who may take tuples over where they lie


@pytest.mark.parametrize(
    ("held", "older", "wanted", "expected"),
    [
        (store(1), (), store(4), ((1, 31),)),
        (store(4, None), (), store(2, None), ((4, 31),)),
        (store(4), ((1, 15),), store(2), ((1, 15), (4, 31))),
        (store(4), ((1, 15),), store(1), ((4, 31),)),
        (store(4), ((1, 10),), store(2), ((4, 31),)),
        (store(4), ((1, 15), (2, 20)), store(3), None),
        (store(4), ((1, 10), (2, 20)), store(3), ((2, 20), (4, 31))),
        (store(4), (), store(4, BY_J), None),
        (store(1), (), store(4, BY_J), ((1, 31),)),
        (store(1), ((2, 20),), store(4, BY_J), None),
        (store(4), (), store(2, retention_us=None), None),
        (store(4, retention_us=None), (), store(2), ((4, 31),)),
        (store(4, Slices(2)), (), store(2, Slices(2)), None),
        (store(4, Grid(2)), (), store(2, Grid(2)), None),
    ],
)
def test_what_can_stay(
    held: GraphStore,
    older: tuple[tuple[int, int], ...],
    wanted: GraphStore,
    expected: tuple[tuple[int, int], ...] | None,
) -> None:
    assert MOST_OLDER == 2
    found = taken_over(held, Rescaling(tuple(Older(*o) for o in older)), wanted, [run(10, 19), run(20, 30)])
    assert found == (None if expected is None else Rescaling(tuple(Older(*o) for o in expected)))


def test_an_empty_store_has_no_older_number() -> None:
    assert taken_over(store(4), Rescaling((Older(1, 9),)), store(2), []) == Rescaling()


def test_a_number_is_forgotten_with_its_last_tuple() -> None:
    rescaling = Rescaling((Older(4, 20), Older(1, 30)))
    assert rescaling.living([run(19, 50), run(40, 60)]) == rescaling
    assert rescaling.living([run(20, 50), run(40, 60)]) == Rescaling((Older(1, 30),))
    assert rescaling.living([run(30, 50)]) == Rescaling()


# A whole topology


class ResizedMachine(TopologyMachine):
    """Plans of one method, which differ in the queries that come and go and in their numbers of tasks."""

    def plan_of(self, names: frozenset[str], seed: int) -> PhysicalGraph:
        return plan(
            [QUERIES[name] for name in sorted(names)],
            MACHINES_CATALOG,
            method="flat",
            options=Options(grids="off"),
            retain="everything",
            tasks=1 + seed % PARTITIONS,
        ).graph

    def check_plan(self, graph: PhysicalGraph, last: Manifest) -> None:
        super().check_plan(graph, last)
        if self.before is not None and self.before.plan != last.plan:
            old = self.job.checkpoint.graph(self.before.plan)
            before = {(s.inputs, s.partitioning): s.tasks for s in old.stores}
            now = {(s.inputs, s.partitioning): s.tasks for s in graph.stores}
            forgets = all(s.retention != (UNBOUNDED,) for s in graph.stores)
            if forgets and now.keys() <= before.keys() and not any(isinstance(by, Slices) for _, by in now):
                assert last.figures.moved == 0
                if self.before.runs and any(tasks != before[store] for store, tasks in now.items()):
                    event("other numbers of tasks, and every tuple where it was")
        index = index_of(graph)
        for edge in graph.edges:
            rule = index.rules[edge.origin]
            if isinstance(rule, SourceRule) and isinstance(index.receivers[edge.id], ProbeRule):
                # What is sent counts once, however many tasks it asks.
                rows = self.kept[rule.stream]
                sent = rows.height if edge.key is None else rows[edge.key.name].drop_nulls().len()
                assert rule.filter is not None or last.figures.counts.edges[edge.id] == sent
                if sent and edge.target in rescaled_stores(layouts_under(last)):
                    event("a probe under several numbers of tasks")


ResizedMachine.TestCase.settings = settings(
    max_examples=5, stateful_step_count=12, deadline=None, derandomize=True
)
TestResized = ResizedMachine.TestCase
