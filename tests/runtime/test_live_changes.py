"""Queries come, change and go on a running topology, also one that is killed on the way; every answer
equals DuckDB's from the batch on from which the topology says that it is complete."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from jobs.partitioning.rescaling import Rescaling
from jobs.protocol import AnyEvent, BatchCompleted, Deploy, Stop
from jobs.recovery.manifest import CommitLog
from tests.runtime.live import BEGIN, PATIENCE_S, Live, RedisServer, write_live_workload

_R, _S, _T = "r [RANGE 20 SECONDS]", "s [RANGE 20 SECONDS]", "t [RANGE 20 SECONDS]"
QUERIES = {
    "two": f"SELECT r.n AS rn, s.n AS sn FROM {_R}, {_S} WHERE r.a = s.a",
    "stored": f"SELECT r.n AS rn, s.n AS sn FROM {_R}, {_S} WHERE r.a < s.b AND s.b < r.a + 2",
    "changing": f"SELECT r.n AS rn, s.n AS sn FROM {_R}, {_S} WHERE r.a = s.b",
    "changed": f"SELECT r.n AS rn, s.n AS sn FROM {_R}, {_S} WHERE r.a = s.b + 1",
    "three": f"SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM {_R}, {_S}, {_T} WHERE r.a = s.a AND s.b = t.b",
    "keyed": "SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM r [RANGE 2 SECONDS], s [RANGE 2 SECONDS], "
    "t [RANGE 2 SECONDS] WHERE r.a = s.a AND s.a = t.b",
    "near": "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 2 SECONDS], s [RANGE 2 SECONDS] "
    "WHERE r.a < s.b AND s.b < r.a + 2",
}
TWENTY_SECONDS = 2000
"""In numbers of tuples, which are 10 ms apart."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Numbers of the last tuples before changes of the set of queries."""

    stored: int
    three: int
    change: int
    gap: int
    """From here to `back` nothing reads the stream t."""
    back: int
    complete_again: int


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
    live: Live,
    plan_id: str,
    *queries: str,
    method: str = "greedy",
    instead: Mapping[str, str] | None = None,
    tasks: int = 2,
) -> BatchCompleted:
    """Deploy and return what the first batch under the plan says."""
    live.send(Deploy(plan_id=plan_id, graph=live.graph_with(method, instead or {}, *queries, tasks=tasks)))
    live.wait_for(lambda e: e.type == "plan_switched" and e.plan_id == plan_id)
    first = live.wait_for(lambda e: e.type == "batch" and e.plan_id == plan_id)
    assert isinstance(first, BatchCompleted)
    return first


def kill_and_start_again(live: Live, run: str, plan_id: str, graph: dict[str, object]) -> None:
    """SIGKILL in whatever the job is at, then a start with the newest plan, as the supervisor does it."""
    assert live.signal(signal.SIGKILL) == -signal.SIGKILL
    live.start(run, plan_id, graph)
    live.wait_for(lambda e: e.type == "job_started" and e.run == run)


def settle(live: Live, folder: Path, streams: str) -> int:
    """Wait until everything produced is committed, and return the last batch: a killed process takes
    events with it, but no commits."""
    log, give_up_at = CommitLog(folder / "checkpoint"), time.monotonic() + PATIENCE_S
    wanted = {stream: len(live.produced[stream]) for stream in streams}
    while (last := log.last()) is None or {s: last.streams[s].accepted for s in streams} != wanted:
        assert time.monotonic() < give_up_at
        assert not live.ends_within(0.05)
    return last.batch


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


@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_queries_come_change_and_go(live: Live, tmp_path: Path, killed: bool) -> None:
    live.produce(200, "rs")
    live.start("run-1", "plan-1", live.graph("greedy", "two", "changing"))
    live.wait_for_tuples("rs")

    # Over stored streams: complete from the first batch, with partners from before the query.
    first = deploy(live, "plan-2", "two", "changing", "stored")
    before_stored = live.produce(200, "rs")
    assert first.queries["stored"].complete_since is not None
    live.wait_for_tuples("rs")

    # A stream that nobody read so far joins with a query, at its beginning.
    with_three = live.graph("left-deep", "two", "changing", "stored", "three")
    live.send(Deploy(plan_id="plan-3", graph=with_three))
    if killed:  # before or behind the moment in which it takes the plan
        kill_and_start_again(live, "run-2", "plan-3", with_three)
    live.wait_for(lambda e: e.type == "batch" and e.plan_id == "plan-3")
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
    if killed:
        kill_and_start_again(live, "run-3", "plan-5", live.graph("greedy", "two", "stored"))
    settle(live, tmp_path, "rs")
    assert {f.name for f in (tmp_path / "checkpoint" / "state").iterdir()} == set(without.stores)

    # It comes back to a store that lacks what went by, and says from when on it is complete again.
    back = deploy(live, "plan-6", "two", "stored", "three")
    before_back = live.produce(0)
    assert back.queries["three"].complete_since is None
    live.produce(500)
    if killed:
        kill_and_start_again(live, "run-4", "plan-6", live.graph("greedy", "two", "stored", "three"))
    settle(live, tmp_path, "rst")
    live.produce(100)
    last = settle(live, tmp_path, "rst")
    live.wait_for(lambda e: e.type == "batch" and e.batch == last)
    complete_from = number_at(last_batch(live), "three")
    assert before_gap < complete_from <= before_gap + TWENTY_SECONDS + 3
    assert last_batch(live).queries["two"].complete_since is not None

    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    check_answers(
        live, Moments(before_stored, before_three, before_change, before_gap, before_back, complete_from)
    )
    # What no batch runs under again is forgotten.
    assert len(list((tmp_path / "checkpoint" / "changes").iterdir())) == 1
    assert len(list((tmp_path / "checkpoint" / "plans").iterdir())) == 1


