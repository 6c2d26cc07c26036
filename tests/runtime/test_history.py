"""A stream with a history in files, then live: equal to DuckDB over both, with kills around the switch."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jobs.protocol import AnyEvent, Stop, stream_key
from jobs.recovery.manifest import read_manifest
from tests.runtime.live import CHAIN, Live, RedisServer, write_live_workload

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


class HistoryLive(Live):
    """Tuples of r lie in files first; all others are sent."""

    def __init__(self, redis_port: int, folder: Path) -> None:
        super().__init__(redis_port, folder, write_live_workload(folder / "workload", CHAIN, STREAMS))
        self.archive = folder / "archive" / "r"
        self.archive.mkdir(parents=True)

    def archive_from(self, first: int) -> None:
        """Take what was sent of r from a tuple on out of Redis, into files of 50 rows."""
        rows = self.produced["r"][first:]
        for entry, _ in self.client.xrange(stream_key("r"))[first:]:  # type: ignore[index]
            self.client.xdel(stream_key("r"), entry)
        for begin in range(0, len(rows), 50):
            name = f"{begin:04}.csv"
            frame = pl.DataFrame(rows[begin : begin + 50])
            frame.write_csv(self.archive / f".{name}", datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")
            (self.archive / f".{name}").rename(self.archive / name)

    def is_live(self) -> bool:
        """As the newest commit has it."""
        commits = (self._folder / "checkpoint" / "commits").glob("*.json")
        newest = max(commits, key=lambda path: int(path.stem))
        position: dict[str, Any] = read_manifest(str(newest)).position["streams"]["r"]
        return bool(position["is_live"])


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HistoryLive]:
    monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", f"archive={tmp_path / 'archive'}")
    store = tmp_path / "redis"
    store.mkdir()
    server = RedisServer(store)
    server.start()
    made = HistoryLive(server.port, tmp_path)
    yield made
    made.close()
    server.stop()


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
