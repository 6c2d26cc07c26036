"""Planning over Redis Streams, with a server that goes away in the middle."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from backend.run import redis_server
from jobs.protocol import stream_key
from jobs.sources.connector import Position
from jobs.sources.live import LivePlanner, LiveSource, maker_of
from jobs.sources.read import read
from jobs.sources.redis import EntryOffsets, EntryRange, LostEntries, read_entries
from jobs.worker.ingest import AHEAD
from jobs.worker.task import BatchContext, _ingest_one
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import GraphStream
from optimizer.planner.plan import plan
from optimizer.sql import parse_query

EXAMPLES = int(os.environ.get("MILLRACE_FUZZ_EXAMPLES", "150"))


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found = probe.getsockname()[1]
    command = [redis_server.executable(), "--port", str(found), "--save", "", "--bind", "127.0.0.1"]
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
    read_one = EntryOffsets._end

    def read_and_lose(self: EntryOffsets, name: str, position: Position, share: int) -> Position | None:
        answer = read_one(self, name, position, share)
        redis.Redis(port=port).shutdown(nosave=True)
        return answer

    monkeypatch.setattr(EntryOffsets, "_end", read_and_lose)
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


def test_a_batch_that_is_planned_again_says_the_same_of_its_arrival(
    planner: LivePlanner, port: int, tmp_path: Path
) -> None:
    """By another process too, after a kill: which tuples are ahead of their arrival may not change."""
    start = planner.initial()
    end = planner.advance(start)
    before = planner.planned(start, end).arrived_by_ms
    assert before is not None
    again = LivePlanner(LiveSource(1000), f"redis://127.0.0.1:{port}/0", tmp_path)
    time.sleep(0.005)
    assert again.planned(start, json.loads(json.dumps(end))).arrived_by_ms == before


def test_tuples_of_arrow_entries_are_set_aside_one_by_one(port: int) -> None:
    columns = (("at", ColumnType.TIMESTAMP), ("y", ColumnType.STRING))
    stream = GraphStream("r", "at", columns, 0, "drop")
    text = pa.array([b"a", b"\xff", b"c", b"d"], pa.binary()).view(pa.string())
    at = pa.array([1, 2, 2**62, 4], pa.timestamp("s"))
    bodies = [
        pa.table({"at": at, "y": text}),
        pa.table({"y": text.dictionary_encode(), "at": at}),
        pa.table({"at": at, "y": [1, 2, 3, 4]}),
        pa.table([at, at], ["at", "at"]),
    ]
    client = redis.Redis(port=port)
    for number, table in enumerate(bodies):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        client.xadd(stream_key("r"), {"arrow": sink.getvalue().to_pybytes()}, id=f"{number + 1}-0")
    raw = read(
        EntryRange("r", stream_key("r"), "0-0", "4-0", 4), stream, ["y"], f"redis://127.0.0.1:{port}/0"
    )
    assert raw.table.column("y").to_pylist() == ["a", "d", "a", "d"]
    assert raw.arrived_ms is not None
    assert raw.arrived_ms.tolist() == [1, 1, 2, 2]
    assert raw.undecodable is not None
    texts = [f"y is not UTF-8: \ufffd (entry {n}-0, row 2)" for n in (1, 2)]
    times = [f"at is not timestamp: {2**62} s since 1970 (entry {n}-0, row 3)" for n in (1, 2)]
    assert [row["reason"] for row in raw.undecodable.to_pylist()] == [
        *(texts[0], times[0], texts[1], times[1]),
        *("y has type int64, not string", "at is there twice"),
    ]


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_a_damaged_arrow_entry_ends_no_task(data: st.DataObject) -> None:
    table = pa.table(
        {"at": pa.array([1, 2, 3], pa.timestamp("us")), "y": ["a", None, "täxt"], "n": [1, 2, 3]}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body = bytearray(sink.getvalue().to_pybytes())
    flips = st.tuples(st.integers(0, len(body) - 1), st.integers(1, 255))
    for place, value in data.draw(st.lists(flips, max_size=3)):
        body[place] ^= value
    cut = bytes(body[: data.draw(st.integers(0, len(body)))])
    columns = (("at", ColumnType.TIMESTAMP), ("y", ColumnType.STRING), ("n", ColumnType.BIGINT))
    stream = GraphStream("r", "at", columns, 0, "drop")
    entries = [(b"1-0", {b"arrow": cut}), (b"2-0", {b"arrow": bytes(body)})]
    raw = read_entries(entries, EntryRange("r", "k", "0-0", "2-0", 2), stream)
    raw.table.validate(full=True)
    assert raw.undecodable is None or raw.undecodable.num_rows


def test_one_tuple_from_the_end_of_time_silences_nobody(port: int) -> None:
    """As a task ingests entries: the next batch's watermark is that of the tuples that came in time."""
    columns = (("at", ColumnType.TIMESTAMP), ("n", ColumnType.INT))
    catalog = Catalog((Stream("r", columns, "at"),))
    graph = plan([parse_query("SELECT r.n FROM r", "q", catalog)], catalog, method="flat", tasks=1).graph
    client = redis.Redis(port=port)
    now = datetime.now(UTC)
    for number, ahead in enumerate((timedelta(0), timedelta(hours=23), timedelta(hours=25))):
        row = {"at": (now + ahead).isoformat(), "n": number}
        client.xadd(stream_key("r"), {"json": json.dumps(row)})
    last = client.xadd(stream_key("r"), {"json": '{"at": "9999-12-31T23:59:59Z", "n": 3}'})
    assert isinstance(last, bytes)
    url = f"redis://127.0.0.1:{port}/0"
    context = BatchContext(0, "", "", None, None, None, 1, None, (), url, 10, arrived_by_ms=2**42)
    _, done = _ingest_one(graph, EntryRange("r", stream_key("r"), "0-0", last.decode(), 4), 0, None, context)
    assert (done.counts.accepted, done.counts.undecodable) == (2, 2)
    assert done.counts.max_event_time_us is not None
    assert done.counts.max_event_time_us < (now + timedelta(hours=24)).timestamp() * 1e6
    assert done.dead is not None
    assert done.dead.column("reason").to_pylist() == [AHEAD, AHEAD]


@pytest.mark.parametrize(
    ("position", "entry"),
    [
        ({"id": "7-1", "chunks": [], "mark": "m"}, "7-1"),
        # A topic has an id, too.
        ({"topic": "t", "id": "Xq3", "offsets": {"0": 4}, "ranges": [], "gaps": []}, None),
        ({"history": "a", "live": {"id": "7-1", "chunks": []}, "is_live": True, "files": [1, 1]}, None),
        ({"row": 12}, None),
    ],
)
def test_only_what_lies_in_redis_alone_is_told_by_its_entry(position: Position, entry: str | None) -> None:
    assert maker_of(position).entry(position) == entry
