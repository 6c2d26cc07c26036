"""Graphs with holds that would lose, repeat or invent results are refused, with the element at fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.logical.window import UNBOUNDED, Sliding
from optimizer.physical.elements import InvalidGraph
from optimizer.physical.graph import GraphStore, Hold, PhysicalGraph, Slices
from optimizer.physical.rules import AggregateRule, DueRule, Emit, ProbeRule, Rule, SettleRule
from optimizer.physical.validate_holds import validate_holds
from optimizer.planner.plan import plan
from optimizer.sql import parse_query

T = ColumnType
_COLUMNS = (("at", T.TIMESTAMP), ("k", T.BIGINT), ("v", T.BIGINT))
CATALOG = Catalog.of(Stream(name, _COLUMNS, "at", tuples_per_second=10.0) for name in "ab")
NEAR = "b.at BETWEEN a.at - INTERVAL 20 SECONDS AND a.at + INTERVAL 10 SECONDS"
LEFT = f"SELECT a.v, b.v AS w FROM a LEFT JOIN b ON a.k = b.k AND a.v < b.v AND {NEAR}"
AS_OF = "SELECT a.v, b.v AS w FROM a ASOF LEFT JOIN b [RANGE 30 SECONDS] ON a.k = b.k AND a.at >= b.at"
BUCKET = "TUMBLE(a.at, INTERVAL 1 MINUTE)"
GROUPS = f"SELECT COUNT(*) AS n FROM a LEFT JOIN b ON a.k = b.k AND {NEAR} GROUP BY {BUCKET}"


def _graph(text: str) -> PhysicalGraph:
    return plan([parse_query(text, "q", CATALOG)], CATALOG, tasks=2).graph


R = TypeVar("R", DueRule, ProbeRule, SettleRule, AggregateRule)


def _rules(graph: PhysicalGraph, kind: type[R], change: Callable[[R], Rule | None]) -> PhysicalGraph:
    """The graph with every rule of a kind changed, or gone."""
    made = ((change(rule) if isinstance(rule, kind) else rule) for rule in graph.rules)
    return replace(graph, rules=tuple(rule for rule in made if rule is not None))


def _hold(graph: PhysicalGraph, change: Callable[[Hold], Hold]) -> PhysicalGraph:
    return replace(graph, holds=tuple(map(change, graph.holds)))


def _stores(graph: PhysicalGraph, change: Callable[[GraphStore], GraphStore]) -> PhysicalGraph:
    looked = {look.store for hold in graph.holds for look in hold.looks}
    return replace(graph, stores=tuple(change(s) if s.id in looked else s for s in graph.stores))


def _looks(graph: PhysicalGraph) -> frozenset[str]:
    """The edges along which what is due goes to its partners."""
    due = {rule.id for rule in graph.rules if isinstance(rule, DueRule)}
    return frozenset(edge.id for edge in graph.edges if edge.origin in due and edge.kind != "home")


def _nobody_settles(graph: PhysicalGraph) -> PhysicalGraph:
    return _rules(graph, SettleRule, lambda rule: None)


def _a_leaf_keeps_nothing(graph: PhysicalGraph) -> PhysicalGraph:
    return _hold(graph, lambda hold: replace(hold, edges=hold.edges[1:]))


def _due_by_what_is_not_kept(graph: PhysicalGraph) -> PhysicalGraph:
    return _hold(graph, lambda hold: replace(hold, times=("c.at",)))


def _another_store(graph: PhysicalGraph) -> PhysicalGraph:
    return _hold(graph, lambda hold: replace(hold, store=hold.looks[0].store))


def _sends_what_is_not_kept(graph: PhysicalGraph) -> PhysicalGraph:
    return _rules(
        graph,
        DueRule,
        lambda rule: replace(rule, columns=(("b.w", rule.columns[0][1]), *rule.columns[1:])),
    )


def _looks_without_a_column(graph: PhysicalGraph) -> PhysicalGraph:
    looks = _looks(graph)
    return replace(
        graph,
        edges=tuple(
            replace(e, columns=tuple(c for c in e.columns if c.name != "v")) if e.id in looks else e
            for e in graph.edges
        ),
    )


def _looks_without_a_time(graph: PhysicalGraph) -> PhysicalGraph:
    def timeless(rule: ProbeRule) -> Rule:
        about_time = [p for p in rule.predicates if "at" in str(p)]
        return replace(rule, predicates=tuple(p for p in rule.predicates if p not in about_time))

    looks = _looks(graph)
    bare = replace(
        graph,
        edges=tuple(
            replace(e, columns=tuple(c for c in e.columns if c.name != "at")) if e.id in looks else e
            for e in graph.edges
        ),
    )
    return _rules(bare, ProbeRule, timeless)


def _evicts_early(graph: PhysicalGraph) -> PhysicalGraph:
    return _stores(graph, lambda store: replace(store, retention=(Sliding(20_000_000),)))


def _slices_for_ever(graph: PhysicalGraph) -> PhysicalGraph:
    return _stores(graph, lambda s: replace(s, partitioning=Slices(4), retention=(UNBOUNDED,)))


def _sliced_versions(graph: PhysicalGraph) -> PhysicalGraph:
    return _stores(graph, lambda store: replace(store, partitioning=Slices(4), key=("k",)))


def _unknown_to_the_hold(graph: PhysicalGraph) -> PhysicalGraph:
    return _hold(graph, lambda hold: replace(hold, looks=()))


def _at_one_level(graph: PhysicalGraph) -> PhysicalGraph:
    return replace(graph, edges=tuple(replace(e, level=1) for e in graph.edges))


def _answers_from_elsewhere(graph: PhysicalGraph) -> PhysicalGraph:
    return _rules(
        graph,
        SettleRule,
        lambda rule: replace(rule, found=tuple(replace(f, edge=rule.edge) for f in rule.found)),
    )


def _results_of_what_is_not_there(graph: PhysicalGraph) -> PhysicalGraph:
    def more(rule: SettleRule) -> Rule:
        (leaf,) = rule.emits
        outputs = (*leaf.outputs, ("x", parse_query("SELECT b.v FROM b", "q", CATALOG).outputs[0].expression))
        return replace(rule, emits=(Emit(leaf.query, leaf.residuals, leaf.windows, outputs),), found=())

    return _rules(graph, SettleRule, more)


FAULTS = {
    _nobody_settles: "is finished by 0 rules",
    _a_leaf_keeps_nothing: "not sent to once",
    _due_by_what_is_not_kept: "is due by c.at",
    _another_store: "has no store of its own",
    _sends_what_is_not_kept: "sends b.w",
    _evicts_early: "before q~2 has looked|before q~1 has looked",
    _slices_for_ever: "for ever",
    _sliced_versions: "of any age",
    _unknown_to_the_hold: "does not know",
    _at_one_level: "not behind its sender",
    _answers_from_elsewhere: "nobody looked for it",
    _results_of_what_is_not_there: "reads b.v",
}


@pytest.mark.parametrize("text", [LEFT, AS_OF, GROUPS], ids=["left", "as of", "groups"])
def test_what_the_planner_writes_is_valid(text: str) -> None:
    graph = _graph(text)
    assert graph.holds
    validate_holds(graph)


@pytest.mark.parametrize("text", [LEFT, AS_OF], ids=["left", "as of"])
@pytest.mark.parametrize("damage", FAULTS, ids=lambda damage: damage.__name__.strip("_"))
def test_damage_is_refused(text: str, damage: Callable[[PhysicalGraph], PhysicalGraph]) -> None:
    with pytest.raises(InvalidGraph, match=FAULTS[damage]):
        validate_holds(damage(_graph(text)))


def test_looks_have_what_they_compare() -> None:
    with pytest.raises(InvalidGraph, match=r"reads a\.v"):
        validate_holds(_looks_without_a_column(_graph(LEFT)))
    with pytest.raises(InvalidGraph, match=r"whose event time does not reach it|reads a\.at"):
        validate_holds(_looks_without_a_time(_graph(LEFT)))


def test_groups_are_finished_by_all_that_is_sent_for_them() -> None:
    graph = _graph(GROUPS)
    alone = _rules(graph, AggregateRule, lambda rule: replace(rule, direct=()))
    with pytest.raises(InvalidGraph, match="goes past the store"):
        validate_holds(alone)
    with pytest.raises(InvalidGraph, match="is finished by 0 rules"):
        validate_holds(_rules(graph, AggregateRule, lambda rule: None))
    strewn = tuple(replace(e, kind="shuffle") if e.kind == "group" else e for e in graph.edges)
    with pytest.raises(InvalidGraph, match="does not bring groups"):
        validate_holds(replace(graph, edges=strewn))
