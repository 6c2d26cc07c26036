"""A job that is asked to end just as Spark calls for another batch ends, and the next one has that batch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.protocol import Stop
from tests.runtime.live import Live, RedisServer, write_live_workload

_STOPPED_WITHIN_S = 180.0
QUERY = "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS] WHERE r.a = s.a"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    server.start()
    live = Live(server.port, tmp_path, write_live_workload(tmp_path / "workload", {"two": QUERY}))
    yield live
    live.close()
    server.stop()


def test_a_batch_that_begins_while_the_job_stops_is_left_to_the_next_job(live: Live) -> None:
    graph = live.graph("greedy", "two")
    live.start("1", "p", graph, program="tests.runtime.late_stop")
    live.produce(20, "rs")
    live.wait_for_tuples("rs")
    live.send(Stop(mode="now"))
    give_up_at = time.monotonic() + _STOPPED_WITHIN_S
    while not live.ends_within(0.2):
        assert time.monotonic() < give_up_at, live.last_words()
        live.produce(1, "rs")
    assert live.wait_until_ended() == 0
    live.start("2", "p", graph)
    live.produce(20, "rs")
    live.wait_for_tuples("rs")
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    assert live.found("two") == live.expected("two")