@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_what_a_stream_had_before_it_joins_is_read(live: Live, tmp_path: Path, killed: bool) -> None:
    live.produce(800, "rs")
    history = live.produce(400, "t")
    live.produce(400, "rs")
    live.start("run-1", "plan-1", live.graph("greedy", "two"))
    live.wait_for_tuples("rs")
    graph = live.graph("greedy", "two", "three")
    live.send(Deploy(plan_id="plan-2", graph=graph))
    live.wait_for(lambda e: e.type == "batch" and e.plan_id == "plan-2")
    if killed:
        kill_and_start_again(live, "run-2", "plan-2", graph)
    live.produce(100, "rs")
    settle(live, tmp_path, "rst")
    live.wait_for(
        lambda e: e.type == "batch" and e.queries.get("three", e.queries["two"]).complete_since is not None
    )
    live.produce(600)
    live.wait_for_tuples("rst")
    assert last_batch(live).queries["three"].joining == ()
    complete_from = number_at(last_batch(live), "three")
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    last = CommitLog(tmp_path / "checkpoint").last()
    assert last is not None
    # The watermark was some 800 tuples ahead of the newest that it had.
    assert history + 400 < complete_from
    assert (last.streams["t"].late, last.streams["t"].accepted) == (0, 1000)
    found, expected = live.found("three"), live.expected("three")
    assert set(found) <= set(expected)
    same(newer(found, complete_from), newer(expected, complete_from))
    assert len([row for row in found if row[2] <= history + 400]) > 10
    same(live.found("two"), live.expected("two"))


@pytest.mark.long
def test_numbers_of_tasks_change_and_no_tuple_moves(live: Live, tmp_path: Path) -> None:
    queries, log = ("keyed", "near"), CommitLog(tmp_path / "checkpoint")

    def numbers_of_tasks() -> set[tuple[int, ...]]:
        """Of all stores, those under which tuples lie besides the plan's."""
        last = log.last()
        assert last is not None
        assert last.figures.moved == 0
        layouts = [state.layout or Rescaling() for state in last.stores.values()]
        return {tuple(o.tasks for o in layout.older) for layout in layouts if isinstance(layout, Rescaling)}

    options = ("--parallelism", "4")
    live.start("run-1", "plan-1", live.graph_with("flat", {}, *queries, tasks=1), options=options)
    live.produce(100)
    live.wait_for_tuples("rst")
    deploy(live, "plan-2", *queries, method="flat", tasks=4)
    assert numbers_of_tasks() == {(1,)}
    live.produce(20)
    live.wait_for_tuples("rst")
    deploy(live, "plan-3", *queries, method="flat", tasks=2)
    assert numbers_of_tasks() == {(1, 4)}
    # It dies while tuples lie under three numbers of tasks.
    live.produce(20)
    assert live.signal(signal.SIGKILL) == -signal.SIGKILL
    live.start("run-2", "plan-3", live.graph_with("flat", {}, *queries, tasks=2), options=options)
    settle(live, tmp_path, "rst")
    # A window later the older ones are forgotten.
    for _ in range(3):
        live.produce(70)
        settle(live, tmp_path, "rst")
    assert numbers_of_tasks() == {()}
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    for query in queries:
        expected = live.expected(query)
        assert len(expected) > 1000
        same(live.found(query), expected)


def check_answers(live: Live, at: Moments) -> None:
    """Every query's results are DuckDB's of the time in which it ran."""
    same(live.found("two"), live.expected("two"))
    stored = live.expected("stored", at.stored)
    same(live.found("stored"), stored)
    assert len(newer(stored, at.stored, at.stored + 400)) > 100
    three, all_three = live.found("three"), live.expected("three")
    same(newer(three, at.three, at.gap), newer(all_three, at.three, at.gap))
    same(newer(three, at.gap, at.back), [])
    same(newer(three, at.complete_again), newer(all_three, at.complete_again))
    assert set(three) <= set(all_three)
    assert min(len(newer(three, at.three, at.gap)), len(newer(three, at.complete_again))) > 100
    found = live.found("changing")
    same(newer(found, 0, at.change), newer(live.expected("changing"), 0, at.change))
    same(newer(found, at.change), newer(live.expected("changed"), at.change, at.gap))
    assert len(newer(found, at.change)) > 100


def same(found: list[tuple[int, ...]], expected: list[tuple[int, ...]]) -> None:
    """A million rows that differ would keep pytest busy for an hour."""
    missing, extra = Counter(expected), Counter(found)
    missing, extra = missing - extra, extra - missing
    assert (missing.total(), extra.total()) == (0, 0), (missing.most_common(3), extra.most_common(3))
