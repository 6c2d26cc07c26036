"""Planning again: what did not change stays to the byte, what changed moves only for a gain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from optimizer.algebra.errors import InputError
from optimizer.formulate.problem import Subsumption
from optimizer.logical.query import Query
from optimizer.methods import METHODS
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule
from optimizer.planner.components import connected
from optimizer.planner.context import PlanningContext
from optimizer.planner.plan import Plan, plan
from optimizer.planner.plan_in_use import Running
from optimizer.planner.subsumption import Trials
from optimizer.search.incumbent import mostly_changed
from optimizer.search.problem import Options
from optimizer.sql import parse_predicate, parse_query
from optimizer.statistics import FixedStatistics
from tests.unit.planning.workloads import CATALOG

CHAIN = (
    "SELECT a.i FROM p [RANGE 5 SECONDS] AS a, q [RANGE 5 SECONDS] AS b, p [RANGE 5 SECONDS] AS c "
    "WHERE a.i = b.i AND b.j = c.j"
)
PAIR = "SELECT a.i FROM r [RANGE 2 SECONDS] AS a, t [RANGE 2 SECONDS] AS b WHERE a.s = b.s"
MORE = "SELECT a.j FROM r [RANGE 9 SECONDS] AS a, t [RANGE 9 SECONDS] AS b WHERE a.s = b.s AND a.i > b.i"
LONE = "SELECT a.j FROM r AS a WHERE a.i > 1"
RATES = {"p": 20.0, "q": 5.0, "r": 10.0, "t": 40.0}


def _queries(**texts: str) -> list[Query]:
    return [parse_query(text, name, CATALOG) for name, text in texts.items()]


def _planned(queries: Iterable[Query], running: Plan | None = None, **rates: float) -> Plan:
    known = FixedStatistics({**RATES, **rates})
    before = None if running is None else running.running
    return plan(list(queries), CATALOG, known, options=Options(storage_weight=0.1), tasks=3, running=before)


def _elements(graph: PhysicalGraph, queries: set[str]) -> set[object]:
    """Stores, edges and rules of the streams that some queries read."""
    streams = {i.stream for query in graph.queries if query.name in queries for i in query.inputs}
    stores = {s.id for s in graph.stores if {i.stream for i in s.inputs} <= streams}
    edges = {edge for edge in graph.edges if edge.target in stores}
    names = {edge.id for edge in edges} | {edge.origin for edge in edges}
    rules = {rule for rule in graph.rules if rule.id in names or getattr(rule, "edge", None) in names}
    return {*(s for s in graph.stores if s.id in stores), *edges, *rules}


def test_queries_without_a_common_stream_are_parts_of_their_own() -> None:
    queries = _queries(z=CHAIN, a=PAIR, m=LONE)

    assert [[q.name for q in group] for group in connected(queries)] == [["a", "m"], ["z"]]


def test_a_later_query_joins_two_parts() -> None:
    between = "SELECT a.i FROM q [RANGE 1 SECOND] AS a, t [RANGE 1 SECOND] AS b WHERE a.i = b.i"

    assert len(connected(_queries(a=CHAIN, b=PAIR, c=between))) == 1


@pytest.mark.parametrize("method", METHODS)
def test_nothing_changes_when_nothing_changed(method: str) -> None:
    queries, known = _queries(chain=CHAIN, pair=PAIR, more=MORE), FixedStatistics(RATES)
    first = plan(queries, CATALOG, known, method, tasks=3)

    again = plan(queries[::-1], CATALOG, known, method, tasks=3, running=first.running)

    assert again.graph.to_json() == first.graph.to_json()
    assert all(now is before for now, before in zip(again.components, first.components, strict=True))


def test_a_new_query_leaves_other_parts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    running = _planned(_queries(chain=CHAIN, pair=PAIR))
    solved: list[set[str]] = []
    answer = PlanningContext.answer

    def recorded(self: PlanningContext, queries: list[Query], *rest: object, **named: object) -> object:
        solved.append({query.name for query in queries})
        return answer(self, queries, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(PlanningContext, "answer", recorded)
    grown = _planned(_queries(chain=CHAIN, pair=PAIR, more=MORE), running)

    assert solved
    assert not any("chain" in names for names in solved)
    assert _elements(running.graph, {"chain"}) == _elements(grown.graph, {"chain"})


def test_a_query_that_leaves_takes_only_its_own_along() -> None:
    running = _planned(_queries(chain=CHAIN, pair=PAIR, more=MORE))

    shrunk = _planned(_queries(chain=CHAIN, pair=PAIR), running)

    assert {query.name for query in shrunk.graph.queries} == {"chain", "pair"}
    assert _elements(running.graph, {"chain"}) == _elements(shrunk.graph, {"chain"})


def _shape(graph: PhysicalGraph) -> set[str]:
    return {element.id for element in (*graph.stores, *graph.edges, *graph.rules)}


def test_a_switch_must_earn_its_price() -> None:
    """Selectivities are alike, so the cheaper first step is the one into the slower stream."""
    star = (
        "SELECT a.i FROM p [RANGE 5 SECONDS] AS a, r [RANGE 5 SECONDS] AS b, t [RANGE 5 SECONDS] AS c "
        "WHERE a.i = b.i AND a.j = c.j"
    )
    options = Options(storage_weight=0.0, mirs=False)

    def planned(running: Plan | None, r: float, stay: float) -> Plan:
        known = FixedStatistics({"p": 20.0, "r": r, "t": 10.0})
        chosen = replace(options, stay_discount=stay)
        before = None if running is None else running.running
        return plan(_queries(star=star), CATALOG, known, options=chosen, running=before)

    running = planned(None, 9.99, 0.02)

    assert _shape(planned(None, 10.01, 0.02).graph) != _shape(running.graph)
    assert _shape(planned(running, 10.01, 0.02).graph) == _shape(running.graph)
    assert _shape(planned(running, 100.0, 0.02).graph) != _shape(running.graph)
    assert _shape(planned(planned(None, 9.99, 0.0), 10.01, 0.0).graph) != _shape(running.graph)


def test_groups_of_many_queries_grow_by_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    overlapping = [
        f"SELECT a.i FROM r [RANGE 20 SECONDS] AS a, t [RANGE {n + 1} SECONDS] AS b "
        f"WHERE a.s = b.s AND a.i > {n // 4}"
        for n in range(14)
    ]
    queries = _queries(**{f"q{n:02d}": text for n, text in enumerate(overlapping)})
    tried: list[frozenset[str]] = []
    is_cheaper = Trials.is_cheaper

    def noted(at: Trials, touched: Sequence[Query], *others: Subsumption, separated: bool) -> bool:
        tried.append(frozenset(query.name for query in touched))
        return is_cheaper(at, touched, *others, separated=separated)

    before = _planned(queries[:13])
    monkeypatch.setattr(Trials, "is_cheaper", noted)
    after = _planned(queries, before)

    assert before.components[0].subsumption
    assert {query.name for query in after.components[0].queries} == {query.name for query in queries}
    assert tried
    assert all("q13" in names for names in tried)


@pytest.mark.parametrize(("count", "shared"), [(2, False), (10, True)])
def test_many_queries_share_where_two_of_them_would_not(count: int, shared: bool) -> None:
    """Two filters that pass a half of the tuples each pass three quarters together, ten no more than all."""
    queries = _queries(
        **{
            f"q{n}": "SELECT a.i FROM p [RANGE 20 SECONDS] AS a, q [RANGE 20 SECONDS] AS b, "
            "r [RANGE 20 SECONDS] AS c WHERE a.s = b.s AND b.j = c.j "
            f"AND a.i <> {n} AND b.i <> {n} AND c.i <> {n}"
            for n in range(count)
        }
    )
    known = {f"{stream}.i <> {n}": 0.5 for stream in "pqr" for n in range(count)}
    known |= {"p.s = q.s": 1 / 20, "q.j = r.j": 1 / 20}
    statistics = FixedStatistics(
        dict.fromkeys("pqr", 10.0), {parse_predicate(text, CATALOG, "test"): s for text, s in known.items()}
    )
    made = plan(queries, CATALOG, statistics)
    probes = [rule for rule in made.graph.rules if isinstance(rule, ProbeRule)]

    assert bool(made.components[0].subsumption) is shared
    assert len(probes) == (6 if shared else 6 * count)


def test_costs_of_what_stays_are_todays() -> None:
    queries = _queries(chain=CHAIN)
    running = _planned(queries)

    stayed, fresh = _planned(queries, running, p=20.2), _planned(queries, p=20.2)

    assert stayed.cost.total == pytest.approx(fresh.cost.total, rel=0.02)
    assert stayed.cost.total > running.cost.total


def test_more_than_half_changed_is_planned_afresh() -> None:
    one, two, three = _queries(one=CHAIN, two=PAIR, three=MORE)

    assert not mostly_changed({one, two}, {one})
    assert not mostly_changed({one, two, three}, {one, two})
    assert mostly_changed({one, two, three}, {one})
    assert mostly_changed({one}, set())


def _steps(graph: PhysicalGraph) -> set[tuple[object, ...]]:
    """Who meets whom, wherever the stores lie."""
    probes = (rule for rule in graph.rules if isinstance(rule, ProbeRule))
    return {(rule.start, rule.bound, rule.renames) for rule in probes}


def test_what_runs_is_forgotten_once_more_than_half_of_the_queries_changed() -> None:
    """AJoin, section 4: until then the running order stays although another one is a little cheaper."""
    star = (
        "SELECT a.i FROM p [RANGE 5 SECONDS] AS a, r [RANGE 5 SECONDS] AS b, t [RANGE 5 SECONDS] AS c "
        "WHERE a.i = b.i AND a.j = c.j"
    )
    lone = {f"lone{n}": f"SELECT a.i FROM q AS a WHERE a.i > {n}" for n in range(3)}

    def planned(r: float, running: Plan | None, *others: str) -> Plan:
        queries = _queries(star=star, **{name: lone[name] for name in others})
        known = FixedStatistics({"p": 20.0, "q": 1.0, "r": r, "t": 10.0})
        options = Options(storage_weight=0.0, mirs=False)
        before = None if running is None else running.running
        return plan(queries, CATALOG, known, options=options, running=before)

    running = planned(9.99, None)
    before, cheapest = _steps(running.graph), _steps(planned(10.01, None).graph)

    assert before != cheapest
    assert _steps(planned(10.01, running, "lone0").graph) == before
    assert _steps(planned(10.01, running, "lone0", "lone1").graph) == cheapest


def test_a_new_query_starts_on_steps_that_run_and_leaves_them_when_they_grow_dear() -> None:
    """AJoin's phases: shared at once with what there is, optimized by cost later."""
    both = "p [RANGE 5 SECONDS] AS a, r [RANGE 5 SECONDS] AS b"
    pair = f"SELECT a.i FROM {both} WHERE a.i = b.i"
    triple = f"SELECT a.i FROM {both}, t [RANGE 5 SECONDS] AS c WHERE a.i = b.i AND a.j = c.j"

    def planned(running: Plan | None, r: float, **texts: str) -> Plan:
        known = FixedStatistics({"p": 20.0, "r": r, "t": 8.0})
        options = Options(storage_weight=0.0, mirs=False)
        before = None if running is None else running.running
        return plan(_queries(**texts), CATALOG, known, "greedy", options, running=before)

    def first_met(made: Plan) -> set[str]:
        """The streams that new tuples of p meet first."""
        sources = {rule.id for rule in made.graph.rules if rule.kind == "source"}
        first = {edge.id for edge in made.graph.edges if edge.origin in sources}
        probes = [rule for rule in made.graph.rules if isinstance(rule, ProbeRule)]
        return {p.renames[0][0] for p in probes if p.start.startswith("p") and p.edge in first}

    assert first_met(planned(None, 10.0, triple=triple)) == {"t"}
    running = planned(None, 10.0, pair=pair)
    joined = planned(running, 10.0, pair=pair, triple=triple)
    assert first_met(joined) == {"r"}
    assert _steps(running.graph) <= _steps(joined.graph)
    assert first_met(planned(joined, 200.0, pair=pair, triple=triple)) == {"r", "t"}


