"""Advice and the state forecast of a draft: numbers that planning the changed query again confirms."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from optimizer.explain.advice import FARTHEST, LEAST_SAVING, advise
from optimizer.explain.forecast import added_state
from optimizer.explain.marginal import marginal_cost
from optimizer.formulate.model import Retain
from optimizer.logical.query import Query
from optimizer.logical.window import sliding
from optimizer.planner.plan import Plan, plan
from optimizer.planner.plan_in_use import Running
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics, Interval, StatisticsProvider, statistics_of_workload
from optimizer.workload import load_workload
from tests.unit.planning.workloads import CATALOG

RUNNING = (
    "SELECT a.i FROM p [RANGE 12 SECONDS] AS a, q [RANGE 12 SECONDS] AS b, r [RANGE 12 SECONDS] AS c "
    "WHERE a.i = b.i AND b.j = c.j"
)
DRAFT = (
    "SELECT a.j FROM p [RANGE {0} SECONDS] AS a, q [RANGE {0} SECONDS] AS b, r [RANGE {0} SECONDS] AS c "
    "WHERE a.i = b.i AND b.j = c.j AND a.j > c.i"
)
RATES = FixedStatistics({"p": 20.0, "q": 5.0, "r": 10.0, "t": 40.0})


def _parsed(text: str, name: str = "draft") -> Query:
    return parse_query(text, name, CATALOG)


def _planned(*queries: Query, known: StatisticsProvider = RATES) -> Plan:
    return plan(list(queries), CATALOG, known, "greedy", Options(), "everything", tasks=2)


def test_longer_windows_that_are_kept_already_cost_nothing_more() -> None:
    running = _planned(_parsed(RUNNING, "running"))
    (first,) = advise(running, _parsed(DRAFT.format(10)))
    assert first.like == "running"
    assert {(one.alias, one.present, one.proposed) for one in first.changes} == {
        (alias, sliding(timedelta(seconds=10)), sliding(timedelta(seconds=12))) for alias in "abc"
    }
    # Its first steps are taken already; the last ones have a condition of its own.
    assert 0 < first.after.reused_steps < first.after.steps
    assert (first.saved_share, first.saved_storage) == (0.0, 0.0)
    # It is true: planning it on top of what runs takes the same, with either window.
    costs = [_added(running, DRAFT.format(seconds)) for seconds in (10, 12)]
    assert costs[0] == pytest.approx(costs[1])
    assert costs[0] == pytest.approx(first.after.probe + first.after.storage)


def test_shorter_windows_save_what_only_the_draft_would_keep() -> None:
    running = _planned(_parsed(RUNNING, "running"))
    draft = _parsed(DRAFT.format(15))
    first = advise(running, draft)[0]
    assert first.like == "running"
    assert {(one.alias, one.present, one.proposed) for one in first.changes} == {
        (alias, sliding(timedelta(seconds=15)), sliding(timedelta(seconds=12))) for alias in "abc"
    }
    # The saving is that of the query written with the shorter windows.
    before, after = marginal_cost(running, draft), marginal_cost(running, _parsed(DRAFT.format(12)))
    assert first.saved_probe == pytest.approx(before.probe - after.probe)
    assert first.saved_storage == pytest.approx(before.storage - after.storage)
    copies = {s.inputs[0].stream: 0 for s in running.graph.stores if s.is_base}
    for store in running.graph.stores:
        if store.is_base:
            copies[store.inputs[0].stream] += 1
    assert before.storage == pytest.approx(sum(3 * RATES.rates[s] * n for s, n in copies.items()))
    assert first.saved_share == pytest.approx(
        1 - (after.probe + after.storage) / (before.probe + before.storage)
    )
    assert first.saved_share >= LEAST_SAVING


def _added(running: Plan, text: str) -> float:
    """What planning the draft on top of what runs takes more."""
    queries = [*running.queries, _parsed(text)]
    together = plan(
        queries, CATALOG, RATES, "greedy", Options(), "everything", tasks=2, running=running.running
    )
    return together.cost.total - running.cost.total


def test_a_running_query_asked_again_adds_nothing_although_it_was_widened() -> None:
    """Its relations run under others' wider windows and filters, which hold all of its tuples."""
    narrow = _parsed(RUNNING.replace("12 SECONDS", "9 SECONDS") + " AND a.j > 3", "narrow")
    running = _planned(_parsed(RUNNING, "running"), narrow)
    served = {v.served_by != v.own for t in running.translation.queries for v in t.variants}
    assert True in served, "nothing was widened: this case shows nothing"
    for query in running.queries:
        again = marginal_cost(running, query)
        assert (again.probe, again.storage) == (0.0, 0.0)
        assert again.reused_steps == again.steps
    assert str(marginal_cost(running, narrow)).startswith("+0 stores, +0 % probes, reuses ")


