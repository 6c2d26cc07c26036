"""Which evidence wins, and what is reported as having moved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from pydantic import TypeAdapter

from optimizer.adaptation import LearntStatistics, learn, most_moved
from optimizer.adaptation.draws import Drawn
from optimizer.algebra.expression import Expression, columns_of
from optimizer.explain.forecast import AtEnd
from optimizer.physical.rules import ProbeRule
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics, Interval, LayeredStatistics, ObservedStatistics
from tests.unit.planning import clash

QUERY = clash.queries()[0]
R_S, S_T = QUERY.join_predicates()


@dataclass(frozen=True)
class Said:
    """A provider that knows one predicate."""

    about: Expression
    interval: Interval

    def rate(self, stream: str) -> Interval | None:
        return None

    def selectivity(self, predicate: Expression) -> Interval | None:
        from optimizer.logical.canonical_inputs import blank_ordinals

        return self.interval if blank_ordinals(predicate) == blank_ordinals(self.about) else None


def source(known: LearntStatistics, predicate: Expression) -> tuple[str, float]:
    found = known.find(predicate)
    assert found is not None
    return found.source, found.value


def test_declared_before_assumed() -> None:
    known = learn([QUERY], clash.STATISTICS)
    assert source(known, R_S) == ("declared", 0.005)
    rate = known.find_rate("r")
    assert rate is not None
    assert (rate.source, rate.value) == ("assumed", 100.0)


def test_observed_wins_and_is_remembered() -> None:
    observed = FixedStatistics({"r": 7.0}, {R_S: 0.2})
    first = learn([QUERY], clash.STATISTICS, observed)
    assert source(first, R_S) == ("observed", 0.2)
    second = learn([QUERY], clash.STATISTICS, FixedStatistics(), None, first)
    assert source(second, R_S) == ("remembered", 0.2)
    rate = second.find_rate("r")
    assert rate is not None
    assert (rate.source, rate.value) == ("remembered", 7.0)
    assert source(second, S_T) == ("declared", 0.0075)


@pytest.mark.parametrize(
    ("counted", "wins"),
    [
        (Interval(0.1, 0.15, 0.3), ("remembered", 0.2)),
        (Interval(0.3, 0.4, 0.5), ("sampled", 0.4)),
    ],
    ids=["within the sample's interval", "contradicted by the sample"],
)
def test_a_sample_overrules_only_what_it_contradicts(counted: Interval, wins: tuple[str, float]) -> None:
    first = learn([QUERY], clash.STATISTICS, FixedStatistics({}, {R_S: 0.2}))
    assert source(learn([QUERY], clash.STATISTICS, None, Said(R_S, counted), first), R_S) == wins


def test_a_sample_beats_a_default() -> None:
    known = learn([QUERY], FixedStatistics(), None, Said(S_T, Interval(0.0, 0.001, 0.002)))
    assert source(known, S_T) == ("sampled", 0.001)
    assert source(known, R_S) == ("assumed", 0.01)


def test_a_sample_is_not_asked_how_far_apart_tuples_lie() -> None:
    """Its pairs are of any age; those that a plan compares lie in windows, which follow from conditions."""
    near = "s.at >= r.at AND s.at <= r.at + INTERVAL 10 SECONDS"
    query = parse_query(f"SELECT r.b FROM r, s WHERE r.b = s.b AND {near}", "q", clash.CATALOG)
    later = next(p for p in query.predicates if "at" in {c.name for c in columns_of(p)})
    seen = ObservedStatistics(event_times=frozenset({("r", "at"), ("s", "at")}))
    known = learn([query], FixedStatistics(), seen, Said(later, Interval(0.0, 0.001, 0.002)))
    assert source(known, later)[0] == "assumed"
    rate = {"r": 10.0, "s": 10.0}
    for uncertain in (known, Drawn(known, 3), AtEnd(known, "low"), AtEnd(known, "high")):
        made = plan([query], clash.CATALOG, LayeredStatistics((FixedStatistics(rate), uncertain)))
        keys = [uncertain.selectivity(p) for p in query.predicates if "b" in {c.name for c in columns_of(p)}]
        assert keys[0] is not None
        told = {one.id: one.tuples_per_second or 0.0 for one in made.graph.estimates}
        steps = [told[rule.id] for rule in made.graph.rules if isinstance(rule, ProbeRule)]
        assert max(steps) == pytest.approx(10.0 * 10.0 * 10.0 * keys[0].expected)


def test_what_is_known_survives_a_document() -> None:
    known = learn([QUERY], clash.STATISTICS, FixedStatistics({"s": 3.5}, {S_T: 0.25}))
    adapter = TypeAdapter(LearntStatistics)
    read = adapter.validate_json(adapter.dump_json(known))
    assert read == known
    assert read.selectivity(S_T) == known.selectivity(S_T)
    assert read.rate("s") == Interval.exactly(3.5)


def test_self_joins_ask_once_for_each_predicate() -> None:
    text = (
        "SELECT x.b FROM r [RANGE 1 SECOND] x, r [RANGE 1 SECOND] y, r [RANGE 1 SECOND] z "
        "WHERE x.b = y.b AND y.b = z.b"
    )
    known = learn([parse_query(text, "q", clash.CATALOG)], FixedStatistics())
    assert [s.name for s in known.statistics] == ["rate of r", "r.b = r.b"]


def test_the_largest_factor_has_moved_most() -> None:
    before = learn([QUERY], clash.STATISTICS)
    after = LearntStatistics(
        tuple(
            replace(s, value=s.value * 3, low=0.0, high=1.0) if s.predicate == before.statistics[-1].predicate
            else replace(s, value=s.value * 2, low=0.0, high=1e9)
            for s in before.statistics
        )
    )  # fmt: skip
    moved = most_moved(before, after)
    assert moved is not None
    assert moved.statistic == before.statistics[-1].name
    assert moved.after == pytest.approx(3 * moved.before)
    assert str(moved) == f"selectivity of {moved.statistic} went from {moved.before:.3g} to {moved.after:.3g}"
    assert most_moved(before, before) is None