def test_another_setting_keeps_nothing() -> None:
    queries, known = _queries(pair=PAIR), FixedStatistics(RATES)
    running = plan(queries, CATALOG, known, tasks=1)

    wider = plan(queries, CATALOG, known, tasks=4, running=running.running)

    assert {store.tasks for store in wider.graph.stores} == {4}


def test_the_cost_alone_is_computed_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _planned(_queries(pair=PAIR, more=MORE))
    solved: list[str] = []
    answer = PlanningContext.answer

    def recorded(self: PlanningContext, queries: list[Query], *rest: object, **named: object) -> object:
        solved.extend(query.name for query in queries)
        return answer(self, queries, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(PlanningContext, "answer", recorded)
    first, second = made.individual_cost, made.individual_cost

    assert solved == ["more", "pair"]
    assert first == second >= made.cost.total


def test_a_plan_in_use_survives_its_process() -> None:
    """Read back from JSON it is the same start, with a subsumption among what it keeps."""
    narrow = "SELECT a.i FROM r [RANGE 2 SECONDS] AS a, t [RANGE 2 SECONDS] AS b WHERE a.s = b.s AND a.i > 3"
    wide = "SELECT a.i FROM r [RANGE 4 SECONDS] AS a, t [RANGE 4 SECONDS] AS b WHERE a.s = b.s AND a.i > 1"
    queries = _queries(chain=CHAIN, narrow=narrow, wide=wide)
    first = _planned(queries)
    read = Running.from_json(first.running.to_json(), queries)

    assert any(part.subsumption for part in first.components)
    assert read == first.running

    lone = _queries(lone=LONE)
    known, options = FixedStatistics(RATES), Options(storage_weight=0.1)
    grown = plan([*queries, *lone], CATALOG, known, options=options, tasks=3, running=read)
    assert grown.graph.to_json() == _planned([*queries, *lone], first).graph.to_json()


def test_a_part_that_lost_a_query_is_not_read_back() -> None:
    queries = _queries(chain=CHAIN, pair=PAIR, more=MORE)
    text = _planned(queries).running.to_json()

    (kept,) = Running.from_json(text, queries[:2]).components

    assert [query.name for query in kept.queries] == ["chain"]


def test_what_is_no_running_plan_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match="running plan: found parts"):
        Running.from_json(
            '{"frame": {"method": "ilp", "options": {}, "retain": "needed", "tasks": 1, "horizon_s": 1}, '
            '"parts": 3, "copies": {}}',
            [],
        )
