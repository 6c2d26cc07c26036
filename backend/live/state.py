"""What a topology does right now, as a pure fold of its events.

    fold(fold(state, events[:k]), events[k:]) == fold(state, events)

so a snapshot plus the events after it equals a fresh snapshot, wherever the cut is. The
browser does the same fold; docs/design/frontend-contract.md holds its table.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeVar, get_args

from pydantic import BaseModel

from backend.topologies.sight import OTHERS
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
    Phase,
    PlanSwitched,
    QErrorMetrics,
    ShapeChange,
    ShapesChanged,
)
from jobs.protocol.metrics import StorePoint, values

BATCHES_KEPT = 300
SWITCHES_KEPT = 50
EPOCHS_KEPT = 50
STORE_BATCHES_KEPT = 60
"""Points of a sparkline."""
STORE_BATCHES_LEAST = 5
STORE_POINTS_KEPT = 600
"""Over all stores together: many stores are followed for fewer batches, so that a snapshot stays small."""
Entry = TypeVar("Entry", bound=BaseModel)
State = Literal["stopped", "starting", "running", "idle", "stopping", "failed"]
STATES: tuple[State, ...] = get_args(State)
LIVE_STATE_CHOICES = [(state, state) for state in STATES]


class HistoryPoint(BaseModel, frozen=True, extra="forbid"):
    """A batch in short, for the sparklines."""

    batch: int
    at: datetime
    epoch: int
    seconds: float
    tuples_in: int
    backlog: int | None
    results: int | None
    """Of all queries; None where some are not told."""
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    state_bytes: int
    state_tuples: int
    level_seconds: tuple[float, ...] = ()
    """Of `seconds`, by level; empty in states that an older release wrote."""


class StoresPoint(BaseModel, frozen=True, extra="forbid"):
    batch: int
    stores: dict[str, StorePoint]


class SwitchPoint(BaseModel, frozen=True, extra="forbid"):
    at: datetime
    plan_id: str
    epoch: int
    batch: int
    cause: str
    moved: int = 0
    seconds: float = 0.0


class ShapePoint(BaseModel, frozen=True, extra="forbid"):
    """Grids that took another shape while their plan stayed."""

    at: datetime
    plan_id: str
    epoch: int
    batch: int
    stores: dict[str, ShapeChange]
    moved: int
    seconds: float


class GivenUp(BaseModel, frozen=True, extra="forbid"):
    """A batch in which steps make more than they may: it waits for another plan."""

    at: datetime
    plan_id: str
    batch: int


class FailedBatch(BaseModel, frozen=True, extra="forbid"):
    """A batch that failed repeatedly, and what of it was set aside."""

    at: datetime
    batch: int
    error: str
    set_aside: dict[str, int]
    """Tuples by stream; empty while they are searched for."""


class WaitingBatch(BaseModel, frozen=True, extra="forbid"):
    """A batch that cannot be worked on while a server does not answer."""

    at: datetime
    """When it was tried last."""
    batch: int
    reason: str


class EpochPoint(BaseModel, frozen=True, extra="forbid"):
    """An epoch in short: how far what its plan was chosen for was from what happened."""

    epoch: int
    at: datetime
    plan_id: str
    first_batch: int
    last_batch: int
    event_seconds: float
    sent: int
    q_error: QErrorMetrics | None
    total_cores: CoreUse | None = None


class LiveState(BaseModel, frozen=True, extra="forbid"):
    version: Literal[1] = 1
    last_event_id: str = "0-0"
    state: State = "stopped"
    error: str | None = None
    run: str | None = None
    plan_id: str | None = None
    epoch: int | None = None
    heartbeat_at: datetime | None = None
    launched_at: datetime | None = None
    """When the newest run was first heard of; None behind its first batch."""
    phase: Phase | None = None
    """What it does until then."""
    batch: BatchCompleted | None = None
    history: tuple[HistoryPoint, ...] = ()
    """Oldest first."""
    store_history: tuple[StoresPoint, ...] = ()
    """Oldest first, of the newest run only."""
    switches: tuple[SwitchPoint, ...] = ()
    """Oldest first."""
    shapes: tuple[ShapePoint, ...] = ()
    """Oldest first."""
    given_up: GivenUp | None = None
    """The batch that waits for another plan; None if none does."""
    failed_batch: FailedBatch | None = None
    """The newest batch of the newest run that is searched, or was, for the tuples that it fails with."""
    waiting_batch: WaitingBatch | None = None
    """The batch that waits for a server; None if none does."""
    epochs: tuple[EpochPoint, ...] = ()
    """Oldest first."""
    statistics: EpochCompleted | None = None
    """The newest epoch of the newest run, whole: every element's estimate beside what happened."""

    @property
    def ended(self) -> bool:
        return self.state in ("stopped", "failed")


