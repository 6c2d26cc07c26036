"""What a job says of its batches, at moments that a test chooses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import redis

from jobs.protocol import (
    AnyEvent,
    BatchCompleted,
    CoreUse,
    EpochCompleted,
    Heartbeat,
    JobStarted,
    PlanSwitched,
    QueryMetrics,
    StoreMetrics,
    StreamMetrics,
    events_key,
)

RUNS = ("0193f5a1c0de0001", "0193f5a1c0de0002")
NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def say(bus: redis.Redis, *events: AnyEvent) -> None:
    for one in events:
        bus.xadd(events_key("flights"), {"message": one.model_dump_json()})


def started(seconds: float, batch: int, run: str = RUNS[0]) -> JobStarted:
    return JobStarted(run=run, at=after(seconds), pid=1, host="here", plan_id="flights.1", batch=batch)


def alive(seconds: float, state: Any = "idle", run: str = RUNS[0]) -> Heartbeat:
    return Heartbeat(run=run, at=after(seconds), state=state, batch=0)


def batch(seconds: float, number: int, run: str = RUNS[0], **told: Any) -> BatchCompleted:
    """Ten tuples in, three results, one late and two undecodable ones, unless it is told otherwise."""
    fields: dict[str, Any] = {
        "epoch": 0,
        "plan_id": "flights.1",
        "seconds": 0.5,
        "tuples_in": 10,
        "backlog": None,
        "latency_ms_p50": None,
        "latency_ms_p99": None,
        **told,
    }
    return BatchCompleted(
        run=run,
        at=after(seconds),
        batch=number,
        level_seconds=[],
        streams={
            "weather": StreamMetrics(late=1, undecodable=2, watermark=None, max_event_time=None),
        },
        stores={"S-1": StoreMetrics(tuples=number, bytes=8 * number, per_task=[number])},
        edges={},
        queries={
            "windy": QueryMetrics(results=3, latency_ms_p50=None, latency_ms_p99=None, complete_since=None)
        },
        **fields,
    )


def epoch(seconds: float, number: int, cores: float, run: str = RUNS[0]) -> EpochCompleted:
    return EpochCompleted(
        run=run,
        at=after(seconds),
        epoch=number,
        plan_id="flights.1",
        first_batch=0,
        last_batch=0,
        event_seconds=1.0,
        accepted={},
        edges={},
        rules={},
        held={},
        sent=0,
        rates={},
        total_cores=CoreUse(estimated=None, measured=cores),
        q_error=None,
    )


def switched(seconds: float, number: int, plan_id: str, run: str = RUNS[0]) -> PlanSwitched:
    return PlanSwitched(
        run=run, at=after(seconds), plan_id=plan_id, epoch=1, batch=number, cause="another rate"
    )
