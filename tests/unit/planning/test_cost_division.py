"""What was measured of a plan is divided among its queries and streams without a rest."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.costs.division import Measured, Use, divided
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, StoreRule, received_on
from optimizer.physical.usage import users_of
from optimizer.planner.plan import plan
from optimizer.statistics import statistics_of_workload
from optimizer.workload import load_workload, parse_queries

DEMO = Path(__file__).resolve().parents[3] / "backend" / "demo"


def _graph(*names: str) -> PhysicalGraph:
    workload = load_workload(DEMO)
    queries = [query for query in workload.queries if not names or query.name in names]
    statistics = statistics_of_workload(workload.catalog, workload.selectivities)
    return plan(queries, workload.catalog, statistics, "greedy").graph


GRAPH = _graph()
NAMES = frozenset(query.name for query in GRAPH.queries)


def _parts(graph: PhysicalGraph) -> list[str]:
    """What is measured of a plan: its stores, and the rules that receive tuples and store none."""
    receiving = [rule.id for rule in graph.rules if received_on(rule) and not isinstance(rule, StoreRule)]
    return [store.id for store in graph.stores] + receiving


PARTS = _parts(GRAPH)
STORES = [store.id for store in GRAPH.stores]


@settings(max_examples=60, deadline=None)
@given(
    cores=st.dictionaries(st.sampled_from(PARTS), st.floats(0, 4)),
    rest=st.floats(0, 4),
    held=st.dictionaries(st.sampled_from(STORES), st.integers(0, 1 << 40)),
)
def test_the_parts_add_up_to_the_whole(cores: dict[str, float], rest: float, held: dict[str, int]) -> None:
    found = divided(GRAPH, Measured(cores, sum(cores.values()) + rest, held), NAMES)

    for division in (found.queries, found.streams):
        whole = sum(division.values(), Use())
        assert whole.cores == pytest.approx(found.total.cores, abs=1e-9)
        assert whole.bytes == pytest.approx(found.total.bytes, rel=1e-9)
        assert all(use.cores >= 0 and use.bytes >= 0 for use in division.values())
    assert set(found.queries) == NAMES
    assert set(found.streams) == {"arrivals", "departures", "weather"}


def test_it_is_the_shapley_value() -> None:
    """The mean of what a query adds, over every order in which the queries could have come."""
    names = ("late_in_late_out", "late_with_gusts", "made_up_in_wind", "diverging_wind")
    graph = _graph(*names)
    users = users_of(graph)
    parts = _parts(graph)
    cores = {part: 0.1 + 0.01 * place for place, part in enumerate(parts)}
    needed = {part: users.of(part) for part in parts}
    rest = 0.5

    def costs(present: frozenset[str]) -> float:
        """Of the same plan without what only absent queries need."""
        return sum(cores[part] for part in parts if needed[part] & present) + (rest if present else 0.0)

    added = dict.fromkeys(names, 0.0)
    orders = list(permutations(names))
    for order in orders:
        for place, name in enumerate(order):
            added[name] += costs(frozenset(order[: place + 1])) - costs(frozenset(order[:place]))
    found = divided(graph, Measured(cores, sum(cores.values()) + rest, {}), names)

    assert any(len(sharing) > 1 for sharing in needed.values()), "something is shared"
    for name in names:
        assert found.queries[name].cores == pytest.approx(added[name] / len(orders))


def test_nobody_pays_for_what_others_alone_need() -> None:
    users = users_of(GRAPH)
    part = next(one for one in PARTS if len(users.of(one)) == 1)
    (owner,) = users.of(part)
    found = divided(GRAPH, Measured({part: 1.0}, 1.0, {}), NAMES)

    assert found.queries[owner].cores == 1.0
    assert sum(use.cores for use in found.queries.values()) == 1.0


def test_a_step_is_its_arriving_tuples_streams() -> None:
    probe = next(rule for rule in GRAPH.rules if isinstance(rule, ProbeRule) and not rule.bound[1:])
    stream = probe.start.split("#")[0].removeprefix("σ ")
    found = divided(GRAPH, Measured({probe.id: 2.0}, 2.0, {}), NAMES)

    paying = {name for name, use in found.streams.items() if use.cores > 0}
    assert len(paying) == 1
    assert stream.startswith(next(iter(paying))), (probe.start, paying)


def test_what_the_plan_has_not_belongs_to_all() -> None:
    found = divided(GRAPH, Measured({"P-of-another-plan": 1.0}, 1.0, {"gone": 90}), NAMES)

    assert {round(use.cores * len(NAMES), 9) for use in found.queries.values()} == {1.0}
    assert {round(use.bytes * 3) for use in found.streams.values()} == {90}


def test_queries_pay_for_the_results_that_only_they_read() -> None:
    """A subquery that two queries have is a query of the plan that nobody knows by name."""
    columns = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT))
    catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=5.0) for name in "ab")
    counted = "SELECT TUMBLE(at, INTERVAL 10 SECONDS) AS begins, k, COUNT(*) AS n FROM a GROUP BY 1, 2"
    texts = {
        "one": f"SELECT b.k, s.n FROM b [RANGE 20 SECONDS] JOIN ({counted}) [RANGE 10 SECONDS] AS s "
        "ON b.k = s.k",
        "two": f"WITH r AS ({counted}) SELECT TUMBLE(r.begins, INTERVAL 1 MINUTE) AS t, SUM(r.n) AS n "
        "FROM r GROUP BY 1",
    }
    graph = plan(list(parse_queries(texts, catalog).values()), catalog).graph
    (inner,) = (stream.name for stream in graph.derived)
    users = users_of(graph)
    of_inner = [part for part in _parts(graph) if users.of(part) == {inner}]
    found = divided(graph, Measured(dict.fromkeys(of_inner, 1.0), float(len(of_inner)), {}), texts.keys())

    assert of_inner, "something is for the subquery alone"
    assert {name: use.cores for name, use in found.queries.items()} == {
        "one": pytest.approx(len(of_inner) / 2),
        "two": pytest.approx(len(of_inner) / 2),
    }
    assert set(found.streams) == {"a", "b"}
    assert found.streams["a"].cores == pytest.approx(len(of_inner)), "it counts tuples of a"