def concerns(state: LiveState, event: AnyEvent) -> bool:
    """False for an event of a run that was followed by another one, or that has ended.

    Run ids sort by launch. A process that was given up may still write; it must not count.
    """
    if state.run is None or event.run > state.run:
        return True
    return event.run == state.run and not state.ended


def fold(state: LiveState, event_id: str, event: AnyEvent) -> LiveState:
    """The state after one more event."""
    if not concerns(state, event):
        return state.model_copy(update={"last_event_id": event_id})
    changed: dict[str, object] = {"last_event_id": event_id}
    if state.run is None or event.run > state.run:
        changed |= {
            "run": event.run,
            "state": "starting",
            "batch": None,
            "error": None,
            "heartbeat_at": None,
            "launched_at": event.at,
            "phase": None,
            "store_history": (),
            "statistics": None,
            "given_up": None,
            "failed_batch": None,
            "waiting_batch": None,
        }
    current = state.model_copy(update=changed)
    return current.model_copy(update=_effect(current, event))


def _effect(state: LiveState, event: AnyEvent) -> dict[str, object]:
    match event:
        case JobStarted():
            return {"plan_id": event.plan_id, "state": "running", "heartbeat_at": event.at}
        case Heartbeat():
            return {"state": event.state, "heartbeat_at": event.at, "phase": event.phase}
        case BatchCompleted():
            return {
                "batch": event,
                "launched_at": None,
                "phase": None,
                "given_up": None,
                "waiting_batch": None,
                "failed_batch": _still_told(state.failed_batch, event),
                "history": _put(state.history, "batch", _point(event), BATCHES_KEPT),
                "store_history": _put(
                    state.store_history, "batch", _stores_point(event), _store_batches_kept(len(event.stores))
                ),
                "epoch": event.epoch,
                "plan_id": event.plan_id,
                "state": "stopping" if state.state == "stopping" else "running",
                "heartbeat_at": event.at,
            }
        case EpochCompleted():
            return {
                "epochs": _put(state.epochs, "epoch", _picked(EpochPoint, event), EPOCHS_KEPT),
                "statistics": event,
            }
        case PlanSwitched():
            return {
                "switches": (*state.switches, _picked(SwitchPoint, event))[-SWITCHES_KEPT:],
                "plan_id": event.plan_id,
                "epoch": event.epoch,
            }
        case ShapesChanged():
            return {"shapes": _put(state.shapes, "batch", _picked(ShapePoint, event), SWITCHES_KEPT)}
        case BatchFailed():
            return {"failed_batch": _picked(FailedBatch, event)}
        case BatchWaits():
            return {"waiting_batch": _picked(WaitingBatch, event)}
        case BatchGivenUp():
            return {"given_up": _picked(GivenUp, event)}
        case DeployRefused():
            return {}
        case JobStopped():
            return {"state": "stopped", "given_up": None, "waiting_batch": None, "phase": None}
        case JobFailed():
            return {
                "state": "failed",
                "error": event.error,
                "given_up": None,
                "waiting_batch": None,
                "phase": None,
            }


def _still_told(failed: FailedBatch | None, batch: BatchCompleted) -> FailedBatch | None:
    """What was searched is told no more if nothing was set aside in the end."""
    return None if failed is not None and not failed.set_aside and failed.batch <= batch.batch else failed


def _put(entries: tuple[Entry, ...], key: str, entry: Entry, kept: int) -> tuple[Entry, ...]:
    """Add an entry, in place of the one with the same key, and keep the newest.

    A replayed batch takes its first attempt's; a continued job may tell an epoch's end again.
    """
    for place in range(len(entries) - 1, -1, -1):
        if getattr(entries[place], key) == getattr(entry, key):
            return (*entries[:place], entry, *entries[place + 1 :])
    return (*entries, entry)[-kept:]


def _stores_point(event: BatchCompleted) -> StoresPoint:
    stores = {store: StorePoint(**values(metrics, StorePoint)) for store, metrics in event.stores.items()}
    return StoresPoint(batch=event.batch, stores=stores)


def _store_batches_kept(stores: int) -> int:
    return min(STORE_BATCHES_KEPT, max(STORE_BATCHES_LEAST, STORE_POINTS_KEPT // max(1, stores)))


def _picked(point: type[Entry], event: AnyEvent) -> Entry:
    """The event's fields that the point keeps."""
    return point(**{name: getattr(event, name) for name in point.model_fields})


def _point(event: BatchCompleted) -> HistoryPoint:
    return HistoryPoint(
        batch=event.batch,
        at=event.at,
        epoch=event.epoch,
        seconds=event.seconds,
        tuples_in=event.tuples_in,
        backlog=event.backlog,
        results=None if OTHERS in event.queries else sum(query.results for query in event.queries.values()),
        latency_ms_p50=event.latency_ms_p50,
        latency_ms_p99=event.latency_ms_p99,
        state_bytes=sum(store.bytes for store in event.stores.values()),
        state_tuples=sum(store.tuples for store in event.stores.values()),
        level_seconds=tuple(event.level_seconds),
    )
