"""How many tasks a load asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.adaptation import loads, resize, tasks_by_stream, with_tasks
from optimizer.adaptation.parallelism import FULL_TASK_TUPLES
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from tests.unit.planning import clash

MOST = 8


def running(tasks: int) -> PhysicalGraph:
    catalog = with_tasks(clash.CATALOG, dict.fromkeys("rst", tasks))
    return plan([clash.queries()[0]], catalog, clash.STATISTICS, "flat", retain="everything").graph


def counted(graph: PhysicalGraph, load: int, batches: int = 1) -> dict[str, int]:
    """Edges' counts under which every base store of r gets `load` tuples per batch, the others none."""
    (store, *_) = (s for s in graph.stores if s.is_base and s.inputs[0].stream == "r")
    (edge, *_) = (e.id for e in graph.edges if e.target == store.id)
    return {edge: load * batches}


def after(graph: PhysicalGraph, load: int, fixed: tuple[str, ...] = ("s", "t"), most: int = MOST) -> int:
    changes = resize(tasks_by_stream(graph), loads(graph, counted(graph, load), 1), fixed, most)
    assert {c.stream for c in changes} <= {"r"}
    return changes[0].after if changes else tasks_by_stream(graph)["r"]


@pytest.mark.parametrize(
    ("tasks", "load", "expected"),
    [
        (2, 2 * FULL_TASK_TUPLES, 2),
        (2, 2 * FULL_TASK_TUPLES + 1, 3),
        (2, FULL_TASK_TUPLES // 2 + 1, 2),
        (2, FULL_TASK_TUPLES // 2, 1),
        (1, 100 * FULL_TASK_TUPLES, MOST),
        (4, 0, 1),
    ],
)
def test_no_task_is_more_than_full_and_not_all_are_half_empty(tasks: int, load: int, expected: int) -> None:
    assert after(running(tasks), load) == expected


@given(st.integers(1, MOST), st.integers(0, 12 * FULL_TASK_TUPLES), st.floats(1.01, 1.9))
def test_a_load_that_fluctuates_changes_the_tasks_once(tasks: int, load: int, factor: float) -> None:
    """Having followed a load, the number stays although the load falls by less than a half again."""
    settled = running(after(running(tasks), load))
    if tasks_by_stream(settled)["r"] < MOST:
        assert after(settled, load) == tasks_by_stream(settled)["r"]
    if (
        load / factor > FULL_TASK_TUPLES
        and load <= MOST * FULL_TASK_TUPLES
        and tasks <= load / FULL_TASK_TUPLES
    ):
        assert after(settled, round(load / factor)) == tasks_by_stream(settled)["r"]


def test_a_declared_number_stays() -> None:
    assert after(running(2), 5 * FULL_TASK_TUPLES, fixed=("r", "s", "t")) == 2
    declared = with_tasks(clash.CATALOG, {"r": 3})
    assert {s.name: s.parallelism for s in with_tasks(declared, dict.fromkeys("rstu", 5))} == {
        "r": 3, "s": 5, "t": 5, "u": 5,
    }  # fmt: skip


def test_a_load_is_per_batch_and_of_the_busiest_store() -> None:
    graph = running(2)
    found = loads(graph, counted(graph, 300, batches=4), 4)
    assert (found["r"], found["s"], found["t"]) == (300.0, 0.0, 0.0)
    everything = loads(graph, {edge.id: 10 for edge in graph.edges}, 2)
    received = {s.id: sum(e.target == s.id for e in graph.edges) * 10 / 2 for s in graph.stores}
    for stream in "rst":
        assert everything[stream] == max(
            received[s.id] for s in graph.stores if s.is_base and s.inputs[0].stream == stream
        )


def test_why_in_words() -> None:
    graph = running(2)
    (change,) = resize(tasks_by_stream(graph), {"r": 70_000.0, "left": 1.0}, ("s", "t"), MOST)
    assert str(change) == "stores of r get 70,000 tuples per batch: 4 instead of 2 tasks"
