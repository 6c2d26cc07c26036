"""What epochs show adds up, fades, and is only as certain as it deserves."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from optimizer.adaptation import learn
from optimizer.estimate import estimate
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from optimizer.statistics import (
    DefaultStatistics,
    FixedStatistics,
    Interval,
    LayeredStatistics,
    Measured,
    ObservedStatistics,
    observe,
)
from optimizer.statistics.observation.belief import believed, then
from optimizer.statistics.observation.chains import chains
from optimizer.statistics.observation.evidence import Evidence, is_better
from tests.unit.planning.workloads import CATALOG

QUERY = parse_query(
    "SELECT p.i FROM p [RANGE 2 SECONDS], q [RANGE 4 SECONDS] WHERE p.i = q.i AND p.s = q.s", "q", CATALOG
)


def _poisson(mean: float, chance: random.Random) -> int:
    left, count = mean, 0
    while (left := left - chance.expovariate(1.0)) > 0:
        count += 1
    return count


@pytest.mark.parametrize("mean", [1.0, 5.0, 40.0, 400.0])
def test_intervals_hold_the_truth_as_often_as_they_say(mean: float) -> None:
    chance = random.Random(1)
    drawn = [Evidence(1000.0, _poisson(mean, chance)).interval for _ in range(1000)]
    held = sum(one.low <= mean / 1000 <= one.high for one in drawn)
    assert held >= 930


@pytest.mark.parametrize("mean", [3.0, 30.0, 300.0])
@pytest.mark.parametrize("uneven", [0.0, 0.1, 0.25])
def test_epochs_that_vary_tell_where_their_mean_lies_and_the_next_one(mean: float, uneven: float) -> None:
    """Logarithms of rates have `uneven` as their standard deviation; trials are twelve epochs and one."""
    chance = random.Random(3)

    def counted() -> Evidence:
        return Evidence(100.0, _poisson(mean * chance.lognormvariate(-(uneven**2) / 2, uneven), chance))

    means = nexts = 0
    for _ in range(400):
        recent, lasting = counted(), None
        for _ in range(11):
            recent, lasting = then(recent, lasting, counted())
        told, now = believed(recent, lasting), counted().ratio
        means += told.interval.low <= mean / 100 <= told.interval.high
        nexts += told.of_another.low <= now <= told.of_another.high
    assert min(means, nexts) >= 0.93 * 400


def test_an_epoch_more_lies_where_those_before_it_say() -> None:
    """Epochs that differ by more than chance widen what is told of the next one."""
    chance = random.Random(2)

    def counted() -> Evidence:
        return Evidence(100.0, _poisson(chance.choice((300.0, 400.0, 500.0)), chance))

    hits = tries = 0
    for _ in range(100):
        told = counted()
        for _ in range(12):
            told = told.then(counted())
        now = counted().ratio
        hits += told.of_another.low <= now <= told.of_another.high
        tries += 1
    assert hits >= 0.85 * tries


def test_what_contradicts_the_past_takes_its_place() -> None:
    recent, lasting = Evidence(100.0, 500.0), None
    for _ in range(10):
        recent, lasting = then(recent, lasting, Evidence(100.0, 500.0))
    assert (recent.ratio, lasting) == (pytest.approx(5.0), None)
    for _ in range(3):
        recent, lasting = then(recent, lasting, Evidence(100.0, 50.0))
        assert believed(recent, lasting).ratio == pytest.approx(0.5)


def test_the_better_of_two_is_the_narrower_or_the_one_that_contradicts() -> None:
    declared = Interval.exactly(0.01)
    assert not is_better(Evidence(100.0, 1.0).interval, declared)
    assert is_better(Evidence(10_000.0, 100.0).interval, declared)
    assert is_better(Evidence(100_000.0, 0.0).interval, declared)
    assert not is_better(Evidence(50.0, 0.0).interval, declared)
    assert is_better(Evidence(100.0, 30.0).interval, declared)


def test_little_evidence_of_many_epochs_is_learnt() -> None:
    """Each epoch alone compares too little to tell anything; together they do."""
    graph = plan([QUERY], CATALOG).graph
    known = None
    for _ in range(30):
        known = learn([QUERY], FixedStatistics(), observe(graph, _epoch(graph, 40, 8, 2)), None, known)
    assert known is not None
    found = [known.find(predicate) for predicate in QUERY.join_predicates()]
    assert [one.source for one in found if one is not None] == ["observed", "observed"]
    rates = [known.rate(stream) for stream in ("p", "q")]
    assert [one.expected for one in rates if one is not None] == pytest.approx([0.4, 0.4])


def _epoch(graph: PhysicalGraph, sent: int, from_p: int, from_q: int) -> Measured:
    """An epoch of 100 s in which p finds `from_p` partners, and q `from_q`."""
    probes = {rule.id: rule.start for rule in graph.rules if isinstance(rule, ProbeRule)}
    return Measured(
        seconds=100.0,
        accepted={"p": sent, "q": sent},
        edges={edge.id: sent for edge in graph.edges},
        held={store.id: 50 for store in graph.stores},
        results={},
        rules={rule: from_p if start == "p" else from_q for rule, start in probes.items()},
    )


def test_a_step_is_estimated_by_what_it_did_in_its_own_direction() -> None:
    """The same predicates, from either side: one finds all, the other nothing."""
    graph = plan([QUERY], CATALOG).graph
    observed = observe(graph, _epoch(graph, 1000, 900, 3))
    found = estimate(graph, LayeredStatistics((observed, DefaultStatistics())))
    made = {rule.start: found.rules[rule.id] for rule in graph.rules if isinstance(rule, ProbeRule)}
    assert made == pytest.approx({"p": 9.0, "q": 0.03})


def test_a_chain_is_the_same_in_plans_that_differ_in_their_layout_only() -> None:
    one, other = (plan([QUERY], CATALOG, tasks=tasks).graph for tasks in (1, 4))
    assert {rule.store for rule in one.rules if isinstance(rule, ProbeRule)} != {
        rule.store for rule in other.rules if isinstance(rule, ProbeRule)
    }
    assert set(chains(one).values()) == set(chains(other).values())
    wider = parse_query(
        "SELECT p.i FROM p [RANGE 3 SECONDS], q [RANGE 4 SECONDS] WHERE p.i = q.i AND p.s = q.s", "q", CATALOG
    )
    changed = plan([wider], CATALOG).graph
    common = set(chains(one).values()) & set(chains(changed).values())
    assert len(common) < len(set(chains(one).values()))


def test_what_is_not_seen_any_more_fades_and_is_forgotten() -> None:
    graph = plan([QUERY], CATALOG).graph
    memory = observe(graph, _epoch(graph, 1000, 900, 3))
    nothing = ObservedStatistics(rates=memory.rates, event_times=memory.event_times)
    for _ in range(5):
        memory = memory.then(nothing)
    assert memory.steps
    assert all(replace(step).epochs < 1 for step in memory.steps)
    for _ in range(30):
        memory = memory.then(nothing)
    assert not memory.steps
