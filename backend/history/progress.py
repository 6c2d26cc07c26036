"""How far a topology's job was followed, so that what it tells again counts once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from backend.history.measures import Measures, of_batch, of_epoch
from jobs.protocol import AnyEvent, BatchCompleted, EpochCompleted, Heartbeat, JobStarted, PlanSwitched


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The newest of everything that was counted."""

    run: str = ""
    """Run ids sort by launch."""
    batch: int = -1
    epoch: int = -1
    switch: int = -1
    """The first batch under the plan that took over last."""
    plan_id: str | None = None
    state_tuples: int | None = None
    """After the run's newest batch; None before its first, like the next one."""
    state_bytes: int | None = None


def followed(progress: Progress, event: AnyEvent) -> tuple[Progress, Measures | None]:
    """How far it is after one more event, and what that adds to its period.

    None if it adds nothing, as what a run says that was followed by another one, and what was counted before.
    A heartbeat adds nothing but that there is a period: a job that is there and has nothing to do makes
    zeros, one that is not there makes a gap.
    """
    if event.run < progress.run:
        return progress, None
    if event.run > progress.run:
        progress = replace(progress, run=event.run, state_tuples=None, state_bytes=None)
    match event:
        case JobStarted():
            return _started(progress, event), None
        case Heartbeat(state="running" | "idle"):
            still = Measures(
                plan_id=progress.plan_id,
                state_tuples=progress.state_tuples,
                state_bytes=progress.state_bytes,
            )
            return progress, still
        case BatchCompleted() if event.batch > progress.batch:
            found = of_batch(event)
            after = replace(
                progress,
                batch=event.batch,
                plan_id=event.plan_id,
                state_tuples=found.state_tuples,
                state_bytes=found.state_bytes,
            )
            return after, found
        case EpochCompleted() if event.epoch > progress.epoch:
            return replace(progress, epoch=event.epoch), of_epoch(event)
        case PlanSwitched() if event.batch > progress.switch:
            after = replace(progress, switch=event.batch, plan_id=event.plan_id)
            return after, Measures(switches=1, plan_id=event.plan_id)
        case _:
            return progress, None


def _started(progress: Progress, event: JobStarted) -> Progress:
    """How far it is once a job begins.

    It continues behind the last batch that was committed, and may tell that one again. One that begins
    further back has an older checkpoint than the job before it, or a new one: its batches are others with the
    same numbers.
    """
    if event.batch < progress.batch:
        earlier = event.batch - 1
        progress = replace(progress, batch=earlier, epoch=-1, switch=earlier)
    return replace(progress, plan_id=event.plan_id)
