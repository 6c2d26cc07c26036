"""The fold of a topology's events, without Django or Redis."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backend.live.queries import folded
from backend.live.state import BATCHES_KEPT, LiveState
from jobs.protocol import AnyEvent, Heartbeat, JobFailed, JobStarted
from tests.api.live.events import BEGIN, RUNS, batches, epochs, event


def _numbered(events: list[AnyEvent]) -> list[tuple[str, AnyEvent | None]]:
    return [(f"{position + 1}-0", one) for position, one in enumerate(events)]


@given(events=st.lists(event, max_size=25), cut=st.integers(0, 25))
def test_a_stored_snapshot_and_the_events_after_it_make_a_fresh_one(events: list[AnyEvent], cut: int) -> None:
    numbered = _numbered(events)
    fresh = folded(LiveState(), numbered)
    stored = LiveState.model_validate_json(folded(LiveState(), numbered[:cut]).model_dump_json())
    assert folded(stored, numbered[cut:]) == fresh


@given(events=st.lists(event, max_size=25))
def test_a_run_that_ended_or_was_followed_changes_nothing(events: list[AnyEvent]) -> None:
    state = folded(
        LiveState(), [*_numbered(events), ("90-0", JobFailed(run=RUNS[1], at=BEGIN, error="x", detail=""))]
    )
    for run in RUNS[:2]:
        later = folded(state, [("91-0", Heartbeat(run=run, at=BEGIN, state="running", batch=1))])
        assert later == state.model_copy(update={"last_event_id": "91-0"})
    assert state.run in (RUNS[1], RUNS[2])


def test_a_new_run_forgets_the_failure_and_the_last_batch() -> None:
    failed = LiveState(run=RUNS[0], state="failed", error="the disk is full", last_event_id="5-0")
    started = JobStarted(run=RUNS[1], at=BEGIN, pid=1, host="here", plan_id="flights.2", batch=7)
    assert folded(failed, [("6-0", started)]) == LiveState(
        run=RUNS[1],
        state="running",
        plan_id="flights.2",
        heartbeat_at=BEGIN,
        launched_at=BEGIN,
        last_event_id="6-0",
    )


@given(events=st.lists(batches.map(lambda b: b.model_copy(update={"run": RUNS[0]})), min_size=1, max_size=12))
def test_history_holds_each_batch_once_in_order_of_first_appearance(events: list[AnyEvent]) -> None:
    state = folded(LiveState(), _numbered(events))
    numbers = [point.batch for point in state.history]
    assert numbers == list(dict.fromkeys(one.batch for one in events))  # type: ignore[union-attr]
    assert len(numbers) <= BATCHES_KEPT
    last = events[-1]
    point = next(point for point in state.history if point.batch == last.batch)  # type: ignore[union-attr]
    assert point.results == sum(query.results for query in last.queries.values())  # type: ignore[union-attr]
    assert point.state_bytes == sum(store.bytes for store in last.stores.values())  # type: ignore[union-attr]


@given(events=st.lists(epochs.map(lambda e: e.model_copy(update={"run": RUNS[0]})), min_size=1, max_size=12))
def test_epochs_are_kept_once_each_and_the_newest_whole(events: list[AnyEvent]) -> None:
    state = folded(LiveState(), _numbered(events))
    assert [point.epoch for point in state.epochs] == list(dict.fromkeys(one.epoch for one in events))  # type: ignore[union-attr]
    assert state.statistics == events[-1]
    point = next(point for point in state.epochs if point.epoch == events[-1].epoch)  # type: ignore[union-attr]
    assert point.q_error == events[-1].q_error  # type: ignore[union-attr]
    followed = folded(state, [("90-0", Heartbeat(run=RUNS[1], at=BEGIN, state="starting", batch=0))])
    assert followed.statistics is None
    assert followed.epochs == state.epochs
