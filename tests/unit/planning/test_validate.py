"""The validator accepts what the translation makes and names what is wrong with anything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from optimizer.algebra.expression import Column, Expression
from optimizer.algebra.types import ColumnType
from optimizer.formulate.model import conditions_of
from optimizer.logical.window import Sliding
from optimizer.physical.elements import InvalidGraph
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, SourceRule, StoreRule, WindowBound
from optimizer.physical.validate import validate
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from tests.unit.planning.clash import CATALOG, STATISTICS, queries


@pytest.fixture(scope="module")
def graph() -> PhysicalGraph:
    """Both queries with the s-t result materialized, over four tasks."""
    made = plan(queries(), CATALOG, STATISTICS, "ilp", Options(storage_weight=0.0), tasks=4).graph
    assert any(not store.is_base for store in made.stores)
    return made


def _probe(graph: PhysicalGraph, wanted: Callable[[ProbeRule], bool]) -> ProbeRule:
    return next(rule for rule in graph.rules if isinstance(rule, ProbeRule) and wanted(rule))


def _with_rule(graph: PhysicalGraph, old: object, new: ProbeRule | SourceRule | StoreRule) -> PhysicalGraph:
    return replace(graph, rules=tuple(new if rule is old else rule for rule in graph.rules))


def _lose_a_condition(graph: PhysicalGraph) -> PhysicalGraph:
    rule = _probe(graph, lambda r: bool(r.equalities and r.emits))
    everywhere = tuple(replace(e, kind="all", key=None) if e.id == rule.edge else e for e in graph.edges)
    return replace(_with_rule(graph, rule, replace(rule, equalities=())), edges=everywhere)


def _forget_a_leaf(graph: PhysicalGraph) -> PhysicalGraph:
    rule = _probe(graph, lambda r: len(r.emits) == 1 and not r.out)
    return _with_rule(graph, rule, replace(rule, emits=()))


def _answer_twice(graph: PhysicalGraph) -> PhysicalGraph:
    rule = _probe(graph, lambda r: bool(r.emits))
    return _with_rule(graph, rule, replace(rule, emits=(*rule.emits, rule.emits[0])))


def _probe_too_early(graph: PhysicalGraph) -> PhysicalGraph:
    results = {store.id for store in graph.stores if not store.is_base}
    rule = _probe(graph, lambda r: r.store in results)
    edges = tuple(replace(e, level=1) if e.id == rule.edge else e for e in graph.edges)
    return replace(graph, edges=edges)


def _route_by_a_stranger(graph: PhysicalGraph) -> PhysicalGraph:
    probes = {rule.edge for rule in graph.rules if isinstance(rule, ProbeRule)}
    edge = next(e for e in graph.edges if e.id in probes and e.kind == "group_by")
    wrong = replace(edge, key=_time(edge.columns[0].input))
    return replace(graph, edges=tuple(wrong if e is edge else e for e in graph.edges))


def _time(name: str) -> Column:
    return Column(name, "at", ColumnType.TIMESTAMP)


def _drop_a_column(graph: PhysicalGraph) -> PhysicalGraph:
    rule = _probe(graph, lambda r: bool(r.equalities))
    edges = tuple(
        replace(e, columns=tuple(c for c in e.columns if c.name == "at"), kind="all", key=None)
        if e.id == rule.edge
        else e
        for e in graph.edges
    )
    return replace(graph, edges=edges)


def _narrow_a_window(graph: PhysicalGraph) -> PhysicalGraph:
    rule = _probe(graph, lambda r: bool(r.emits))
    windows = tuple(WindowBound(w.input, Sliding(1)) for w in rule.windows)
    return _with_rule(graph, rule, replace(rule, windows=windows))


def _evict_early(graph: PhysicalGraph) -> PhysicalGraph:
    return replace(
        graph, stores=tuple(replace(s, retention=(Sliding(10),) * len(s.inputs)) for s in graph.stores)
    )


def _starve_a_result(graph: PhysicalGraph) -> PhysicalGraph:
    results = {store.id for store in graph.stores if not store.is_base}
    rule = next(r for r in graph.rules if isinstance(r, StoreRule) and r.store in results)
    origin = next(e.origin for e in graph.edges if e.id == rule.edge)
    rules = []
    for r in graph.rules:
        if isinstance(r, ProbeRule | SourceRule) and r.id == origin:
            rules.append(replace(r, out=tuple(o for o in r.out if o != rule.edge)))
        elif r is not rule:
            rules.append(r)
    return replace(graph, rules=tuple(rules), edges=tuple(e for e in graph.edges if e.id != rule.edge))


FAULTS: dict[Callable[[PhysicalGraph], PhysicalGraph], str] = {
    _lose_a_condition: "conditions",
    _forget_a_leaf: "sends nothing anywhere",
    _answer_twice: "expected once from each",
    _probe_too_early: "not behind its sender|before it is complete",
    _route_by_a_stranger: "not equal to",
    _drop_a_column: "does not reach it",
    _narrow_a_window: "another window|in other windows",
    _evict_early: "before the window",
    _starve_a_result: "fed from",
}


def test_the_translations_graph_is_valid(graph: PhysicalGraph) -> None:
    validate(graph)


@pytest.mark.parametrize("damage", FAULTS, ids=lambda damage: damage.__name__.strip("_"))
def test_a_damaged_graph_is_refused(
    graph: PhysicalGraph, damage: Callable[[PhysicalGraph], PhysicalGraph]
) -> None:
    with pytest.raises(InvalidGraph, match=FAULTS[damage]):
        validate(damage(graph))


def test_conditions_are_held_against_the_query() -> None:
    made = plan(queries(), CATALOG, STATISTICS, "flat")
    asked: dict[str, frozenset[Expression]] = {
        terms.query.name: conditions_of(terms) for terms in made.translation.queries
    }

    validate(made.graph, asked)
    with pytest.raises(InvalidGraph, match="other conditions than asked for"):
        validate(made.graph, {**asked, "q1": frozenset()})
