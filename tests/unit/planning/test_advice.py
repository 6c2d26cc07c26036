"""Advice and the state forecast of a draft: numbers that planning the changed query again confirms."""

from __future__ import annotations

from datetime import timedelta

import pytest

from optimizer.explain.advice import FARTHEST, LEAST_SAVING, advise
from optimizer.explain.forecast import added_state
from optimizer.explain.marginal import marginal_cost
from optimizer.plan import Plan, plan
from optimizer.problem import Options
from optimizer.query import Query
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics, Interval, StatisticsProvider
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


def test_a_window_that_is_kept_already_lets_steps_be_shared() -> None:
    running = _planned(_parsed(RUNNING, "running"))
    draft = _parsed(DRAFT.format(10))
    first = advise(running, draft)[0]
    assert first.like == "running"
    assert {(one.alias, one.present, one.proposed) for one in first.widenings} == {
        (alias, timedelta(seconds=10), timedelta(seconds=12)) for alias in "abc"
    }
    assert first.after.reused_steps > first.before.reused_steps
    # The saving is that of the query written with the longer windows.
    before, after = marginal_cost(running, draft), marginal_cost(running, _parsed(DRAFT.format(12)))
    assert first.saved_probe == pytest.approx(before.probe - after.probe)
    assert first.saved_share == pytest.approx(
        1 - (after.probe + after.storage) / (before.probe + before.storage)
    )
    assert first.saved_share >= LEAST_SAVING


@pytest.mark.parametrize("seconds", [12, 13, 12 / FARTHEST - 0.1])
def test_nothing_is_advised_that_is_no_widening_or_too_far(seconds: float) -> None:
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
