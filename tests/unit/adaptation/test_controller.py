"""Decisions without Spark: made two epochs ahead, once, and alike after a restart at any batch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.adaptation.controller import Policy
from jobs.adaptation.decision import Decisions
from jobs.adaptation.report import report_epochs
from jobs.adaptation.schedule import Schedule
from jobs.control_plane.epoch_reporter import EpochLog
from jobs.driver.batch_totals import Gathered
from jobs.driver.coordinator import Committed
from jobs.protocol import Expect
from optimizer.adaptation import tasks_by_stream
from optimizer.logical.window import UNBOUNDED, Sliding
from optimizer.planner.plan_in_use import Running
from optimizer.workload import Workload
from tests.unit.adaptation.replaying import BATCHES, EPOCH, JUMP, SECONDS, WORKLOAD, Replay, policy
from tests.unit.planning import clash


@pytest.fixture
def replays(tmp_path: Path) -> Iterator[list[Replay]]:
    made: list[Replay] = []
    yield made
    for replay in made:
        replay.controller.close()


def begin(replays: list[Replay], root: Path, how: Policy) -> Replay:
    replays.append(Replay(root, how))
    return replays[-1]


def test_a_change_of_data_changes_the_plan_two_epochs_later(replays: list[Replay], tmp_path: Path) -> None:
    replay = begin(replays, tmp_path / "a", policy()).run(BATCHES)
    switch = JUMP + 2 * EPOCH
    assert len(set(replay.plans[:switch])) == 1
    assert len(set(replay.plans[switch:])) == 1
    assert replay.plans[switch] != replay.plans[0]
    (decision,) = [d for d in replay.controller.decisions.all if d.kind == "statistics" and d.plan]
    assert (decision.batch, decision.epoch) == (switch, JUMP // EPOCH)
    assert decision.weighed is not None
    assert decision.weighed.worthwhile
    epochs = report_epochs(replay.lines, replay.controller.decisions.all, replay.checkpoint.graph)
    (told,) = [s for epoch in epochs for s in epoch["switches"]]  # type: ignore[attr-defined]
    assert told["actual_saving"] == pytest.approx(told["predicted_saving"], rel=0.3)
    # A window of one second is over with the epoch in which the plan takes over.
    assert told["actual_saving_epoch"] == switch // EPOCH


def test_a_saving_is_not_told_before_a_whole_window_is_over(replays: list[Replay], tmp_path: Path) -> None:
    """Until then the stores hold tuples of before the change, and afterwards the figure stays."""
    switch = JUMP + 2 * EPOCH
    replay = begin(replays, tmp_path / "a", policy()).run(switch + EPOCH - 1)
    graph = replay.checkpoint.graph(replay.plans[switch])
    # As if windows were an epoch and a batch longer than what lies between the change and the switch.
    window_us = (2 * EPOCH + 1) * SECONDS * 1_000_000
    stores = tuple(replace(s, retention=(Sliding(window_us),) * len(s.inputs)) for s in graph.stores)
    graphs = {plan: replay.checkpoint.graph(plan) for plan in set(replay.plans)}
    graphs[replay.plans[switch]] = replace(graph, stores=stores)

    def told() -> dict[str, object]:
        epochs = report_epochs(replay.lines, replay.controller.decisions.all, graphs.__getitem__)
        (switched,) = [s for epoch in epochs for s in epoch["switches"]]  # type: ignore[attr-defined]
        return switched  # type: ignore[no-any-return]

    measured_in = switch // EPOCH + 2
    while len(replay.lines) < measured_in * EPOCH:
        assert (told()["actual_saving"], told()["actual_saving_epoch"]) == (None, None)
        replay.run(len(replay.lines) + 1)
    replay.run(BATCHES)
    assert told()["actual_saving_epoch"] == measured_in
    unbounded = tuple(replace(s, retention=(UNBOUNDED,) * len(s.inputs)) for s in graph.stores)
    graphs[replay.plans[switch]] = replace(graph, stores=unbounded)
    assert (told()["actual_saving"], told()["actual_saving_epoch"]) == (None, None)


def test_tasks_follow_the_load(replays: list[Replay], tmp_path: Path) -> None:
    """Streams that declare no number of tasks begin with the most, and lose what they do not fill."""
    free = Workload(clash.CATALOG, WORKLOAD.queries, WORKLOAD.selectivities, WORKLOAD.sql)
    replays.append(Replay(tmp_path / "a", replace(policy(), tasks=4), free))
    replay = replays[-1].run(2 * EPOCH + 1)
    first, then = (replay.checkpoint.graph(replay.plans[batch]) for batch in (0, 2 * EPOCH))
    assert tasks_by_stream(first) == dict.fromkeys("rstu", 4)
    assert tasks_by_stream(then) == {"r": 2, "s": 1, "t": 1, "u": 2}
    decision = replay.controller.decisions.find(2 * EPOCH)
    assert decision is not None
    assert decision.kind == "load"
    assert "stores of r get 1" in decision.cause


def test_planning_again_starts_from_what_runs(replays: list[Replay], tmp_path: Path) -> None:
    replay = begin(replays, tmp_path / "a", policy()).run(BATCHES)
    for decision in replay.controller.decisions.all:
        assert (decision.plan is None) == (decision.running == "")
        if decision.running:
            parts = Running.from_json(decision.running, WORKLOAD.queries).components
            assert [query.name for part in parts for query in part.queries] == ["q1", "q2"]
    again = replay.killed()
    replays.append(again)
    # What comes behind the last batch may be decided already or not.
    decided = [d for d in replay.controller.decisions.all if d.batch < BATCHES]
    assert [d for d in again.controller.decisions.all if d.batch < BATCHES] == decided


@pytest.mark.parametrize("at", [1, JUMP + 1, JUMP + EPOCH, JUMP + EPOCH + 1, JUMP + 2 * EPOCH])
def test_a_killed_replay_changes_plans_at_the_same_batches(
    at: int, replays: list[Replay], tmp_path: Path
) -> None:
    whole = begin(replays, tmp_path / "whole", policy()).run(BATCHES)
    cut = begin(replays, tmp_path / "cut", policy()).run(at).killed().run(BATCHES)
    replays.append(cut)
    assert cut.plans == whole.plans
    for replay in (cut, whole):
        # What comes behind the last batch may be decided already or not.
        decided = [d.batch for d in replay.controller.decisions.all if d.batch < BATCHES]
        assert decided == [0, *range(2 * EPOCH, BATCHES, EPOCH)]


def test_a_decision_whose_document_was_lost_is_made_again(replays: list[Replay], tmp_path: Path) -> None:
    """Killed between the plan change and its document: one change all the same."""
    switch = JUMP + 2 * EPOCH
    replay = begin(replays, tmp_path / "a", policy()).run(switch)
    replay.controller.prepare(switch)
    replay.controller.close()
    for batch in range(switch, BATCHES):
        (tmp_path / "a" / "decisions" / f"{batch}.json").unlink(missing_ok=True)
    again = replay.killed().run(BATCHES)
    replays.append(again)
    assert sorted(p.stem for p in (tmp_path / "a" / "changes").glob("*.json")) == ["0", "1"]
    assert again.plans[switch] != again.plans[switch - 1]


def test_queries_come_and_go_at_their_batches(replays: list[Replay], tmp_path: Path) -> None:
    schedule = Schedule((("q1", 0, None), ("q2", 3, 7)))
    replay = begin(replays, tmp_path / "a", policy(schedule, adaptive=False)).run(BATCHES)
    graphs = [replay.checkpoint.graph(plan) for plan in replay.plans]
    answered = [tuple(query.name for query in graph.queries) for graph in graphs]
    assert answered == [("q1",)] * 3 + [("q1", "q2")] * 4 + [("q1",)] * 7
    assert {tuple(stream.name for stream in graph.streams) for graph in graphs} == {("r", "s", "t", "u")}


def test_decisions_keep_the_names_that_checkpoints_have(replays: list[Replay], tmp_path: Path) -> None:
    """A replay that an older release began goes on."""
    replay = begin(replays, tmp_path / "a", policy()).run(2)
    # What comes behind the last batch is decided beside the batches: only a closed controller writes no more.
    replay.controller.close()
    paths = list((tmp_path / "a" / "decisions").glob("*.json"))
    assert paths
    for path in paths:
        document = json.loads(path.read_text())
        assert {"known", "learnt"} & document.keys() == {"known"}
        document["known"].pop("memory")
        path.write_text(json.dumps(document))
    read = Decisions(tmp_path / "a").all
    assert len(read) == len(paths)
    assert all(decision.learnt.find_rate("r") is not None for decision in read)


def test_another_plan_at_every_epoch(replays: list[Replay], tmp_path: Path) -> None:
    replay = begin(replays, tmp_path / "a", policy(adaptive=False, forced=True)).run(8)
    for batch in range(1, 8):
        assert (replay.plans[batch] != replay.plans[batch - 1]) == (batch % EPOCH == 0)


def test_an_epoch_is_told_with_its_last_batch(replays: list[Replay], tmp_path: Path) -> None:
    replay = begin(replays, tmp_path / "a", policy(adaptive=False)).run(1)
    log = EpochLog("run", EPOCH, None)
    change = replay.checkpoint.change_at(0)
    events = []
    for _ in range(4):
        assert replay.last is not None
        graph = replay.checkpoint.graph(replay.last.plan)
        nothing = Gathered({}, {}, {}, {}, (), {}, (), (), (), {}, (), {}, 0)
        events.append(log.add(Committed(replay.last, graph, change, nothing, None, 0.0, False)))
        replay.run(len(replay.lines) + 1)
    assert [event is None for event in events] == [True, False, True, False]
    told = events[3]
    assert told is not None
    assert (told.epoch, told.first_batch, told.last_batch) == (1, 2, 3)
    assert told.event_seconds == EPOCH * SECONDS
    assert told.accepted == dict.fromkeys("rstu", 100 * SECONDS * EPOCH)
    assert told.q_error is not None
    assert told.q_error.max == pytest.approx(1.0, abs=0.2)


def test_an_epoch_is_compared_with_what_was_last_expected(replays: list[Replay], tmp_path: Path) -> None:
    replay = begin(replays, tmp_path / "a", policy(adaptive=False)).run(EPOCH)
    change = replay.checkpoint.change_at(0)
    nothing = Gathered({}, {}, {}, {}, (), {}, (), (), (), {}, (), {}, 0)
    assert replay.last is not None
    graph = replay.checkpoint.graph(replay.last.plan)
    committed = Committed(replay.last, graph, change, nothing, None, 0.0, False)
    edge, store = graph.edges[0].id, graph.stores[0].id
    as_planned = EpochLog("run", EPOCH, None).add(committed)
    assert as_planned is not None
    awaited = as_planned.rates[edge].estimated or 0.0
    for plan_id, factor in ((change.plan_id, 4.0), ("another", 1.0)):
        log = EpochLog("run", EPOCH, None)
        log.expect(Expect(plan_id=plan_id, rates={edge: 4 * awaited}, stores={store: 7.0}))
        told = log.add(committed)
        assert told is not None
        assert told.rates[edge].estimated == pytest.approx(factor * awaited)
        assert told.stores[store] == (7.0 if factor > 1 else as_planned.stores[store])
        assert told.q_error is not None
        assert told.q_error.max >= factor / 1.2
