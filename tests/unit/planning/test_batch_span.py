"""Plans are priced by the batches that a topology has, not by those of the default trigger."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimizer.adaptation import LearntStatistics
from optimizer.planner.batch_span import batch_span
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics.observation.daily import Rate
from optimizer.statistics.observation.observed import ObservedStatistics
from tests.unit.planning.workloads import CATALOG

QUERY = "SELECT a.i FROM p [RANGE 5 SECONDS] AS a, q [RANGE 5 SECONDS] AS b WHERE a.i = b.i"


def test_an_epoch_says_what_its_batches_spanned() -> None:
    seen = {"p": Rate.of_epoch(32.0, 100, None), "q": Rate.of_epoch(28_800.0, 4, None)}

    assert LearntStatistics((), memory=ObservedStatistics(rates=seen)).batch_s(16) == 1800.0
    assert LearntStatistics(()).batch_s(16) is None


@pytest.mark.parametrize(
    ("observed_s", "planned_s", "expected_s"), [(0.9, 0.5, 0.5), (1.1, 0.5, 1.0), (1800.0, 0.5, 2048.0)]
)
def test_the_span_of_the_plan_in_use_stays_while_it_is_about_right(
    observed_s: float, planned_s: float, expected_s: float
) -> None:
    query = parse_query(QUERY, "q", CATALOG)
    made = plan([query], CATALOG, options=Options(cost="cores", batch_s=planned_s))

    span_s = batch_span(0.5, observed_s, made.running)

    assert span_s == expected_s
    again = replace(made.options, batch_s=span_s)
    kept = plan([query], CATALOG, options=again, running=made.running).running.key == made.running.key
    assert kept is (span_s == planned_s)


def test_longer_batches_pay_fixed_parts_less_often() -> None:
    query = parse_query(QUERY, "q", CATALOG)
    often, seldom = (
        plan([query], CATALOG, options=Options(cost="cores", batch_s=batch_span(0.5, seen_s)))
        for seen_s in (None, 64.0)
    )

    assert seldom.cost.probe < 0.5 * often.cost.probe
