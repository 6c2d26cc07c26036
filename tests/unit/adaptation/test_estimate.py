"""A graph estimated from itself agrees with what the optimizer expected when it made it."""

from __future__ import annotations

import pytest

from optimizer.adaptation import learn, variation
from optimizer.adaptation.weighing import same_plan
from optimizer.estimate import estimate
from optimizer.methods import METHODS
from optimizer.physical.validate import validate
from optimizer.planner.plan import plan
from optimizer.statistics import DefaultStatistics, FixedStatistics, LayeredStatistics
from tests.unit.planning import clash

KNOWN = LayeredStatistics(
    (clash.STATISTICS, FixedStatistics(dict.fromkeys("rstu", 100.0)), DefaultStatistics())
)


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("tasks", [1, 4])
def test_estimates_equal_those_of_planning(method: str, tasks: int) -> None:
    made = plan(clash.queries(), clash.CATALOG, KNOWN, method, retain="everything", tasks=tasks)
    estimated = estimate(made.graph, KNOWN)
    for expected in made.graph.estimates:
        if expected.tuples is not None:
            assert estimated.stores[expected.id] == pytest.approx(expected.tuples)
        if expected.tuples_per_second is not None:
            found = estimated.edges.get(expected.id, estimated.rules.get(expected.id))
            assert found == pytest.approx(expected.tuples_per_second)
    assert estimated.probe == pytest.approx(made.cost.probe)
    if method != "individual":
        assert estimated.cost() == pytest.approx(made.cost.total)


def test_a_step_costs_what_the_dissertation_computes() -> None:
    """Section 7.1's numbers: 100 tuples/s, windows of 1 s; <R, S, T> sends 100 and then 50 tuples/s."""
    made = plan(clash.queries()[:1], clash.CATALOG, KNOWN, "flat", tasks=1)
    estimated = estimate(made.graph, KNOWN)
    starts = {rule.start: rule for rule in made.graph.rules if rule.kind == "probe" and len(rule.bound) == 2}
    assert estimated.edges[starts["r"].edge] == pytest.approx(100 * 100 * 0.005)


@pytest.mark.parametrize("seed", range(8))
def test_variations_are_valid_and_differ(seed: int) -> None:
    queries = clash.queries()
    running = plan(queries, clash.CATALOG, KNOWN, retain="everything", tasks=2).graph
    made = variation(queries, clash.CATALOG, running, seed, tasks=3)
    assert made is not None
    assert not same_plan(made, running)
    validate(made)
    again = variation(queries, clash.CATALOG, running, seed, tasks=3)
    assert again is not None
    assert again.to_json() == made.to_json()


def test_one_stream_has_no_other_plan() -> None:
    from optimizer.sql import parse_query

    query = parse_query("SELECT r.b FROM r WHERE r.b > 1", "q", clash.CATALOG)
    running = plan([query], clash.CATALOG, KNOWN, retain="everything").graph
    assert variation([query], clash.CATALOG, running, 0, tasks=3) is None


def test_a_filter_of_alternatives_is_estimated_by_its_parts() -> None:
    from optimizer.sql import parse_query

    text = (
        "SELECT r.b FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] "
        "WHERE r.b = s.b AND (r.b = 1 OR r.b = 2) AND s.c > 0"
    )
    query = parse_query(text, "q", clash.CATALOG)
    known = learn([query], KNOWN)
    made = plan([query], clash.CATALOG, known, "flat").graph
    estimated = estimate(made, known)
    for expected in made.estimates:
        if expected.tuples_per_second is not None:
            found = estimated.edges.get(expected.id, estimated.rules.get(expected.id))
            assert found == pytest.approx(expected.tuples_per_second)
