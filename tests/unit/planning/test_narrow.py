"""A query that leaves a shared prefix takes its own filter and window along, not only at its end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest

from optimizer.algebra.render import to_sql
from optimizer.physical.elements import InvalidGraph
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, SourceRule
from optimizer.physical.validate import validate
from optimizer.planner.plan import Plan, plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics
from tests.reference.interpret import interpret
from tests.unit.planning.workloads import CATALOG, STREAMS, Case, table

FORK = (
    "SELECT a.i FROM p [RANGE 5 SECONDS] AS a, q [RANGE {w} SECONDS] AS b, r [RANGE 5 SECONDS] AS c, "
    "t [RANGE 5 SECONDS] AS d WHERE a.i = b.i AND b.j = c.j AND {last} AND a.x > {x}"
)
TEXTS = (
    FORK.format(w=5, last="c.s = d.s", x=0),
    FORK.format(w=4, last="c.i = d.i", x=1),
)


@pytest.fixture(scope="module")
def forked() -> Plan:
    """Two queries that share their first three streams and join the fourth differently."""
    queries = [parse_query(text, f"q{n}", CATALOG) for n, text in enumerate(TEXTS)]
    known = FixedStatistics(dict.fromkeys(STREAMS, 10.0))
    return plan(queries, CATALOG, known, options=Options(storage_weight=0.0, mirs=False))


def _paths(graph: PhysicalGraph) -> Iterator[list[SourceRule | ProbeRule]]:
    """Every way from a source to a leaf."""
    rules = {rule.id: rule for rule in graph.rules}
    origins = {edge.id: edge.origin for edge in graph.edges}
    for rule in graph.rules:
        if isinstance(rule, ProbeRule) and rule.emits:
            path: list[SourceRule | ProbeRule] = [rule]
            while isinstance(path[0], ProbeRule):
                before = rules[origins[path[0].edge]]
                assert isinstance(before, SourceRule | ProbeRule)
                path.insert(0, before)
            yield path


def _users(graph: PhysicalGraph) -> dict[str, set[str]]:
    users: dict[str, set[str]] = {}
    for path in _paths(graph):
        for rule in path:
            users.setdefault(rule.id, set()).update(emit.query for emit in path[-1].emits)
    return users


def test_the_prefix_is_shared(forked: Plan) -> None:
    users = _users(forked.graph)

    assert any(len(queries) == 2 for name, queries in users.items() if name.startswith("P-"))


def test_the_first_own_step_checks_the_own_filter(forked: Plan) -> None:
    users, narrowed = _users(forked.graph), 0
    for path in _paths(forked.graph):
        query = path[-1].emits[0].query
        own = {"q0": "0 < p.x", "q1": "1 < p.x"}[query]
        wide = next((n for n, rule in enumerate(path) if len(users[rule.id]) == 1), None)
        shared = path[0]
        if wide is None or wide == 0 or not isinstance(shared, SourceRule) or shared.input != "p":
            continue
        first = path[wide]
        assert isinstance(first, ProbeRule)
        assert own in [to_sql(predicate) for predicate in first.predicates]
        narrowed += 1
    assert narrowed == 2


def test_windows_narrow_and_never_widen(forked: Plan) -> None:
    for path in _paths(forked.graph):
        probes = [rule for rule in path if isinstance(rule, ProbeRule)]
        found = [{bound.input: bound.window.reach_us or 0 for bound in rule.windows} for rule in probes]
        for before, behind in pairwise(found):
            assert all(behind[name] <= window for name, window in before.items())
        own = {"q0": 5_000_000, "q1": 4_000_000}[probes[-1].emits[0].query]
        assert found[-1]["q"] == own


def test_leaves_have_nothing_left_to_check(forked: Plan) -> None:
    emits = [emit for path in _paths(forked.graph) for emit in path[-1].emits]

    assert {emit.query for emit in emits} == {"q0", "q1"}
    assert all(emit.residuals == () and emit.windows == () for emit in emits)


def test_the_answers_are_duckdbs(forked: Plan) -> None:
    random = Random(5)
    case = Case(forked.queries, tuple({name: table(random, 25) for name in STREAMS} for _ in range(3)))

    results = interpret(forked.graph, case.batches)

    for query in case.queries:
        assert sorted(map(repr, results[query.name])) == sorted(map(repr, case.expected(query)))
    assert any(results.values())


def test_a_window_that_widens_again_is_no_valid_graph(forked: Plan) -> None:
    text = forked.graph.to_json()
    narrow = text.replace("4000000", "4000001", 1)

    with pytest.raises(InvalidGraph):
        validate(PhysicalGraph.from_json(narrow))
