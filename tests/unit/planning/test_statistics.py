"""Where numbers come from, and what is assumed when they come from nowhere."""

from __future__ import annotations

from math import prod

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.algebra.expression import Expression, rename_inputs
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from optimizer.statistics import (
    DefaultStatistics,
    FixedStatistics,
    Interval,
    LayeredStatistics,
    Measured,
    ObservedStatistics,
    ObservedStep,
    SampleStatistics,
    observe,
)
from optimizer.statistics.observation.observed import Product, shares
from tests.unit.planning.clash import CATALOG as CLASH
from tests.unit.planning.clash import STATISTICS, queries
from tests.unit.planning.workloads import CATALOG


def _predicate(condition: str, sources: str = "p, q") -> Expression:
    (predicate,) = parse_query(f"SELECT 1 AS one FROM {sources} WHERE {condition}", "q", CATALOG).predicates
    return predicate


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("p.i = q.i", 0.01),
        ("p.i < q.i", 1 / 3),
        ("abs(p.x - q.x) < 1", 0.1),
        ("p.s LIKE q.s", 0.1),
        ("p.i <> q.i", 0.99),
        ("p.i + q.i = p.j", 0.01),
        ("p.i = q.i OR p.j = q.j", 1 - 0.99**2),
    ],
)
def test_defaults_are_the_documented_ones(condition: str, expected: float) -> None:
    estimate = DefaultStatistics().selectivity(_predicate(condition))

    assert estimate.expected == pytest.approx(expected)
    assert estimate.low <= estimate.expected <= estimate.high


def test_a_filter_has_other_defaults_than_a_join() -> None:
    assert DefaultStatistics().selectivity(_predicate("p.i = 3", "p")).expected == 0.1
    assert DefaultStatistics().selectivity(_predicate("p.i IN (1, 2, 3)", "p")).expected == pytest.approx(0.3)


def test_stated_selectivities_match_either_order_and_any_ordinal() -> None:
    stated = FixedStatistics(selectivities={_predicate("q.j = p.i"): 0.25})
    renamed = _predicate("a.i = b.j", "p AS a, q AS b")
    assert stated.selectivity(rename_inputs(renamed, {"a": "p#2", "b": "q"})) == Interval.exactly(0.25)
    assert stated.selectivity(_predicate("p.i = q.i")) is None


def test_the_first_layer_that_knows_wins() -> None:
    layers = LayeredStatistics((FixedStatistics({"p": 5.0}), FixedStatistics({"p": 7.0, "q": 9.0})))

    assert layers.rate("p") == Interval.exactly(5.0)
    assert layers.rate("q") == Interval.exactly(9.0)
    assert layers.rate("r") is None


def test_samples_are_counted_exactly() -> None:
    frame = pl.DataFrame({"i": [1, 1, 2, None], "j": [1, 2, 3, 4], "x": [0.0] * 4, "s": ["a"] * 4})
    sample = SampleStatistics({"p": frame, "q": frame})

    equal = sample.selectivity(_predicate("p.i = q.i"))
    theta = sample.selectivity(_predicate("p.j < q.j"))
    passing = sample.selectivity(_predicate("p.j > 1", "p"))

    assert equal is not None
    assert equal.expected == pytest.approx(5 / 16)
    assert theta is not None
    assert theta.expected == pytest.approx(6 / 16)
    assert passing is not None
    assert passing.expected == pytest.approx(3 / 4)
    assert sample.selectivity(_predicate("p.i = r.i", "p, r")) is None


def test_a_pair_for_which_a_predicate_raises_does_not_match() -> None:
    """As in queries: 2147483647 + 1 is no int."""
    most = 2**31 - 1
    frame = pl.DataFrame(
        {"i": pl.Series([most, 1, 2], dtype=pl.Int32), "j": pl.Series([3, 2, 1], dtype=pl.Int32)}
    )
    estimate = SampleStatistics({"p": frame, "q": frame}).selectivity(_predicate("p.i + 1 = q.j"))
    assert estimate is not None
    assert estimate.expected == pytest.approx(2 / 9)


