"""A running topology: plans change under it, it is killed, it drains; its results equal DuckDB's."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from jobs.protocol import (
    AnyEvent,
    DeadLetter,
    Deploy,
    ResultTrace,
    Stop,
    dead_letters_key,
    results_key,
    stream_key,
)
from optimizer.workload import Workload
from tests.runtime.live import TOPOLOGY, Live, RedisServer, write_live_workload

QUERIES = {
    "two": "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS] WHERE r.a = s.a",
    "three": "SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS], "
    "t [RANGE 20 SECONDS] WHERE r.a = s.a AND s.b = t.b",
}

LIMIT_BYTES = 1 << 20
"""Enough for two partitions to work with."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server.port
    server.stop()


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    return write_live_workload(tmp_path_factory.mktemp("run-workload") / "workload", QUERIES)


def _assert_logged(folder: Path) -> None:
    """The log of each process has what happened to it."""
    said = (folder / "run-1.log").read_text()
    for told in ("started under plan plan-1", "plan plan-2 from batch", "plan plan-x is refused"):
        assert f" {told}" in said, said
    assert "Traceback" not in said
    assert " stopped: " in (folder / "run-2.log").read_text()


def _start_of(live: Live) -> tuple[AnyEvent, list[str]]:
    """The word that a job has started, and the phases that it told before."""
    phases: list[str] = []

    def has_started(event: AnyEvent) -> bool:
        if event.type == "heartbeat" and event.phase is not None and event.phase not in phases:
            phases.append(event.phase)
        return event.type == "job_started"

    return live.wait_for(has_started), phases


def test_life_of_a_topology(server: int, tmp_path: Path, workload: Workload) -> None:
    live = Live(server, tmp_path, workload)
    live.produce(300)
    live.start("run-1", "plan-1", live.graph("ilp", "two"))
    started, phases = _start_of(live)
    assert (started.plan_id, started.batch) == ("plan-1", 0)
    assert phases == ["checkpoint", "spark", "query"], "what it does is told while it starts"
    live.wait_for(lambda e: e.type == "heartbeat" and e.phase == "batch")
    live.wait_for_tuples("rs")

    # A new query joins, and with it a stream; what is stored already is there from the first batch.
    live.send(Deploy(plan_id="plan-2", graph=live.graph("flat", "two", "three")))
    live.wait_for(lambda e: e.type == "plan_switched" and e.plan_id == "plan-2")
    live.wait_for_tuples("rst")
    live.produce(200)
    live.wait_for_tuples("rst")

    # Intermediate results appear, made from the base stores; then a plan that cannot be carried out.
    live.send(Deploy(plan_id="plan-3", graph=live.graph("left-deep", "two", "three")))
    live.wait_for(lambda e: e.type == "plan_switched" and e.plan_id == "plan-3")
    live.send(Deploy(plan_id="plan-x", graph={"version": 1}))
    refused = live.wait_for(lambda e: e.type == "deploy_refused")
    assert refused.plan_id == "plan-x"
    live.produce(200)
    live.wait_for_tuples("rst")

    # Killed and started again, now with a bound on its memory, and told to finish what has arrived.
    assert live.signal(signal.SIGKILL) == -signal.SIGKILL
    live.produce(100)
    limit = ("--memory-limit", str(LIMIT_BYTES))
    live.start("run-2", "plan-3", live.graph("left-deep", "two", "three"), options=limit)
    live.wait_for(lambda e: e.type == "job_started" and e.run == "run-2")
    live.client.xadd(stream_key("r"), {"json": "{"})
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    last = live.events()[-1]
    assert (last.type, last.run) == ("job_stopped", "run-2")

    for query in ("two", "three"):
        assert live.found(query) == live.expected(query), query
        assert len(live.found(query)) > 100
    letters = pl.read_parquet(tmp_path / "out" / "dead_letters" / "*.parquet")
    assert letters["reason"].to_list() == ["not JSON"]
    _assert_logged(tmp_path)
    tail = live.client.xrevrange(results_key(TOPOLOGY, "three"), count=1)
    assert set(json.loads(tail[0][1][b"json"])) == {"rn", "sn", "tn"}  # type: ignore[index]
    trace = ResultTrace.model_validate_json(tail[0][1][b"trace"])  # type: ignore[index]
    assert trace.plan_id == "plan-3"
    rules = {rule["id"]: rule for rule in live.graph("left-deep", "two", "three")["rules"]}
    assert "three" in [emitted["query"] for emitted in rules[trace.rule]["emits"]]
    kept = live.client.xrange(dead_letters_key(TOPOLOGY, "r"))
    letter = DeadLetter.model_validate_json(kept[0][1][b"letter"])  # type: ignore[index]
    assert (len(kept), letter.reason, letter.tuple, letter.cut) == (1, "not JSON", "{", False)  # type: ignore[arg-type]
    batches = [e for e in live.events() if e.type == "batch"]
    assert [e.batch for e in batches] == list(range(len(batches)))
    assert {e.resident_bytes for e in batches if e.run == "run-1"} == {None}
    bounded = [e.resident_bytes for e in batches if e.run == "run-2"]
    assert bounded
    assert 0 < max(bounded) <= LIMIT_BYTES