def test_on_the_demo_a_shorter_window_is_answered_by_what_runs_and_may_be_longer_for_nothing() -> None:
    demo = load_workload(Path(__file__).parents[3] / "backend" / "demo")
    known = statistics_of_workload(demo.catalog, demo.selectivities)

    def planned(*queries: Query, running: Running | None = None) -> Plan:
        retain: Retain = "everything"
        return plan(queries, demo.catalog, known, "greedy", Options(), retain, tasks=2, running=running)

    def draft(minutes: int) -> Query:
        return parse_query(
            f"SELECT d.flight, w.wind_speed FROM departures [RANGE {minutes} MINUTES] AS d, "
            f"weather [RANGE {minutes} MINUTES] AS w "
            "WHERE d.origin = w.airport AND d.delay > 30 AND w.wind_speed > 20",
            "draft",
            demo.catalog,
        )

    before = planned(*demo.queries)
    price = marginal_cost(before, draft(50))
    assert str(price) == "+0 stores, +0 % probes, reuses 2 of 2 steps of delayed_in_strong_wind"
    after = planned(*demo.queries, draft(50), running=before.running)
    assert after.cost.total == pytest.approx(before.cost.total)
    (free,) = advise(before, draft(50))
    assert (free.like, free.saved_share) == ("delayed_in_strong_wind", 0.0)
    assert {one.proposed for one in free.changes} == {sliding(timedelta(hours=1))}
    shorter = advise(before, draft(90))[0]
    assert shorter.like == "delayed_in_strong_wind"
    assert shorter.saved_probe == pytest.approx(marginal_cost(before, draft(90)).probe)
    assert {one.proposed for one in shorter.changes} == {sliding(timedelta(hours=1))}


@pytest.mark.parametrize("seconds", [12, 12 / FARTHEST - 0.1, 12 * FARTHEST + 0.1])
def test_no_other_window_is_advised_that_is_the_same_or_too_far(seconds: float) -> None:
    running = _planned(_parsed(RUNNING, "running"))
    text = DRAFT.replace("{0} SECONDS", f"{int(seconds * 1000)} MILLISECONDS")
    assert advise(running, _parsed(text)) == ()


def test_a_query_that_shares_nothing_gets_no_advice() -> None:
    running = _planned(_parsed(RUNNING, "running"))
    assert advise(running, _parsed("SELECT a.j FROM r AS a WHERE a.i > 1")) == ()
    other = "SELECT a.i FROM r [RANGE 2 SECONDS] AS a, t [RANGE 2 SECONDS] AS b WHERE a.s = b.s"
    assert advise(running, _parsed(other)) == ()


def test_a_draft_adds_what_is_not_kept_long_enough() -> None:
    running = _planned(_parsed(RUNNING, "running"))
    assert added_state(running, _planned(_parsed(RUNNING))) == ()
    longer = added_state(running, _planned(_parsed(DRAFT.format(24))))
    alone = {one.streams: one for one in added_state(None, _planned(_parsed(DRAFT.format(24))))}
    # The running query keeps 12 of the 24 s; each of its copies grows.
    bases = {store.label for store in running.graph.stores if store.is_base}
    assert {one.label for one in longer if len(one.streams) == 1} == bases
    for one in longer:
        if len(one.streams) == 1:
            assert one.kept
            assert one.tuples.expected == pytest.approx(alone[one.streams].tuples.expected / 2)
    assert not any(one.kept for one in alone.values())


class Vague:
    """Rates known to within a factor of two."""

    def rate(self, stream: str) -> Interval | None:
        known = RATES.rate(stream)
        return None if known is None else Interval(known.low / 2, known.expected, known.high * 2)

    def selectivity(self, predicate: object) -> Interval | None:
        return None


def test_the_forecast_is_as_wide_as_the_statistics() -> None:
    (store, *_) = added_state(None, _planned(_parsed(DRAFT.format(10)), known=Vague()))
    assert store.tuples.high == pytest.approx(2 * store.tuples.expected)
    assert store.tuples.low == pytest.approx(store.tuples.expected / 2)
