"""Queries never cost more together than each of them alone."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from optimizer.estimate import cost_of
from optimizer.formulate.base_stores import filter_key, store_of, stream_of_store, together
from optimizer.logical.query import Query
from optimizer.planner.plan import Plan, plan
from optimizer.planner.plan_in_use import Running
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics, statistics_of_workload
from optimizer.workload import load_workload
from tests.unit.planning.workloads import CATALOG

CORES = Options(cost="cores", time_limit_s=5.0)
METHODS = ("ilp", "greedy", "flat", "left-deep", "tree")
RARE = (
    "SELECT a.i FROM p [RANGE 5 SECONDS] AS a, q [RANGE 5 SECONDS] AS b WHERE a.i = b.i AND b.j {} {}",
    "SELECT a.j FROM r [RANGE 9 SECONDS] AS a, q [RANGE 9 SECONDS] AS b WHERE a.i = b.i",
)


def _rare(compares: str = "=") -> list[Query]:
    return [parse_query(text.format(compares, 1), f"q{n}", CATALOG) for n, text in enumerate(RARE)]


def _planned(queries: list[Query], method: str = "greedy", tasks: int = 1, rate: float = 400.0) -> Plan:
    known = FixedStatistics(dict.fromkeys("pqrt", rate))
    return plan(queries, CATALOG, known, method, CORES, tasks=tasks)


def _drawn(chance: random.Random) -> list[Query]:
    """Chains over few streams, many with filters that pass little, in windows of two lengths."""
    found = []
    for number in range(chance.randint(2, 5)):
        names = chance.sample("pqrt", chance.choice((2, 2, 3)))
        read = ", ".join(f"{name} [RANGE {chance.choice((2, 9))} SECONDS] AS {name}" for name in names)
        keys = chance.choices("ij", k=len(names))
        joins = [f"{a}.{k} = {b}.{k}" for a, b, k in zip(names, names[1:], keys, strict=False)]
        filters = [f"{name}.j = {chance.randrange(4)}" for name in names if chance.random() < 0.5]
        wanted = ", ".join(f"{name}.s AS {name}_s" for name in names if chance.random() < 0.5)
        text = f"SELECT {wanted or f'{names[0]}.i'} FROM {read} WHERE {' AND '.join((*joins, *filters))}"
        found.append(parse_query(text, f"q{number}", CATALOG))
    return found


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_together_never_costs_more_than_alone(seed: int, method: str) -> None:
    chance = random.Random(f"joint {seed}")
    queries, tasks, rate = _drawn(chance), chance.choice((1, 3)), chance.choice((5.0, 400.0, 20_000.0))

    made = _planned(queries, method, tasks, rate)

    alone = [made.context.answer([query]).solution.cost.total for query in queries]
    # Without what a topology does whatever its plan, of which there would be as many as queries.
    assert made.solution.cost.total <= sum(alone) * (1 + 1e-9)
    assert made.cost.total <= made.individual_cost * (1 + 1e-9)


def test_three_tpch_queries_cost_less_together() -> None:
    """While one store served all filters of a stream they cost 0.2 % more."""
    loaded = load_workload(Path(__file__).parent / "golden" / "tpch")
    known = statistics_of_workload(loaded.catalog, loaded.selectivities)

    made = plan(loaded.queries, loaded.catalog, known, options=CORES)

    assert made.cost.total < 0.98 * made.individual_cost
    assert _stores(made, "region") == 2


def test_a_rare_filter_is_kept_apart_where_tuples_are_many() -> None:
    made = _planned(_rare(), rate=20_000.0)
    common = _planned(_rare("<>"), rate=100.0)

    assert _stores(made, "q") == 2
    assert _stores(common, "q") == 1
    assert {store.inputs[0].columns for store in made.graph.stores if store.inputs[0].stream == "q"} == {
        ("at", "i", "j")
    }, "a change of plan fills one from the other"
    whole = replace(made.context, method="flat").answer(made.queries, stage="reroute")
    assert made.solution.cost.total < whole.solution.cost.total


def test_separate_stores_are_priced_by_what_their_graph_does() -> None:
    made = _planned(_rare(), rate=20_000)

    pricing = made.options.pricing
    does = cost_of(made.graph, made.context.with_defaults, made.options) + pricing.batches
    assert made.cost.total == pytest.approx(does, rel=0.05)
    assert made.bound is None
    proven = _planned(list(made.queries), "ilp", rate=20_000.0)
    assert proven.bound is not None
    assert 0 < proven.bound <= proven.cost.total


def test_what_runs_keeps_its_stores() -> None:
    queries = _rare()
    made = _planned(queries, rate=20_000.0)
    running = Running.from_json(made.running.to_json(), made.queries)
    more = parse_query(RARE[0].format("=", 2), "q2", CATALOG)
    known = FixedStatistics(dict.fromkeys("pqrt", 20000.0))

    grown = plan([*queries, more], CATALOG, known, "greedy", CORES, running=running)

    kept = {store.id for store in made.graph.stores}
    assert {one.separate["q"] for one in running.components} == {made.components[0].separate["q"]}
    assert len(kept & {store.id for store in grown.graph.stores}) >= len(kept) - 1


def test_names_of_stores_say_their_stream() -> None:
    made = _planned(_rare(), rate=20_000)
    (component,) = made.components

    for occurrence in made.translation.occurrences.values():
        name = store_of(occurrence, component.separate)
        assert stream_of_store(name) == occurrence.stream
        rare = any(filter_key(occurrence) in group for group in component.separate.get(occurrence.stream, ()))
        assert (name == occurrence.stream) is not rare
    assert together([component.separate, {"q": ()}]) == component.separate


def _stores(made: Plan, stream: str) -> int:
    kept = {relation.kept_in for relation in made.translation.problem.relations}
    return sum(stream_of_store(name) == stream for name in kept)
