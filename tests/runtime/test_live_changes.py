"""Queries come, change and go on a running topology; every answer equals DuckDB's from the batch on
from which the topology says that it is complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from jobs.protocol import AnyEvent, BatchCompleted, Deploy, Stop
from tests.runtime.live import BEGIN, Live, RedisServer, write_live_workload

_R, _S, _T = "r [RANGE 20 SECONDS]", "s [RANGE 20 SECONDS]", "t [RANGE 20 SECONDS]"
QUERIES = {
    "two": f"SELECT r.n AS rn, s.n AS sn FROM {_R}, {_S} WHERE r.a = s.a",
    "stored": f"SELECT r.n AS rn, s.n AS sn FROM {_R}, {_S} WHERE r.a < s.b AND s.b < r.a + 2",
    "changing": f"SELECT r.n AS rn, s.n AS sn FROM {_R}, {_S} WHERE r.a = s.b",
    "changed": f"SELECT r.n AS rn, s.n AS sn FROM {_R}, {_S} WHERE r.a = s.b + 1",
    "three": f"SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM {_R}, {_S}, {_T} WHERE r.a = s.a AND s.b = t.b",
}
TWENTY_SECONDS = 2000
"""In numbers of tuples, which are 10 ms apart."""


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


def deploy(
    live: Live, plan_id: str, *queries: str, method: str = "greedy", instead: Mapping[str, str] | None = None
) -> BatchCompleted:
    """Deploy and return what the first batch under the plan says."""
    live.send(Deploy(plan_id=plan_id, graph=live.graph_with(method, instead or {}, *queries)))
    live.wait_for(lambda e: e.type == "plan_switched" and e.plan_id == plan_id)
    first = live.wait_for(lambda e: e.type == "batch" and e.plan_id == plan_id)
    assert isinstance(first, BatchCompleted)
    return first


def last_batch(live: Live) -> BatchCompleted:
    found: list[AnyEvent] = [e for e in live.events() if e.type == "batch"]
    assert isinstance(found[-1], BatchCompleted)
    return found[-1]


def newer(rows: list[tuple[int, ...]], than: int, up_to: int = 1 << 60) -> list[tuple[int, ...]]:
    return [row for row in rows if than < max(row) <= up_to]


def number_at(batch: BatchCompleted, query: str) -> int:
    """The number of the tuple with whose event time the query's results begin to be complete."""
    since = batch.queries[query].complete_since
    assert since is not None
    return round((since - BEGIN).total_seconds() * 100)


def test_queries_come_change_and_go(live: Live, tmp_path: Path) -> None:
    live.produce(200, "rs")
    live.start("run-1", "plan-1", live.graph("greedy", "two", "changing"))
    live.wait_for_tuples("rs")

    # Over stored streams: complete from the first batch, with partners from before the query.
    first = deploy(live, "plan-2", "two", "changing", "stored")
    before_stored = live.produce(200, "rs")
    assert first.queries["stored"].complete_since is not None
    live.wait_for_tuples("rs")

    # A stream that nobody read so far joins with a query, at its beginning.
    deploy(live, "plan-3", "two", "changing", "stored", "three", method="left-deep")
    before_three = live.produce(200)
    live.wait_for_tuples("rst")
    assert last_batch(live).queries["two"].complete_since is not None
    assert last_batch(live).queries["three"].complete_since is not None
    with_t = len(last_batch(live).stores)

    # A new version of a query takes over from the old one at one batch; the others do not notice.
    before_change = live.produce(0)
    deploy(live, "plan-4", "two", "changing", "stored", "three", instead={"changing": "changed"})
    live.produce(200)
    live.wait_for_tuples("rst")

    # The only query over t leaves: its stores are freed. The others go on.
    before_gap = live.produce(0)
    without = deploy(live, "plan-5", "two", "stored")
    assert len(without.stores) < with_t
    assert {f.name for f in (tmp_path / "checkpoint" / "state").iterdir()} == set(without.stores)
    assert without.queries.keys() == {"two", "stored"}
    live.produce(300, "rs")
    live.wait_for_tuples("rs")

    # It comes back to a store that lacks what went by, and says from when on it is complete again.
    back = deploy(live, "plan-6", "two", "stored", "three")
    before_back = live.produce(0)
    assert back.queries["three"].complete_since is None
    live.produce(900)
    live.wait_for_tuples("rst")
    complete_from = number_at(last_batch(live), "three")
    assert before_gap < complete_from <= before_gap + TWENTY_SECONDS + 3
    assert last_batch(live).queries["two"].complete_since is not None

    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    assert live.found("two") == live.expected("two")
    assert live.found("stored") == live.expected("stored", before_stored)
    assert len(newer(live.expected("stored"), before_stored, before_stored + 400)) > 100
    three = live.found("three")
    assert newer(three, before_three, before_gap) == newer(live.expected("three"), before_three, before_gap)
    assert newer(three, before_gap, before_back) == []
    assert newer(three, complete_from) == live.expected("three", complete_from)
    assert set(three) <= set(live.expected("three"))
    assert min(len(newer(three, before_three, before_gap)), len(newer(three, complete_from))) > 100
    found = live.found("changing")
    assert newer(found, 0, before_change) == newer(live.expected("changing"), 0, before_change)
    assert newer(found, before_change) == newer(live.expected("changed"), before_change, before_gap)
    assert len(newer(found, before_change)) > 100
    # What no batch runs under again is forgotten.
    assert len(list((tmp_path / "checkpoint" / "changes").iterdir())) == 1
    assert len(list((tmp_path / "checkpoint" / "plans").iterdir())) == 1