def test_an_unseen_predicate_is_rare_but_not_free() -> None:
    frame = pl.DataFrame({"i": [1, 2], "j": [5, 6]})

    estimate = SampleStatistics({"p": frame, "q": frame}).selectivity(_predicate("p.i = q.j"))

    assert estimate is not None
    assert 0 < estimate.expected < 1 / 4


def test_observations_add_up_over_directions() -> None:
    predicate = _predicate("p.i = q.i")
    steps = (
        ObservedStep("p", (predicate,), compared=1000, matched=10),
        ObservedStep("q", (predicate,), compared=3000, matched=50),
    )

    estimate = ObservedStatistics(steps).selectivity(predicate)

    assert estimate is not None
    assert estimate.expected == pytest.approx(60 / 4000)


def test_the_last_unknown_factor_of_a_step_follows_from_the_others() -> None:
    known, unknown = _predicate("p.i = q.i"), _predicate("p.j = q.j")
    steps = (
        ObservedStep("p", (known,), compared=10_000, matched=1000),
        ObservedStep("r", (known, unknown), compared=10_000, matched=200),
    )

    estimate = ObservedStatistics(steps).selectivity(unknown)

    assert estimate is not None
    assert estimate.expected == pytest.approx(0.2)


def test_steps_that_contradict_each_other_count_by_their_matches() -> None:
    """Two equalities that mean the same, and one of them in a rare step of another query: what is seen a
    thousand times is told almost exactly, whichever step comes first."""
    tail, flight = _predicate("p.i = q.i"), _predicate("p.j = q.j")
    often = ObservedStep("p", (tail, flight), compared=300_000, matched=1000)
    back = ObservedStep("q", (flight, tail), compared=300_000, matched=1000)
    seldom = ObservedStep("p", (tail, _predicate("p.at < q.at")), compared=100_000, matched=6)
    times = frozenset({("p", "at"), ("q", "at")})
    for steps in ((often, back, seldom), (seldom, back, often)):
        learnt = ObservedStatistics(steps, event_times=times)
        both = [learnt.selectivity(predicate) for predicate in (tail, flight)]
        assert all(one is not None for one in both)
        product = both[0].expected * both[1].expected  # type: ignore[union-attr]
        assert product == pytest.approx(1 / 300, rel=0.02)
        assert both[1].expected == pytest.approx(1.0)  # type: ignore[union-attr]


def test_a_time_order_that_is_seen_from_both_sides_takes_its_part() -> None:
    """A plane that leaves lands; one that lands seldom leaves from here: the order tells them apart."""
    tail, before, after = (_predicate(text) for text in ("p.i = q.i", "p.at < q.at", "q.at < p.at"))
    times = frozenset({("p", "at"), ("q", "at")})
    steps = [
        ObservedStep(start, (tail, order), compared=100_000, matched=matched)
        for start in "pq"
        for order, matched in ((before, 500), (after, 5))
    ]
    learnt = ObservedStatistics(tuple(steps), event_times=times)

    def told(*predicates: Expression) -> float:
        found = [learnt.selectivity(predicate) for predicate in predicates]
        return prod(one.expected for one in found if one is not None)

    assert told(tail, before) == pytest.approx(0.005, rel=1e-3)
    assert told(tail, after) == pytest.approx(0.00005, rel=1e-3)
    one_side = ObservedStatistics(tuple(s for s in steps if s.start == "p"), event_times=times)
    assert one_side.selectivity(before) is None


