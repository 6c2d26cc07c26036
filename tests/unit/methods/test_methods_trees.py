"""Join trees of the dissertation's chapter 5: each strategy, its bounds, its budget, tasks by capacity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from optimizer.algebra.errors import InputError
from optimizer.methods import METHODS
from optimizer.methods.trees.tree import STRATEGIES
from optimizer.search.problem import JoinPredicate, JoinQuery, Options, Problem, Relation, Solution
from tests.reference.solution_faults import faults

SIZE = 1000.0
FORCED = [name for name in STRATEGIES if name != "cheapest"]


def problem(names: str, joins: Mapping[str, float], tasks: int = 1, window_s: float = 10.0) -> Problem:
    """One query of theta joins over relations that all hold `SIZE` tuples; joins by their two names."""
    relations = tuple(Relation(name, name, SIZE / window_s, window_s, tasks) for name in names)
    predicates = tuple(JoinPredicate(pair, frozenset(pair), share) for pair, share in joins.items())
    return Problem(relations, predicates, (JoinQuery("q", frozenset(names), frozenset(joins)),))


def chain(names: str, *selectivities: float, tasks: int = 1) -> Problem:
    pairs = ("".join(pair) for pair in pairwise(names))
    return problem(names, dict(zip(pairs, selectivities, strict=True)), tasks)


CHAIN = chain("ABCDE", 1e-3, 1e-3, 1e-3, 1e-3, tasks=4)
STAR = problem("ABCDE", dict.fromkeys(("AB", "AC", "AD", "AE"), 1e-3), tasks=4)
CLIQUE = problem("ABCD", dict.fromkeys(("AB", "AC", "AD", "BC", "BD", "CD"), 0.03), tasks=4)
SHAPED = pytest.mark.parametrize("shape", [CHAIN, STAR, CLIQUE], ids=["chain", "star", "clique"])
FREE = Options(storage_weight=0.0)


def planned(of: Problem, tree: str, options: Options = FREE) -> Solution:
    chosen = replace(options, tree=tree)
    solution = METHODS["tree"].solve(of, chosen)
    assert faults(of, chosen, solution) == []
    return solution


def results(solution: Solution) -> list[str]:
    """The materialized results, by size."""
    found = {store.relations for store in solution.stores if not store.is_base}
    return sorted(("".join(sorted(relations)) for relations in found), key=lambda n: (len(n), n))


@SHAPED
def test_a_flat_tree_materializes_nothing_and_a_left_deep_one_all_but_the_last(shape: Problem) -> None:
    assert results(planned(shape, "flat")) == []
    nested = results(planned(shape, "left-deep"))
    assert [len(names) for names in nested] == list(range(2, len(shape.relations)))
    assert all(set(inner) < set(outer) for inner, outer in pairwise(nested))


@SHAPED
def test_no_strategy_undercuts_the_cheapest_of_all(shape: Problem) -> None:
    for options in (FREE, Options(storage_weight=1.0), Options(storage_weight=1.0, latency_weight=50.0)):
        least = planned(shape, "cheapest", options).cost.total
        assert all(least <= planned(shape, tree, options).cost.total * (1 + 1e-9) for tree in FORCED)
        assert least <= METHODS["left-deep"].solve(shape, options).cost.total * (1 + 1e-9)


@pytest.mark.parametrize("tree", STRATEGIES)
@pytest.mark.parametrize("factor", [1.0, 1.3, 2.0, 2.5])
def test_every_strategy_keeps_the_budget(tree: str, factor: float) -> None:
    budget = factor * SIZE * len(CHAIN.relations)
    solution = planned(CHAIN, tree, Options(storage_weight=0.0, storage_budget=budget))
    assert sum(store.tuples for store in solution.stores) <= budget


def test_a_left_deep_tree_is_as_deep_as_its_budget() -> None:
    """Every join of two holds 1000 tuples, of three 1000, of four 1000."""
    inputs = SIZE * len(CHAIN.relations)
    depths = [
        len(results(planned(CHAIN, "left-deep", Options(storage_weight=0.0, storage_budget=inputs + more))))
        for more in (0.0, 999.0, 1000.0, 2000.0, 1e6)
    ]
    assert depths == [0, 0, 1, 2, 3]


def test_top_down_materializes_the_smallest_contiguous_part_first() -> None:
    """Figure 5.5c: joins of two are large, the one of three is small, so only that one is stored."""
    query = chain("ABCDE", 0.5, 1e-6, 0.5, 0.5)
    allowed = Options(storage_weight=0.0, storage_budget=SIZE * 5 + 5)
    assert results(planned(query, "top-down", allowed)) == ["BC"]
    large = problem("ABCDE", {"AB": 0.1, "BC": 0.1, "AC": 1e-4, "CD": 0.1, "DE": 0.1})
    once = Options(storage_weight=0.0, storage_budget=SIZE * 5 + 2000)
    assert results(planned(large, "top-down", once)) == ["ABC"]


def test_top_down_needs_a_chain_in_the_join_graph() -> None:
    assert results(planned(STAR, "top-down")) == []
    assert results(planned(CLIQUE, "top-down")) != []


def test_merging_keeps_its_bounds() -> None:
    """What is materialized lies between them: it sends more than L in a window and holds less than U."""
    query = chain("ABCDE", 1e-3, 2e-3, 1e-3, 4e-3)

    def merged(lower: float, upper: float) -> Solution:
        return planned(query, "merging", Options(storage_weight=0.0, tree_bounds=(lower, upper)))

    assert results(merged(0.0, 0.0)) == []
    assert results(merged(1e9, 1e9)) == []
    assert results(merged(0.0, 1e9)) != []
    for upper in (1001.0, 2001.0, 5000.0):
        stored = [store.tuples for store in merged(0.0, upper).stores if not store.is_base]
        assert stored
        assert max(stored) < upper
    # Two inputs of 1000 tuples each send 2000 to each other within the window.
    assert len(results(merged(2001.0, 1001.0))) < len(results(merged(1999.0, 1001.0)))


def test_the_bound_on_what_is_sent_is_per_window() -> None:
    """The same relations in shorter windows send the same within one, and are merged alike."""
    short, long = (
        problem("ABCD", dict.fromkeys(("AB", "BC", "CD"), 1e-3), window_s=window) for window in (1.0, 1000.0)
    )
    assert results(planned(short, "merging")) == results(planned(long, "merging")) != []


def test_what_is_no_strategy_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match="did you mean left-deep"):
        METHODS["tree"].solve(CHAIN, Options(tree="left-dep"))


def test_results_get_as_many_tasks_as_their_tuples_need() -> None:
    """Section 5.5.3: small results need fewer tasks than the inputs, large ones more, and are sent to all."""
    for selectivity, tasks in ((1e-4, 1), (1e-3, 4), (1e-2, 40)):
        query = replace(chain("ABC", selectivity, selectivity, tasks=4), task_tuples=250.0)
        solution = planned(query, "left-deep")
        (result,) = (store for store in solution.stores if not store.is_base)
        assert result.tuples == pytest.approx(SIZE**2 * selectivity)
        assert result.tasks == tasks
        (step,) = (s for order in solution.orders for s in order.steps if s.store == result)
        assert step.broadcast
        assert step.cost == pytest.approx(100.0 * tasks)
