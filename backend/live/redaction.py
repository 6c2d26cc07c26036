"""What a topology does, for those who do not read all of its queries.

Events and the state that they make are told alike, so that a snapshot and the events after it stay a fresh
snapshot:

    told(fold(state, event), sight) == fold(told(state, sight), told(event, sight))

Counts of stores and steps keep their sums: what is of another team stands under a name that says nothing. How
many results others have is not told: `OTHERS` stands for all of their queries, and counts nothing.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from backend.live.state import LiveState
from backend.topologies.sight import OTHERS, Sight
from jobs.protocol import (
    AnyEvent,
    BatchCompleted,
    BatchFailed,
    BatchGivenUp,
    BatchWaits,
    CoreUse,
    DeployRefused,
    EpochCompleted,
    Heartbeat,
    JobFailed,
    JobStarted,
    JobStopped,
    PlanSwitched,
    QErrorMetrics,
    QueryMetrics,
    ShapesChanged,
)

_UNTOLD = QueryMetrics(latency_ms_p50=None, latency_ms_p99=None, complete_since=None)


def told_event(event: AnyEvent, sight: Sight) -> AnyEvent:
    """An event as it may be told."""
    return event if sight.queries is None else event.model_copy(update=_hidden_parts(event, sight))


def told_state(state: LiveState, sight: Sight) -> LiveState:
    """A snapshot's state as it may be told."""
    if sight.queries is None:
        return state
    batch, failed, statistics = state.batch, state.failed_batch, state.statistics
    waiting = state.waiting_batch
    return state.model_copy(
        update={
            "error": None if state.error is None else sight.text(state.error),
            "batch": None if batch is None else told_event(batch, sight),
            "statistics": None if statistics is None else told_event(statistics, sight),
            "failed_batch": None
            if failed is None
            else failed.model_copy(
                update={"error": sight.text(failed.error), "set_aside": sight.by_stream(failed.set_aside)}
            ),
            "waiting_batch": None
            if waiting is None
            else waiting.model_copy(update={"reason": sight.text(waiting.reason)}),
            "history": tuple(one.model_copy(update={"results": None}) for one in state.history),
            "store_history": tuple(
                one.model_copy(update={"stores": sight.by_element(one.stores)}) for one in state.store_history
            ),
            "switches": tuple(
                one.model_copy(update={"cause": sight.text(one.cause)}) for one in state.switches
            ),
            "shapes": tuple(
                one.model_copy(update={"stores": sight.by_stream(one.stores)}) for one in state.shapes
            ),
            "epochs": tuple(
                one.model_copy(
                    update={
                        "q_error": _worst(one.q_error, sight),
                        "total_cores": _cores(one.total_cores, sight),
                    }
                )
                for one in state.epochs
            ),
        }
    )


@singledispatch
def _hidden_parts(event: AnyEvent, sight: Sight) -> dict[str, Any]:
    """The fields of an event that are told otherwise.

    A new kind of event says here what it tells.
    """
    raise TypeError(f"what {type(event).__name__} may tell of other teams is not said")


@_hidden_parts.register(JobStarted)
@_hidden_parts.register(Heartbeat)
def _nothing(event: AnyEvent, sight: Sight) -> dict[str, Any]:
    return {}


@_hidden_parts.register
def _batch(event: BatchCompleted, sight: Sight) -> dict[str, Any]:
    return {
        "streams": sight.by_stream(event.streams),
        "stores": sight.by_element(event.stores),
        "edges": sight.by_element(event.edges),
        "queries": {**sight.by_query(event.queries), OTHERS: _UNTOLD},
        "shapes": sight.by_element(event.shapes),
    }


@_hidden_parts.register
def _epoch(event: EpochCompleted, sight: Sight) -> dict[str, Any]:
    counted = ("edges", "rules", "held", "rates", "stores", "cores", "shapes")
    return {
        **{name: sight.by_element(getattr(event, name)) for name in counted},
        "accepted": sight.by_stream(event.accepted),
        "total_cores": _cores(event.total_cores, sight),
        "q_error": _worst(event.q_error, sight),
    }


@_hidden_parts.register
def _switch(event: PlanSwitched, sight: Sight) -> dict[str, Any]:
    return {"cause": sight.text(event.cause)}


@_hidden_parts.register
def _shapes(event: ShapesChanged, sight: Sight) -> dict[str, Any]:
    return {"stores": sight.by_stream(event.stores)}


@_hidden_parts.register
def _failed(event: BatchFailed, sight: Sight) -> dict[str, Any]:
    return {"error": sight.text(event.error), "set_aside": sight.by_stream(event.set_aside)}


@_hidden_parts.register
def _given_up(event: BatchGivenUp, sight: Sight) -> dict[str, Any]:
    failed = {name: why if sight.reads(name) else sight.text(why) for name, why in event.failed.items()}
    return {"steps": sight.by_element(event.steps), "failed": sight.by_query(failed)}


@_hidden_parts.register(BatchWaits)
@_hidden_parts.register(DeployRefused)
@_hidden_parts.register(JobStopped)
def _reason(event: BatchWaits | DeployRefused | JobStopped, sight: Sight) -> dict[str, Any]:
    return {"reason": sight.text(event.reason)}


@_hidden_parts.register
def _job_failed(event: JobFailed, sight: Sight) -> dict[str, Any]:
    return {"error": sight.text(event.error), "detail": sight.text(event.detail)}


def _cores(used: CoreUse | None, sight: Sight) -> CoreUse | None:
    return None if used is None else used.model_copy(update={"reason": sight.text(used.reason)})


def _worst(error: QErrorMetrics | None, sight: Sight) -> QErrorMetrics | None:
    if error is None:
        return None
    (worst,) = sight.by_element({error.worst: None})
    return error.model_copy(update={"worst": worst})
