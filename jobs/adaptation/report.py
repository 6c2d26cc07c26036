"""The epochs of a replay for metrics.json: what ran, why, and whether it was worth it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from jobs.adaptation.controller import elapsed_s, epoch_counts, observed_statistics
from jobs.adaptation.decision import Decision
from jobs.epochs import EpochCounts, q_error, sent
from jobs.history import BatchLine
from optimizer.estimate import estimate
from optimizer.graph import PhysicalGraph
from optimizer.statistics import DefaultStatistics, LayeredStatistics

Document = dict[str, object]


def report_epochs(
    lines: Sequence[BatchLine], decisions: Sequence[Decision], graph_of: Callable[[str], PhysicalGraph]
) -> list[Document]:
    """One document per epoch, in order.

    - `switch` tells of a plan that took over in this epoch: its cause (which statistic moved, from
      what to what), the saving that was predicted, and the saving that came about: what the plan
      before would have sent under this epoch's statistics, less what was sent.
    - `decision` tells what was decided from this epoch's statistics, for which batch.
    - `q_error` compares the rates that the plan in use was chosen for with what happened.

    Rates and savings are in tuples per second of event time. What is not known is null.
    """
    return [_epoch(number, lines, decisions, graph_of) for number in sorted({line.epoch for line in lines})]


def _epoch(
    number: int,
    lines: Sequence[BatchLine],
    decisions: Sequence[Decision],
    graph_of: Callable[[str], PhysicalGraph],
) -> Document:
    own = [line for line in lines if line.epoch == number]
    graph = graph_of(own[-1].plan)
    counts = epoch_counts(lines, number)
    assert counts is not None, "an epoch of the history has a batch"
    error = q_error(graph, counts)
    sent_per_batch = [sent(graph_of(line.plan), line.figures.counts.edges) for line in own]
    sent_per_second = sent(graph, counts.edges) / counts.seconds if counts.seconds > 0 else None
    switches = [
        d for d in decisions if d.plan is not None and d.before and own[0].batch <= d.batch <= own[-1].batch
    ]
    from_this = next((d for d in decisions if d.epoch == number and d.kind == "statistics"), None)
    return {
        "epoch": number,
        "first_batch": own[0].batch,
        "last_batch": own[-1].batch,
        "batches": len(own),
        "plan": own[-1].plan,
        "plan_id": own[-1].plan,
        "event_seconds": round(counts.seconds, 6),
        "tuples_in": sum(line.figures.tuples_in for line in own),
        "results": sum(sum(line.figures.results.values()) for line in own),
        "seconds": round(sum(line.seconds for line in own), 6),
        "state_bytes": own[-1].figures.state_bytes,
        "sent": sum(sent_per_batch),
        "sent_per_batch": sent_per_batch,
        "sent_per_second": sent_per_second,
        "q_error": None if error is None else asdict(error),
        "switches": [_switch(d, lines, number, counts, sent_per_second, graph_of) for d in switches],
        "decision": None if from_this is None else _decision(from_this),
    }


def _switch(
    decision: Decision,
    lines: Sequence[BatchLine],
    epoch: int,
    counts: EpochCounts,
    sent_per_second: float | None,
    graph_of: Callable[[str], PhysicalGraph],
) -> Document:
    actual = None
    if sent_per_second is not None and decision.before is not None and decision.weighed is not None:
        graph = graph_of(next(line.plan for line in reversed(lines) if line.epoch == epoch))
        known = LayeredStatistics((observed_statistics(graph, counts), decision.known, DefaultStatistics()))
        otherwise = estimate(graph_of(decision.before), known, elapsed_s(lines))
        actual = otherwise.probe - sent_per_second
    return {
        "batch": decision.batch,
        "plan": decision.plan,
        "before": decision.before,
        "kind": decision.kind,
        "cause": _cause(decision),
        "predicted_saving": _predicted(decision),
        "actual_saving": actual,
    }


def _decision(decision: Decision) -> Document:
    weighed = decision.weighed
    return {
        "for_batch": decision.batch,
        "switched": decision.plan is not None,
        "cause": _cause(decision),
        "predicted_saving": _predicted(decision),
        "moved_tuples": None if weighed is None else weighed.moved,
        "patience_seconds": None if weighed is None else weighed.patience_s,
        "statistics": [
            {"name": s.name, "value": s.value, "low": s.low, "high": s.high, "source": s.source}
            for s in decision.known.statistics
        ],
    }


def _cause(decision: Decision) -> Document:
    moved = decision.moved
    return {
        "text": decision.cause,
        "statistic": None if moved is None else moved.statistic,
        "from": None if moved is None else moved.before,
        "to": None if moved is None else moved.after,
    }


def _predicted(decision: Decision) -> float | None:
    """Of tuples sent; None where plans were not compared."""
    weighed = decision.weighed
    return None if weighed is None else weighed.running_probe - weighed.candidate_probe
