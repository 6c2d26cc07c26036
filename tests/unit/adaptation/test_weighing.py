"""When a switch is worth it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optimizer.adaptation import LearntStatistics, Weighed, learn, weigh
from optimizer.adaptation.weighing import LEAST_SHARE, REPAY_EPOCHS, same_plan
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.statistics import FixedStatistics
from tests.unit.planning import clash

QUERY = clash.queries()[0]
R_S, S_T = QUERY.join_predicates()
RATES = dict.fromkeys("rst", 100.0)


def weighed(saving: float, moved: float, running: float = 1000.0, patience_s: float = 10.0) -> Weighed:
    return Weighed(running, running - saving, saving, moved, patience_s)


@pytest.mark.parametrize(
    ("saving", "moved", "worthwhile"),
    [
        (0.0, 0.0, False),
        (-5.0, 0.0, False),
        (1000 * LEAST_SHARE, 0.0, True),
        (1000 * LEAST_SHARE - 1, 0.0, False),
        (100.0, 1000.0, True),
        (100.0, 1001.0, False),
    ],
)
def test_a_saving_must_be_clear_and_repay_the_switch(saving: float, moved: float, worthwhile: bool) -> None:
    assert weighed(saving, moved).worthwhile is worthwhile


@pytest.mark.parametrize(("low", "worthwhile"), [(None, True), (100.0, True), (99.0, False), (-1.0, False)])
def test_a_saving_must_repay_the_switch_at_its_least(low: float | None, worthwhile: bool) -> None:
    assert replace(weighed(500.0, 1000.0), low=low).worthwhile is worthwhile


def test_a_saving_that_rests_on_a_guess_is_not_taken() -> None:
    """Observed numbers tell the same saving as assumed ones, and only they are sure of it."""
    today = {R_S: 0.0001, S_T: 0.05}
    running = plan([QUERY], clash.CATALOG, learn([QUERY], FixedStatistics(RATES, {R_S: 0.05, S_T: 0.0001})))
    known = learn([QUERY], FixedStatistics(RATES, today))
    candidate = plan([QUERY], clash.CATALOG, known)
    for factor, sure in ((1.05, True), (1000.0, False)):
        told = LearntStatistics(
            tuple(replace(s, low=s.value / factor, high=s.value * factor) for s in known.statistics)
        )
        compared = weigh(running.graph, candidate.graph, told, Options(), 1.0, 3600.0)
        assert compared.promising
        assert compared.worthwhile is sure


def test_a_plan_is_not_worth_exchanging_for_itself() -> None:
    known = learn([QUERY], FixedStatistics(RATES, {R_S: 0.01, S_T: 0.01}))
    graph = plan([QUERY], clash.CATALOG, known, retain="everything").graph
    compared = weigh(graph, graph, known, Options(), 1.0, 3600.0)
    assert (compared.saving, compared.moved) == (0.0, 0.0)
    assert not compared.worthwhile


def test_a_plan_for_yesterdays_data_is_worth_exchanging() -> None:
    """S and T meet seldom yesterday; today S finds a hundred partners in T for every one in R."""
    yesterday = learn([QUERY], FixedStatistics(RATES, {R_S: 0.05, S_T: 0.0001}))
    today = learn([QUERY], FixedStatistics(RATES, {R_S: 0.0001, S_T: 0.05}))
    options = Options(mirs=False)
    running = plan([QUERY], clash.CATALOG, yesterday, options=options, retain="everything").graph
    candidate = plan([QUERY], clash.CATALOG, today, options=options, retain="everything").graph
    assert not same_plan(running, candidate)
    compared = weigh(running, candidate, today, options, 1.0, 3600.0)
    assert compared.worthwhile
    assert compared.patience_s == REPAY_EPOCHS
    # <S, T, R> makes 5 * 100 tuples/s out of S; <S, R, T> one.
    assert compared.saving == pytest.approx(2 * (5 * 100 - 0.01 * 100) - 0, rel=0.6)
    back = weigh(candidate, running, today, options, 1.0, 3600.0)
    assert back.saving == pytest.approx(-compared.saving)
    assert not back.worthwhile


def test_new_stores_are_paid_for() -> None:
    known = learn([QUERY], FixedStatistics(RATES, {R_S: 0.01, S_T: 0.01}))
    one = plan([QUERY], clash.CATALOG, known, "flat", retain="everything", tasks=1).graph
    other = plan([QUERY], clash.CATALOG, known, "flat", retain="everything", tasks=2).graph
    # Three streams of 100 tuples/s with windows of a second are placed anew.
    assert weigh(one, other, known, Options(), 1.0, 3600.0).moved == pytest.approx(300.0)
