"""What waits has a price: holds, looks for partners, groups; what they do is estimated, and learnt."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import exp
from pathlib import Path

import polars as pl
import pytest

from optimizer.algebra.expression import Call, Column
from optimizer.algebra.types import ColumnType
from optimizer.estimate import estimate
from optimizer.explain.forecast import added_state
from optimizer.explain.marginal import marginal_cost
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import AggregateRule, DueRule, ProbeRule, SettleRule
from optimizer.planner.plan import Plan, overhead, plan
from optimizer.planner.waiting import NOTHING
from optimizer.search.problem import CostUnit, Options
from optimizer.sql import parse_query
from optimizer.statistics import DefaultStatistics, FixedStatistics, LayeredStatistics
from optimizer.statistics.observation.measured import Measured, observe
from tests.unit.runtime.in_process import Topology

T = ColumnType
LATE_S = 5
_COLUMNS = (("at", T.TIMESTAMP), ("k", T.BIGINT), ("v", T.BIGINT))
RATES = {"a": 20.0, "b": 10.0, "c": 5.0}
CATALOG = Catalog.of(
    Stream(name, _COLUMNS, "at", tuples_per_second=rate, lateness=timedelta(seconds=LATE_S))
    for name, rate in RATES.items()
)
KEYS = 500


def _equal(one: str, other: str) -> Call:
    return Call("eq", (Column(one, "k", T.BIGINT), Column(other, "k", T.BIGINT)), T.BOOLEAN)


KNOWN = LayeredStatistics(
    (
        FixedStatistics(RATES, {_equal(one, other): 1 / KEYS for one in "abc" for other in "abc"}),
        DefaultStatistics(),
    )
)
NEAR = "b.at BETWEEN a.at - INTERVAL 20 SECONDS AND a.at + INTERVAL 10 SECONDS"
WITHIN = "FROM a [RANGE 20 SECONDS], b [RANGE 20 SECONDS] WHERE a.k = b.k"
TEXTS = {
    "inner": f"SELECT a.v {WITHIN}",
    "left": f"SELECT a.v, b.v AS w FROM a LEFT JOIN b ON a.k = b.k AND {NEAR}",
    "anti": f"SELECT a.v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND {NEAR})",
    "semi": f"SELECT a.v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND {NEAR})",
    "as of": "SELECT a.v, b.v AS w FROM a ASOF LEFT JOIN b [RANGE 30 SECONDS] ON a.k = b.k AND a.at >= b.at",
    "groups": "SELECT a.k, COUNT(*) AS n FROM a GROUP BY a.k, TUMBLE(a.at, INTERVAL 10 SECONDS)",
    "groups of pairs": f"SELECT COUNT(*) AS n {WITHIN} GROUP BY TUMBLE(RESULT_TIME(), INTERVAL 10 SECONDS)",
}
WAITING = sorted(TEXTS.keys() - {"inner"})
UNITS: tuple[CostUnit, ...] = ("cores", "messages")


def _query(name: str) -> Query:
    return parse_query(TEXTS[name], name.replace(" ", "_"), CATALOG)


def _plan(*names: str, unit: CostUnit = "cores") -> Plan:
    return plan([_query(name) for name in names], CATALOG, KNOWN, options=Options(cost=unit), tasks=2)


def test_what_an_anti_join_does_is_estimated_from_both_sides_of_its_window() -> None:
    graph = _plan("anti").graph
    expected = estimate(graph, KNOWN)
    (hold,) = graph.holds
    partners = RATES["b"] * 30 / KEYS
    assert expected.stores[hold.store] == pytest.approx(RATES["a"] * (10 + LATE_S))
    made = {type(rule): expected.rules[rule.id] for rule in graph.rules if rule.kind != "store"}
    assert made[DueRule] == pytest.approx(RATES["a"])
    assert made[ProbeRule] == pytest.approx(RATES["a"] * partners)
    assert made[SettleRule] == pytest.approx(RATES["a"] * exp(-partners))


def test_a_semi_join_answers_with_what_an_anti_join_leaves() -> None:
    both = []
    for name in ("anti", "semi"):
        graph = _plan(name).graph
        expected = estimate(graph, KNOWN)
        both += [expected.rules[rule.id] for rule in graph.rules if isinstance(rule, SettleRule)]
    assert sum(both) == pytest.approx(RATES["a"])


def test_groups_are_as_many_as_their_key_has_values_or_fewer_tuples() -> None:
    def finished(name: str) -> float:
        graph = _plan(name, "inner").graph
        made = estimate(graph, KNOWN)
        return next(made.rules[rule.id] for rule in graph.rules if isinstance(rule, AggregateRule))

    # 200 tuples come in 10 s, of 500 keys; all pairs of 10 s are one group.
    assert finished("groups") == pytest.approx(RATES["a"])
    assert finished("groups of pairs") == pytest.approx(0.1)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", WAITING)
def test_waiting_costs_and_its_bound_is_no_more_than_it(name: str, unit: CostUnit) -> None:
    made = _plan(name, unit=unit)
    assert made.cost.total > made.solution.cost.total
    assert 0 < made.waits.least <= (made.waits.probe + made.waits.storage) * (1 + 1e-9)
    assert made.bound is not None
    assert made.bound <= made.cost.total
    assert made.individual_cost == pytest.approx(made.cost.total, rel=0.01)
    assert _plan("inner", unit=unit).waits == NOTHING


@pytest.mark.parametrize("unit", UNITS)
def test_longer_waits_keep_more(unit: CostUnit) -> None:
    def kept(seconds: int) -> float:
        longer = TEXTS["anti"].replace("+ INTERVAL 10", f"+ INTERVAL {seconds}")
        options = Options(cost=unit)
        return plan([parse_query(longer, "q", CATALOG)], CATALOG, KNOWN, options=options).cost.storage

    assert kept(10) < kept(60) < kept(600)


@pytest.mark.parametrize("name", WAITING)
def test_a_query_that_waits_has_a_marginal_cost_that_a_plan_of_both_does_not_exceed(name: str) -> None:
    before, both = _plan("inner"), _plan("inner", name)
    added = marginal_cost(before, _query(name))
    assert added.probe > 0

    def steps(made: Plan) -> float:
        """Without what is read and written, which a marginal cost leaves out."""
        return made.cost.total - overhead(made.translation, made.options) - made.waits.written

    # Together more is known of a key: that it is a group's, and equal to another's.
    assert steps(both) <= steps(before) + 1.05 * (added.probe + added.storage)
    assert not added.exact
    assert "~" not in str(marginal_cost(both, _query(name)))
    assert any(one.label.startswith(f"{_query(name).name}: ") for one in added_state(before, _plan(name)))


@pytest.mark.parametrize("others", [("inner",), ("inner", "reader")])
def test_a_query_that_reads_another_has_a_marginal_cost(others: tuple[str, ...]) -> None:
    counts = "SELECT TUMBLE(at, INTERVAL 5 SECONDS) AS since, k, COUNT(*) AS n FROM a GROUP BY since, k"
    views = {"counts": parse_query(counts, "counts", CATALOG)}
    text = "SELECT v.n, b.v FROM counts [RANGE 9 SECONDS] AS v, b [RANGE 9 SECONDS] WHERE v.k = b.k"
    reader = parse_query(text, "reader", CATALOG, views)
    asked = [reader if name == "reader" else _query(name) for name in others]
    added = marginal_cost(plan(asked, CATALOG, statistics=KNOWN), reader)
    assert not added.exact
    assert "@" not in str(added)
    assert (added.probe == 0) == bool(added.reused_steps) == ("reader" in others)


READERS = {
    "joined": "SELECT v.n, b.v FROM counts [RANGE 9 SECONDS] AS v, b [RANGE 9 SECONDS] WHERE v.k = b.k",
    "summed": "SELECT v.k, SUM(v.n) AS n FROM counts AS v GROUP BY v.k",
    "unmet": """SELECT b.v FROM b [RANGE 9 SECONDS]
        WHERE NOT EXISTS (SELECT 1 FROM counts [RANGE 9 SECONDS] AS v WHERE v.k = b.k)""",
}


@pytest.mark.parametrize("options", [Options(), Options(cost="messages")], ids=["cores", "messages"])
@pytest.mark.parametrize("name", READERS)
def test_a_query_that_reads_another_costs_both_alone(name: str, options: Options) -> None:
    counts = "SELECT TUMBLE(a.at, INTERVAL 5 SECONDS) AS since, a.k, COUNT(*) AS n FROM a GROUP BY since, a.k"
    views = {"counts": parse_query(counts, "counts", CATALOG)}
    made = plan([parse_query(READERS[name], "reader", CATALOG, views)], CATALOG, KNOWN, options=options)
    alone = {one.query: one.cost.total for one in made.alone}
    inner = next(query for query in alone if query != "reader")
    assert 0 < alone[inner] < alone["reader"]
    # There is nothing else in the topology.
    assert made.individual_cost == alone["reader"] == pytest.approx(made.cost.total)


def test_what_is_held_in_all_is_forecast_with_what_waits() -> None:
    made = _plan("left")
    (hold,) = made.graph.holds
    told = {one.id: one for one in made.graph.estimates}
    assert told[hold.store].tuples == pytest.approx(RATES["a"] * (10 + LATE_S))
    ends = {rule.id for rule in made.graph.rules if isinstance(rule, SettleRule | DueRule)}
    assert ends <= told.keys()


# Beside what happens

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
SECONDS = 240
BATCH_S = 2


def _run(graph: PhysicalGraph, folder: Path, keys: int) -> tuple[Measured, Mapping[str, int]]:
    """Four minutes of streams at their rates; what happened in the last three, and what was held then."""
    drawn, topology = random.Random(7), Topology(graph, folder)
    edges, rules, held = Counter[str](), Counter[str](), Counter[str]()
    accepted, batches = Counter[str](), 0
    for start in range(0, SECONDS, BATCH_S):
        frames = {}
        for stream in (one.name for one in graph.streams):
            rows = [
                (
                    NOON + timedelta(seconds=start, microseconds=drawn.randrange(BATCH_S * 1_000_000)),
                    drawn.randrange(keys),
                    n,
                )
                for n in range(round(BATCH_S * RATES[stream]))
            ]
            schema = {"at": pl.Datetime("us", "UTC"), "k": pl.Int64(), "v": pl.Int64()}
            frames[stream] = pl.DataFrame(rows, schema, orient="row").to_arrow()
        counts = topology.feed(frames).manifest.figures.counts
        if start < 60:
            continue
        batches += 1
        for total, more in (
            (edges, counts.edges),
            (rules, counts.rules),
            (held, counts.held),
            (accepted, counts.accepted),
        ):
            total.update(more)
    mean = {store: count // batches for store, count in held.items()}
    return Measured(float(BATCH_S * batches), accepted, edges, mean, {}, rules), mean


@pytest.mark.parametrize("name", ["left", "anti", "semi", "as of"])
def test_what_happens_is_what_was_expected(name: str, tmp_path: Path) -> None:
    made = _plan(name)
    measured, held = _run(made.graph, tmp_path, KEYS)
    expected = estimate(made.graph, KNOWN)
    for rule, count in measured.rules.items():
        if expected.rules[rule] * measured.seconds >= 100:
            assert count / measured.seconds == pytest.approx(expected.rules[rule], rel=0.25), rule
    (hold,) = made.graph.holds
    # It leaves in runs, and a batch behind the one in which it is due.
    more = 3 * BATCH_S * RATES["a"]
    assert 0.8 * expected.stores[hold.store] <= held[hold.store] <= 1.2 * expected.stores[hold.store] + more


def test_what_looks_find_is_learnt(tmp_path: Path) -> None:
    made, keys = _plan("anti"), 50
    measured, _ = _run(made.graph, tmp_path, keys)
    learnt = LayeredStatistics((observe(made.graph, measured), KNOWN))
    (look,) = (rule for rule in made.graph.rules if isinstance(rule, ProbeRule))
    before, after = (estimate(made.graph, known).rules[look.id] for known in (KNOWN, learnt))
    assert after == pytest.approx(before * KEYS / keys, rel=0.1)
    assert after * measured.seconds == pytest.approx(measured.rules[look.id], rel=0.05)
    alone = replace(measured, rules={})
    assert observe(made.graph, alone).steps
