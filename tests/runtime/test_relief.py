"""A cross product beside a good query: the batch that would fill the memory waits for another plan, and
the good query's results are DuckDB's, also if the job is killed while it waits."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.protocol import BatchGivenUp, Deploy, Stop
from tests.runtime.live import Live, RedisServer, write_live_workload
from tests.runtime.test_live_changes import same, settle

_R, _S = "r [RANGE 20 SECONDS]", "s [RANGE 20 SECONDS]"
QUERIES = {
    "good": f"SELECT r.n AS rn, s.n AS sn FROM {_R}, {_S} "
    "WHERE r.a = s.a AND r.n < s.n + 40 AND s.n < r.n + 40",
    "crossed": f"SELECT r.n AS rn, s.n AS sn FROM {_R} CROSS JOIN {_S}",
}
BOUNDED = ("--most-combinations", "5000")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    live = Live(server.port, tmp_path, write_live_workload(tmp_path / "workload", QUERIES))
    yield live
    live.close()
    server.stop()


def _given_up(live: Live) -> BatchGivenUp:
    """Start with both queries; a few tuples are answered, many are too many for the product."""
    live.produce(20)
    graph = live.graph("greedy", *QUERIES)
    live.start("run-1", "plan-1", graph, options=BOUNDED)
    live.wait_for_tuples("rs")
    live.produce(1000, "rs")
    event = live.wait_for(lambda e: e.type == "batch_given_up")
    assert isinstance(event, BatchGivenUp)
    crossing = {
        rule["id"]
        for rule in graph["rules"]
        if rule["kind"] == "probe" and any(emit["query"] == "crossed" for emit in rule["emits"])
    }
    assert event.steps
    assert event.steps.keys() <= crossing
    assert min(event.steps.values()) > event.most == 5000
    return event


@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_the_good_query_goes_on_without_the_product(live: Live, tmp_path: Path, killed: bool) -> None:
    event = _given_up(live)
    without = live.graph("greedy", "good")
    if killed:
        assert live.signal(signal.SIGKILL) == -signal.SIGKILL
        live.start("run-2", "plan-2", without, options=BOUNDED)
    else:
        live.send(Deploy(plan_id="plan-2", graph=without))
    first = live.wait_for(lambda e: e.type == "batch" and e.plan_id == "plan-2")
    assert first.type == "batch"
    assert first.batch == event.batch
    live.produce(200, "rs")
    settle(live, tmp_path, "rs")
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    good = live.expected("good")
    assert len(good) > 1000
    same(live.found("good"), good)
    # The product has answered every batch before that one, and nothing of it.
    answered = [e for e in live.events() if e.type == "batch" and e.plan_id == "plan-1"]
    accepted = {s: sum(e.streams[s].accepted for e in answered) for s in "rs"}
    numbers = {s: {row["n"] for row in live.produced[s][: accepted[s]]} for s in "rs"}
    crossed = [row for row in live.expected("crossed") if row[0] in numbers["r"] and row[1] in numbers["s"]]
    same(live.found("crossed"), crossed)
    # What the given-up attempts wrote is gone.
    assert not [file for file in (tmp_path / "out").rglob("*") if file.name.startswith((".", "_"))]


def test_a_job_that_waits_for_another_plan_can_be_stopped(live: Live) -> None:
    _given_up(live)
    live.send(Stop(mode="now"))
    assert live.wait_until_ended() == 0
    assert live.events()[-1].type == "job_stopped"
