"""Processor time beside its estimate: where they are apart the page says why."""

from __future__ import annotations

import pytest

from jobs.control_plane.core_use import Spent, cores_used
from jobs.protocol import CoreUse, Expect
from jobs.recovery.epochs import EpochCounts
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, StoreRule
from tests.unit.matrix.test_layout import planned

WALL_S = 20.0
EVENT_S = 10.0


@pytest.fixture
def graph() -> PhysicalGraph:
    return planned("r.a = s.a", rates={"r": 10.0, "s": 10.0}).graph


def told(graph: PhysicalGraph, measured_s: float, *, tuples: float = 1.0, batches: float = 1.0) -> CoreUse:
    """Of a step that was expected to take 0.1 s of processor time for each second of event time.

    Arguments: what it took; how many times the expected tuples and batches there were.
    """
    step = next(rule for rule in graph.rules if isinstance(rule, ProbeRule))
    expected = Expect(
        plan_id="p", rates={}, stores={}, cores={step.id: 0.1}, total_cores=0.4, batch_s=EVENT_S / 10
    )
    counts = EpochCounts(
        EVENT_S,
        {},
        {step.edge: round(1000 * tuples)},
        {step.id: round(1000 * tuples)},
        {},
        round(10 * batches),
        cpu_us=round(measured_s * 1e6),
        element_cpu_us={step.id: round(measured_s * 1e6)},
    )
    estimates = {step.edge: 100.0, step.id: 100.0}
    return cores_used(graph, Spent(counts, WALL_S), expected, estimates).elements[step.id]


def test_both_are_per_second_of_the_clock(graph: PhysicalGraph) -> None:
    assert told(graph, 1.2) == CoreUse(estimated=0.05, measured=0.06)


@pytest.mark.parametrize(
    ("measured_s", "tuples", "batches", "reason"),
    [
        (1.49, 9.0, 1.0, ""),
        (3.0, 3.0, 1.0, "3.0 times as many tuples as estimated"),
        (0.4, 0.4, 1.0, "0.4 times as many tuples as estimated"),
        (2.0, 1.0, 2.0, "batches span 0.5 times the event time that was assumed"),
        (2.0, 1.0, 1.0, "tuples as estimated, 2.0 times the processor time for them"),
        # More tuples do not explain that less time went into them.
        (0.5, 3.0, 1.0, "tuples as estimated, 0.5 times the processor time for them"),
    ],
)
def test_the_reason(
    graph: PhysicalGraph, measured_s: float, tuples: float, batches: float, reason: str
) -> None:
    assert told(graph, measured_s, tuples=tuples, batches=batches).reason == reason


def test_nothing_is_expected_of_another_plan(graph: PhysicalGraph) -> None:
    counts = EpochCounts(EVENT_S, {}, {}, {}, {}, 10, cpu_us=4_000_000)
    used = cores_used(graph, Spent(counts, WALL_S, driver_us=1_000_000, processes_s=30.0), None, {})
    assert used.total == CoreUse(estimated=None, measured=0.25)
    assert used.processes == 1.5
    stores = {rule.store for rule in graph.rules if isinstance(rule, StoreRule)}
    assert all(used.elements[store] == CoreUse(estimated=None, measured=0.0) for store in stores)


def test_the_whole_says_what_is_off(graph: PhysicalGraph) -> None:
    step = next(rule for rule in graph.rules if isinstance(rule, ProbeRule))
    expected = Expect(plan_id="p", rates={}, stores={}, cores={step.id: 0.1}, total_cores=0.2)
    # A second each was expected of the step and of all else.
    for step_us, all_us, part in (
        (3_000_000, 4_000_000, "steps and stores take 3.0 times what was estimated"),
        (
            1_000_000,
            5_000_000,
            "reading, messages, results and the driver take 4.0 times what was estimated",
        ),
    ):
        counts = EpochCounts(EVENT_S, {}, {}, {}, {}, 10, all_us, {step.id: step_us})
        total = cores_used(graph, Spent(counts, WALL_S), expected, {}).total
        assert total is not None
        assert total.reason == part
