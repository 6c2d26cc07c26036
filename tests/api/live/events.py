"""Strategies for the events of a topology's job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from jobs.protocol import (
    AnyEvent,
    BatchCompleted,
    BatchFailed,
    BatchGivenUp,
    BatchWaits,
    DeployRefused,
    ElementRate,
    EpochCompleted,
    Heartbeat,
    JobFailed,
    JobStarted,
    JobStopped,
    PlanSwitched,
    QErrorMetrics,
    QueryMetrics,
    ShapeChange,
    ShapesChanged,
    StoreMetrics,
)

RUNS = ("0193f5a1c0de0001", "0193f5a1c0de0002", "0193f5a1c0de0003")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
runs = st.sampled_from(RUNS)
times = st.integers(0, 3600).map(lambda seconds: BEGIN + timedelta(seconds=seconds))
plans = st.sampled_from(("flights.1", "flights.2"))
states = st.sampled_from(("starting", "running", "idle", "stopping"))
small = st.integers(0, 5)
latencies = st.none() | st.sampled_from((1.0, 20.5))

stores = st.builds(
    StoreMetrics,
    tuples=small,
    bytes=small,
    inserted=small,
    evicted=small,
    probes=small,
    matches=small,
    per_task=st.just([]),
)
queries = st.builds(
    QueryMetrics,
    results=small,
    latency_ms_p50=latencies,
    latency_ms_p99=latencies,
    complete_since=st.none(),
)
batches = st.builds(
    BatchCompleted,
    run=runs,
    at=times,
    batch=small,
    epoch=small,
    plan_id=plans,
    seconds=st.just(0.5),
    tuples_in=small,
    backlog=st.none() | small,
    level_seconds=st.just([0.1]),
    streams=st.just({}),
    stores=st.dictionaries(st.sampled_from(("S-1", "S-2")), stores, max_size=2),
    edges=st.just({}),
    queries=st.dictionaries(st.sampled_from(("q1", "q2")), queries, max_size=2),
    resident_bytes=st.none() | small,
    latency_ms_p50=latencies,
    latency_ms_p99=latencies,
)
epochs = st.builds(
    EpochCompleted,
    run=runs,
    at=times,
    epoch=small,
    plan_id=plans,
    first_batch=small,
    last_batch=small,
    event_seconds=st.just(8.0),
    accepted=st.just({"departures": 5}),
    edges=st.just({"E-1": 5}),
    rules=st.just({}),
    held=st.just({"S-1": 3}),
    sent=small,
    rates=st.just({"E-1": ElementRate(estimated=1.5, actual=0.625)}),
    q_error=st.none() | st.just(QErrorMetrics(median=1.0, max=2.4, worst="E-1", estimated=1.5, actual=0.625)),
)
event: st.SearchStrategy[AnyEvent] = st.one_of(
    st.builds(JobStarted, run=runs, at=times, pid=small, host=st.just("here"), plan_id=plans, batch=small),
    st.builds(
        Heartbeat,
        run=runs,
        at=times,
        state=st.sampled_from(("starting", "running", "idle", "stopping")),
        batch=small,
    ),
    batches,
    epochs,
    st.builds(
        PlanSwitched, run=runs, at=times, plan_id=plans, epoch=small, batch=small, cause=st.just("deploy")
    ),
    st.builds(
        ShapesChanged,
        run=runs,
        at=times,
        plan_id=plans,
        epoch=small,
        batch=small,
        stores=st.just({"departures": ShapeChange(before="4x1", after="2x2")}),
        moved=small,
        seconds=st.just(0.25),
    ),
    st.builds(
        BatchFailed,
        run=runs,
        at=times,
        plan_id=plans,
        batch=small,
        error=st.just("ValueError: no such key"),
        set_aside=st.sampled_from(({}, {"departures": 2})),
    ),
    st.builds(
        BatchGivenUp,
        run=runs,
        at=times,
        plan_id=plans,
        batch=small,
        steps=st.just({"P-1": 6}),
        most=st.just(5),
    ),
    st.builds(DeployRefused, run=runs, at=times, plan_id=plans, reason=st.just("no room")),
    st.builds(JobStopped, run=runs, at=times, reason=st.just("now")),
    st.builds(
        BatchWaits, run=runs, at=times, plan_id=st.just("p1"), batch=st.integers(0, 9), reason=st.just("no")
    ),
    st.builds(JobFailed, run=runs, at=times, error=st.just("the disk is full"), detail=st.just("")),
)
