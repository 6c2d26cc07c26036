"""Sums over an epoch, and how far a plan's estimates are from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.adaptation.observed_epochs import observed_statistics
from jobs.recovery.epochs import q_error, sent, sum_counts
from jobs.recovery.manifest import BatchCounts
from optimizer.adaptation import learn
from optimizer.physical.graph import Estimate
from optimizer.planner.plan import plan
from optimizer.statistics import FixedStatistics
from tests.unit.planning import clash

SECOND = 1_000_000
QUERY = clash.queries()[0]
R_S, S_T = QUERY.join_predicates()
KNOWN = learn([QUERY], FixedStatistics(dict.fromkeys("rst", 100.0), {R_S: 0.01, S_T: 0.01}))
GRAPH = plan([QUERY], clash.CATALOG, KNOWN, "flat", retain="everything", tasks=3).graph


def test_counts_add_up_and_what_is_held_is_an_average() -> None:
    batches = [
        BatchCounts({"r": 3}, {"e": 5}, {"p": 1}, {"S": 10}, oldest_us=0, newest_us=2 * SECOND),
        BatchCounts({"r": 4}, {"e": 6, "f": 1}, {"p": 2}, {"S": 20}, newest_us=5 * SECOND),
    ]
    first = sum_counts(batches, None)
    assert first.seconds == 5.0
    assert (first.accepted, first.edges, first.rules, first.held) == (
        {"r": 7},
        {"e": 11, "f": 1},
        {"p": 3},
        {"S": 15},
    )
    assert sum_counts(batches, before_us=SECOND).seconds == 4.0
    assert sum_counts([BatchCounts()], None).seconds == 0.0


def test_sent_counts_copies_of_probes_only() -> None:
    probes = {rule.edge for rule in GRAPH.rules if rule.kind == "probe"}
    copies = sum(3 if edge.kind == "all" else 1 for edge in GRAPH.edges if edge.id in probes)
    assert sent(GRAPH, {edge.id: 10 for edge in GRAPH.edges}) == 10 * copies


def test_exact_estimates_have_an_error_of_one() -> None:
    rates = {e.id: e.tuples_per_second for e in GRAPH.estimates if e.tuples_per_second is not None}
    counts = sum_counts(
        [
            BatchCounts(
                edges={e.id: round(1000 * rates[e.id]) for e in GRAPH.edges},
                rules={r.id: round(1000 * rates[r.id]) for r in GRAPH.rules if r.id in rates},
                oldest_us=0,
                newest_us=1000 * SECOND,
            )
        ],
        None,
    )
    exact = q_error(GRAPH.estimates, counts)
    assert exact is not None
    assert (exact.median, exact.max) == pytest.approx((1.0, 1.0))
    wrong = (Estimate("e", tuples_per_second=8.0), Estimate("f", tuples_per_second=1.0))
    found = q_error(wrong, replace(counts, edges={"e": 2000, "f": 1000}, rules={}))
    assert found is not None
    assert (found.max, found.worst, found.median) == (4.0, "e", 2.5)
    none = q_error(wrong, replace(counts, edges={"e": 0, "f": 1000}, rules={}))
    assert none is not None
    assert none.max == 8.0 / (0.5 / 1000), "nothing seen counts as half a tuple"
    assert q_error(GRAPH.estimates, replace(counts, seconds=0.0)) is None


def test_counts_of_leaves_tell_selectivities() -> None:
    """The runtime counts what each rule produces, so even the last step of an order is observed."""
    windows_s, rate = 1.0, 2000
    by_store = {rule.edge: rule.store for rule in GRAPH.rules if rule.kind == "store"}
    edges = {e.id: rate for e in GRAPH.edges}
    rules = {}
    for rule in GRAPH.rules:
        if rule.kind == "probe":
            share = 0.02 if "r" in {*rule.bound, rule.renames[0][1]} and len(rule.bound) == 1 else 0.005
            rules[rule.id] = round(rate * rate * windows_s * share)
    held = dict.fromkeys(by_store.values(), rate * 5)
    counts = sum_counts(
        [BatchCounts(dict.fromkeys("rst", rate), edges, rules, held, 0, SECOND)],
        None,
    )
    observed = observed_statistics(GRAPH, counts)
    known = learn([QUERY], FixedStatistics(), observed)
    found = {p: known.find(p) for p in (R_S, S_T)}
    assert {s.source for s in found.values() if s} == {"observed"}
