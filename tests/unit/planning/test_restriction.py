"""What may be told of a plan to those who know some of its queries."""

from __future__ import annotations

import random

import pytest

from optimizer.logical.query import Query
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.restriction import restricted_to
from optimizer.physical.rules import Emit, StoreRule
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics
from tests.unit.planning.workloads import CATALOG

SECRET = 87654300
"""With a query's number a literal that only this query has, and that no estimate looks like."""
SHAPES = (
    "SELECT p.s FROM p [RANGE {w} SECONDS], q [RANGE {w} SECONDS] WHERE p.i = q.i AND q.j = {secret}",
    "SELECT p.s FROM p [RANGE {w} SECONDS], q [RANGE {w} SECONDS] WHERE p.i = q.i AND p.x + q.x < {secret}",
    "SELECT p.s FROM p [RANGE {w} SECONDS], q [RANGE {w} SECONDS], r [RANGE {w} SECONDS] "
    "WHERE p.i = q.i AND q.j = r.j AND r.i <> {secret}",
    "SELECT p.i, q.s FROM p [RANGE {w} SECONDS] LEFT JOIN q [RANGE {w} SECONDS] "
    "ON p.i = q.i AND q.j > {secret}",
    "SELECT p.s, count(*) AS n FROM p [RANGE {w} SECONDS], q [RANGE {w} SECONDS] "
    "WHERE p.i = q.i AND p.j < {secret} GROUP BY p.s, TUMBLE(p.at, INTERVAL 1 MINUTE)",
    "SELECT p.s FROM p WHERE p.i > {secret}",
)


def queries(chance: random.Random) -> list[Query]:
    shapes = chance.choices(SHAPES, k=chance.randint(2, 5))
    return [
        parse_query(shape.format(w=chance.choice((2, 9)), secret=SECRET + n), f"hush{n}", CATALOG)
        for n, shape in enumerate(shapes)
    ]


def leaves(graph: PhysicalGraph) -> set[tuple[str, Emit]]:
    return {(rule.id, emit) for rule in graph.rules if not isinstance(rule, StoreRule) for emit in rule.emits}


@pytest.mark.parametrize("method", ["ilp", "greedy"])
@pytest.mark.parametrize("seed", range(12))
def test_nothing_of_other_queries_is_told(seed: int, method: str) -> None:
    chance = random.Random(seed)
    asked = queries(chance)
    statistics = FixedStatistics(dict.fromkeys("pqrt", 100.0))
    whole = plan(asked, CATALOG, statistics, method, Options(time_limit_s=5.0), tasks=2).graph
    names = {query.name for query in whole.queries}
    assert restricted_to(whole, names) is whole
    for query in asked:
        known = {query.name}
        part = restricted_to(whole, known)
        text = part.to_json()
        hidden = [n for n, other in enumerate(asked) if other.name not in known]
        assert not [n for n in hidden if str(SECRET + n) in text or f"hush{n}" in text]
        assert PhysicalGraph.from_json(text) == part
        held = {hold.name: hold.query for hold in whole.holds}
        own = {(rule, emit) for rule, emit in leaves(whole) if held.get(emit.query, emit.query) in known}
        assert leaves(part) == own, "all that answers the query is there"
        assert {store.id for store in part.stores} <= {store.id for store in whole.stores}
    assert restricted_to(whole, set()).queries == ()
    assert not restricted_to(whole, set()).stores
