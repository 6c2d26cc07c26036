"""A replay's epochs for metrics.json: what ran, why, and whether it was worth it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from jobs.adaptation.decision import Decision
from jobs.adaptation.observed_epochs import elapsed_s, epoch_counts, observed_statistics
from jobs.recovery.batch_history import BatchLine
from jobs.recovery.epochs import q_error, sent
from optimizer.adaptation.saving import saved, settled_after_us
from optimizer.partitioning.matrix.groups import grids_by_stream
from optimizer.physical.graph import PhysicalGraph

Document = dict[str, object]


def report_epochs(
    lines: Sequence[BatchLine], decisions: Sequence[Decision], graph_of: Callable[[str], PhysicalGraph]
) -> list[Document]:
    """One document per epoch, in order.

    - `switch` tells of a plan that took over in this epoch: its cause (which statistic moved, from
      what to what), the saving that was predicted, and the saving that came about, with the epoch in
      which it was measured: see `_saving`.
    - `shapes` tells which grids took another shape in this epoch (docs/design/matrix.md).
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
    error = q_error(graph.estimates, counts)
    sent_per_batch = [sent(graph_of(line.plan), line.figures.counts.edges) for line in own]
    sent_per_second = sent(graph, counts.edges) / counts.seconds if counts.seconds > 0 else None
    switches = [
        d for d in decisions if d.plan is not None and d.before and own[0].batch <= d.batch <= own[-1].batch
    ]
    from_this = next((d for d in decisions if d.epoch == number and d.kind in ("statistics", "load")), None)
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
        "q_error": None if error is None else error.model_dump(),
        "switches": [_switch(d, lines, decisions, graph_of) for d in switches],
        "shapes": _shapes(own, [line for line in lines if line.batch < own[0].batch][-1:], graph_of),
        "decision": None if from_this is None else _decision(from_this),
    }


def _shapes(
    own: Sequence[BatchLine], before: Sequence[BatchLine], graph_of: Callable[[str], PhysicalGraph]
) -> list[Document]:
    """The grids whose shape changed since the batch before the epoch."""
    changed: list[Document] = []
    for earlier, line in pairwise([*before, *own]):
        if earlier.plan == line.plan:
            continue
        held = grids_by_stream(graph_of(earlier.plan))
        for stream, store in grids_by_stream(graph_of(line.plan)).items():
            was = held.get(stream)
            if was is not None and was.tasks == store.tasks and was.grids != store.grids:
                changed.append(
                    {"batch": line.batch, "stream": stream, "store": store.label, "before": was.label}
                )
    return changed


def _switch(
    decision: Decision,
    lines: Sequence[BatchLine],
    decisions: Sequence[Decision],
    graph_of: Callable[[str], PhysicalGraph],
) -> Document:
    epoch, saving = _saving(decision, lines, decisions, graph_of)
    return {
        "batch": decision.batch,
        "plan": decision.plan,
        "before": decision.before,
        "kind": decision.kind,
        "cause": _cause(decision),
        "predicted_saving": _predicted(decision),
        "actual_saving": saving,
        "actual_saving_epoch": epoch,
    }


def _saving(
    decision: Decision,
    lines: Sequence[BatchLine],
    decisions: Sequence[Decision],
    graph_of: Callable[[str], PhysicalGraph],
) -> tuple[int | None, float | None]:
    """What a switch saved (tuples per second of event time), and the epoch that tells.

    That is what the plan before would have sent under this epoch's statistics, less what was sent.
    Right behind a change of data the stores still hold tuples of before it, so statistics are
    a mixture. The data changed at the latest at the end of the epoch whose statistics made the
    plan change: the first epoch that begins a whole window, the widest of the plan, behind that
    end is the one that counts.

    None, None as long as there is no such epoch: not yet known. It stays so if another plan takes
    over before, if a window is unbounded, or where no two plans were compared.
    """
    if decision.weighed is None or decision.plan is None or decision.before is None or decision.epoch is None:
        return None, None
    graph = graph_of(decision.plan)
    widest = settled_after_us(graph)
    if widest is None:
        return None, None
    learnt = [line.figures.counts.newest_us for line in lines if line.epoch <= decision.epoch]
    moment = max((newest for newest in learnt if newest is not None), default=None)
    following = next((d.batch for d in decisions if d.plan is not None and d.batch > decision.batch), None)
    for number in sorted({line.epoch for line in lines}):
        own = [line for line in lines if line.epoch == number]
        begins = [line.figures.counts.newest_us for line in lines if line.batch < own[0].batch]
        begin = max((newest for newest in begins if newest is not None), default=None)
        if begin is None or moment is None or begin < moment + widest or own[0].batch < decision.batch:
            continue
        if following is not None and own[-1].batch >= following:
            break
        counts = epoch_counts(lines, number)
        if counts is not None and counts.seconds > 0:
            ran = graph_of(own[-1].plan)
            observed, rate = observed_statistics(ran, counts), sent(ran, counts.edges) / counts.seconds
            before = graph_of(decision.before)
            return number, saved(before, ran, observed, decision.learnt, rate, elapsed_s(lines))
    return None, None


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
            for s in decision.learnt.statistics
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
