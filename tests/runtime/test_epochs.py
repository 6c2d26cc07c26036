"""A running topology tells what each of its epochs did, and why its plan changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.protocol import Deploy, EpochCompleted, Stop, statistics_key
from tests.runtime.live import TOPOLOGY, Live, RedisServer, write_live_workload

QUERIES = {
    "two": "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS] WHERE r.a = s.a"
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server.port
    server.stop()


def test_epochs_are_published_and_causes_repeated(server: int, tmp_path: Path) -> None:
    live = Live(server, tmp_path, write_live_workload(tmp_path / "workload", QUERIES))
    key = statistics_key(TOPOLOGY)
    live.start("run-1", "plan-1", live.graph("ilp", "two"))
    while not live.client.xlen(key):
        live.produce(20)
        live.wait_for_tuples("rs")
    cause = "selectivity of r.a = s.a went from 0.01 to 0.5"
    live.send(Deploy(plan_id="plan-2", graph=live.graph("individual", "two"), cause=cause))
    switched = live.wait_for(lambda e: e.type == "plan_switched")
    assert (switched.plan_id, switched.cause) == ("plan-2", cause)
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0

    ((_, fields), *_) = live.client.xrange(key)
    epoch = EpochCompleted.model_validate_json(fields[b"message"])
    batches = [e for e in live.events() if e.type == "batch" and e.epoch == epoch.epoch]
    assert (epoch.run, epoch.epoch, epoch.plan_id) == ("run-1", 0, "plan-1")
    assert (epoch.first_batch, epoch.last_batch) == (batches[0].batch, batches[-1].batch)
    assert epoch.event_seconds > 0
    for stream in "rs":
        assert epoch.accepted[stream] == sum(b.streams[stream].accepted for b in batches)
    assert epoch.edges == {edge: sum(b.edges[edge].tuples for b in batches) for edge in batches[0].edges}
    results = sum(b.queries["two"].results for b in batches)
    leaves = {rule: made for rule, made in epoch.rules.items() if rule.startswith("P-")}
    assert sum(leaves.values()) == results > 0
    # Every store and probe has its processor time; of a start's part of the process's nobody knows.
    assert set(epoch.cores) == {*epoch.held, *(rule for rule in epoch.rules if rule.startswith("P-"))}
    assert all(use.measured > 0 and use.estimated is None for use in epoch.cores.values())
    assert epoch.total_cores is None
    assert epoch.q_error is not None
    assert epoch.q_error.max >= epoch.q_error.median >= 1
    assert all(rate.actual >= 0 for rate in epoch.rates.values())