def test_products_that_agree_are_told_exactly_and_what_they_leave_open_is_even() -> None:
    one, two, three = (_predicate(f"p.{c} = q.{d}") for c, d in (("i", "i"), ("j", "j"), ("i", "j")))
    assert shares([Product((one, two), 0.01, 5.0)]) == pytest.approx({one: 0.1, two: 0.1})
    agreeing = [
        Product((one, two), 0.02, 5.0),
        Product((two, three), 0.01, 50.0),
        Product((one, three), 0.05, 9.0),
    ]
    assert shares(agreeing) == pytest.approx({one: 0.1**0.5, two: 0.02 / 0.1**0.5, three: 0.05 / 0.1**0.5})
    assert shares([]) == {}


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(1e-9, 1.0), st.floats(0.5, 1e6)), max_size=6))
def test_shares_are_selectivities_whatever_was_observed(seen: list[tuple[int, float, float]]) -> None:
    predicates = [_predicate(text) for text in ("p.i = q.i", "p.j = q.j", "p.i = q.j")]
    products = [Product(tuple(predicates[: n + 1]), value, weight) for n, value, weight in seen]
    found = shares(products)
    assert set(found) == {p for product in products for p in product.predicates}
    assert all(0 < value <= 1 for value in found.values())


def test_a_predicate_on_times_is_unknown_until_seen_from_both_sides() -> None:
    later = _predicate("p.at < q.at")
    one_side = (ObservedStep("p", (later,), compared=10_000, matched=0),)
    both = (*one_side, ObservedStep("q", (later,), compared=10_000, matched=10_000))
    times = frozenset({("p", "at"), ("q", "at")})

    assert ObservedStatistics(one_side, event_times=times).selectivity(later) is None
    estimate = ObservedStatistics(both, event_times=times).selectivity(later)
    assert estimate is not None
    assert estimate.expected == pytest.approx(0.5)


def test_few_comparisons_are_little_evidence() -> None:
    predicate = _predicate("p.i = q.i")
    few, many = (
        ObservedStatistics((ObservedStep("p", (predicate,), 20.0 * n, 2 * n),)).selectivity(predicate)
        for n in (1, 1000)
    )
    assert few is not None
    assert many is not None
    assert few.expected == many.expected == pytest.approx(0.1)
    assert few.low < 0.03
    assert few.high > 0.3
    assert 0.095 < many.low < many.high < 0.105
    assert ObservedStatistics((ObservedStep("p", (predicate,), 0.0, 0),)).selectivity(predicate) is None


def test_metrics_of_a_run_tell_the_selectivities_behind_them() -> None:
    graph = plan(queries(), CLASH, STATISTICS, "flat").graph
    estimates = {estimate.id: estimate for estimate in graph.estimates}
    seconds = 100.0
    measured = Measured(
        seconds=seconds,
        accepted={stream.name: int(100 * seconds) for stream in graph.streams},
        edges={e.id: round(seconds * (estimates[e.id].tuples_per_second or 0.0)) for e in graph.edges},
        held={s.id: 100 for s in graph.stores},
        results={},
    )

    observed = observe(graph, measured)

    known = {p: observed.selectivity(p) for p in STATISTICS.selectivities}
    rate = observed.rate("r")
    assert rate is not None
    assert rate.low < rate.expected == 100.0 < rate.high
    assert {p: round(i.expected, 4) for p, i in known.items() if i is not None} == {
        p: v for p, v in STATISTICS.selectivities.items() if known[p] is not None
    }
    assert any(interval is not None for interval in known.values())


def test_leaves_of_a_two_way_join_are_known_through_its_results() -> None:
    text = "SELECT p.i FROM p [RANGE 2 SECONDS], q [RANGE 4 SECONDS] WHERE p.i = q.i"
    query = parse_query(text, "q", CATALOG)
    graph = plan([query], CATALOG).graph
    measured = Measured(
        seconds=50.0,
        accepted={"p": 500, "q": 1000},
        edges={edge.id: 500 if edge.columns[0].input == "p" else 1000 for edge in graph.edges},
        held={store.id: 10_000 for store in graph.stores},
        results={"q": 6000},
    )

    estimate = observe(graph, measured).selectivity(*query.predicates)

    # p meets 20 q/s in 4 s, q meets 10 p/s in 2 s: 500 * 80 + 1000 * 20 pairs.
    assert estimate is not None
    assert estimate.expected == pytest.approx(6000 / 60_000)
