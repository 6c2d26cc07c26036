"""A stream with a history in files, then live: equal to DuckDB over both, with kills around the switch.

The files lie in a directory or in an object store. A stream begins with the topology, or joins one that runs.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.fs as pafs
import pytest

from jobs.protocol import AnyEvent, BatchCompleted, Deploy, Stop, stream_key
from jobs.recovery.manifest import Manifest, read_manifest
from tests.cluster.object_store import BUCKET, ObjectStore
from tests.runtime.live import BEGIN, CHAIN, Live, RedisServer, write_live_workload

STREAMS = """\
streams:
  r:
    event_time: ts
    rate: 100
    columns: {ts: timestamp, n: bigint, a: bigint}
    history: {folder: archive/r, pattern: "*.csv", format: csv, start: earliest}
  s: {event_time: ts, rate: 100, columns: {ts: timestamp, n: bigint, a: bigint, b: bigint}}
  t: {event_time: ts, rate: 100, columns: {ts: timestamp, n: bigint, b: bigint}}
"""
QUERIES = {
    **CHAIN,
    "before": "SELECT s.n AS sn, t.n AS tn FROM s [RANGE 3 SECONDS], t [RANGE 3 SECONDS] WHERE s.b = t.b",
    "joined": "SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM r [RANGE 2 SECONDS], s [RANGE 2 SECONDS], "
    "t [RANGE 2 SECONDS] WHERE r.a = s.a AND s.b = t.b",
}


class HistoryLive(Live):
    """Tuples of r lie in files first; all others are sent.

    Arguments: Redis; the topology's folder; where the files lie, and below which path.
    """

    def __init__(self, redis_port: int, folder: Path, files: pafs.FileSystem, root: str) -> None:
        super().__init__(redis_port, folder, write_live_workload(folder / "workload", QUERIES, STREAMS))
        self._files = files
        self._archive = f"{root}/r"
        files.create_dir(self._archive)

    def archive_from(self, first: int) -> None:
        """Take what was sent of r from a tuple on out of Redis, into files of 50 rows."""
        rows = self.produced["r"][first:]
        for entry, _ in self.client.xrange(stream_key("r"))[first:]:  # type: ignore[index]
            self.client.xdel(stream_key("r"), entry)
        for begin in range(0, len(rows), 50):
            name = f"{begin:04}.csv"
            frame = pl.DataFrame(rows[begin : begin + 50])
            text = frame.write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")
            with self._files.open_output_stream(f"{self._archive}/.{name}") as file:
                file.write(text.encode())
            self._files.move(f"{self._archive}/.{name}", f"{self._archive}/{name}")

    def newest_commit(self) -> Manifest:
        commits = (self._folder / "checkpoint" / "commits").glob("*.json")
        return read_manifest(str(max(commits, key=lambda path: int(path.stem))))

    def is_live(self) -> bool:
        """As the newest commit has it."""
        position: dict[str, Any] = self.newest_commit().position["streams"]["r"]
        return bool(position["is_live"])


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def in_directory(
    redis_server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HistoryLive]:
    root = tmp_path / "archive"
    monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", f"archive={root}")
    made = HistoryLive(redis_server.port, tmp_path, pafs.LocalFileSystem(), str(root))
    yield made
    made.close()


@pytest.fixture
def in_store(
    redis_server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HistoryLive]:
    with ObjectStore(tmp_path / "moto.log") as store:
        monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", f"archive=s3://{BUCKET}/archive")
        for name, value in store.settings.items():
            monkeypatch.setenv(name, value)
        made = HistoryLive(redis_server.port, tmp_path, store.filesystem, f"{BUCKET}/archive")
        yield made
        made.close()


@pytest.fixture(params=["in_directory", "in_store"])
def live(request: pytest.FixtureRequest) -> HistoryLive:
    made: HistoryLive = request.getfixturevalue(request.param)
    return made


def _accepts(event: AnyEvent, stream: str) -> bool:
    return event.type == "batch" and stream in event.streams and event.streams[stream].accepted > 0


def _is_in_history(event: AnyEvent) -> bool:
    """As the pages tell it."""
    assert event.type == "batch"
    metrics = event.streams["r"]
    assert metrics.position is None, "not all that was read lies in Redis"
    read, there = metrics.history_files_read, metrics.history_files
    return there is not None and read in range(there + 1)


def test_kills_before_and_behind_the_switch_neither_lose_nor_double(live: HistoryLive) -> None:
    graph = live.graph("ilp", "chain")
    # Streams that have been silent for a second are passed over, but for one that reads its history.
    options = ["--batch-rows", "90", "--idle-timeout", "1 second"]
    live.produce(200)
    live.archive_from(0)
    # What is sent meanwhile waits behind the files.
    live.produce(150)
    live.start("1", "p", graph, options=options)
    live.wait_for(lambda event: _accepts(event, "r") and _is_in_history(event))
    live.signal(signal.SIGKILL)
    assert not live.is_live()
    # Files that are read in the middle are older than what comes to s and t now.
    live.start("2", "p", graph, options=options)

    def is_behind(event: AnyEvent) -> bool:
        return _accepts(event, "r") and not _is_in_history(event)

    live.wait_for(is_behind)
    live.signal(signal.SIGKILL)
    assert live.is_live()
    live.produce(100)
    live.start("3", "p", graph, options=options)
    live.wait_for_tuples("rst")
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    assert len(live.expected("chain")) > 500
    assert live.found("chain") == live.expected("chain")


def _joining(event: AnyEvent) -> bool:
    """True of a batch that reads the history of r, which `joined` waits for."""
    if event.type != "batch" or event.plan_id != "with-r" or not _accepts(event, "r"):
        return False
    query = event.queries["joined"]
    if query.joining:
        assert query.joining == ("r",)
        assert query.complete_since is None
        assert query.missing_before is not None
    return bool(query.joining) and _is_in_history(event)


def test_a_history_that_joins_a_running_topology_is_read_first(in_store: HistoryLive) -> None:
    live = in_store
    options = ["--batch-rows", "90", "--idle-timeout", "1 second"]
    live.produce(600, "r")
    live.produce(400)
    live.archive_from(0)
    live.start("1", "without-r", live.graph("greedy", "before"), options=options)
    live.wait_for_tuples("st")
    with_r = live.graph("greedy", "before", "joined")
    live.send(Deploy(plan_id="with-r", graph=with_r))

    # The watermark of the others does not wait for what is long over, and makes none of it late.
    live.wait_for(_joining)
    watermark_us = live.newest_commit().watermark_us
    assert watermark_us is not None
    number = live.produce(50)
    live.wait_for_tuples("st")
    live.signal(signal.SIGKILL)
    killed = live.newest_commit()
    assert killed.streams["r"].joining
    assert killed.streams["r"].in_history
    assert killed.watermark_us is not None
    assert killed.watermark_us > watermark_us
    live.start("2", "with-r", with_r, options=options)
    live.wait_for(lambda event: event.type == "batch" and event.run == "2" and _joining(event))

    # What was sent of r meanwhile comes behind its history, and then all three go on side by side.
    live.wait_for_tuples("rst")
    assert live.is_live()
    live.produce(200)
    live.wait_for_tuples("rst")
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    assert [live.newest_commit().streams[stream].late for stream in "rst"] == [0, 0, 0]

    last = [event for event in live.events() if event.type == "batch"][-1]
    assert isinstance(last, BatchCompleted)
    told = last.queries["joined"]
    assert told.joining == ()
    assert told.complete_since is not None
    assert told.complete_since == told.missing_before
    since = round((told.complete_since - BEGIN).total_seconds() * 100)
    found, expected = Counter(live.found("joined")), Counter(live.expected("joined"))
    assert not found - expected
    # Partners that were gone when it came are missing, as it says, and nothing since.
    missing = expected - found
    assert missing
    assert max(map(max, missing)) < since
    assert since > number
    assert sum(max(row) >= since for row in found) > 100
    assert live.found("before") == live.expected("before")
