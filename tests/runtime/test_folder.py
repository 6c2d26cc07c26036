"""Folders as sources of a topology: equal to DuckDB over kills, restarts and files that cannot be read."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jobs.protocol import AnyEvent, Stop
from tests.runtime.live import CHAIN, Live, RedisServer, write_live_workload

STREAMS = """\
streams:
  r:
    event_time: ts
    lateness: 1 minute
    rate: 100
    columns: {ts: timestamp, n: bigint, a: bigint}
    files: {folder: landing/r, pattern: "*.parquet"}
  s:
    event_time: ts
    lateness: 1 minute
    rate: 100
    columns: {ts: timestamp, n: bigint, a: bigint, b: bigint}
    files: {folder: landing/s, pattern: "*.csv", format: csv, faulty: skip}
  t: {event_time: ts, lateness: 1 minute, rate: 100, columns: {ts: timestamp, n: bigint, b: bigint}}
"""


class FolderLive(Live):
    """Tuples of r come as Parquet files, of s as CSV, and of t by Redis."""

    def __init__(self, redis_port: int, folder: Path) -> None:
        super().__init__(redis_port, folder, write_live_workload(folder / "workload", CHAIN, STREAMS))
        self.landing = folder / "landing"
        for stream in "rs":
            (self.landing / stream).mkdir(parents=True)
        self._files = 0

    def produce(self, rows: int, streams: str = "rst") -> int:
        first = self._number
        made: dict[str, list[dict[str, Any]]] = {stream: [] for stream in streams}
        for stream, row in self.numbered(rows, streams):
            made[stream].append(row)
        for row in made.pop("t", ()):
            self.send_row("t", row)
        for stream, new in made.items():
            self._write(stream, pl.DataFrame(new))
        return first

    def _write(self, stream: str, rows: pl.DataFrame) -> None:
        self._files += 1
        name = f"{self._files:04}.{'parquet' if stream == 'r' else 'csv'}"
        written = self._folder / name
        if stream == "r":
            rows.write_parquet(written, row_group_size=50)
        else:
            rows.write_csv(written, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ", quote_style="always")
        self.bring(stream, name, written)

    def bring(self, stream: str, name: str, content: Path) -> None:
        """Under a name that is no input yet, as whoever brings files should."""
        content.rename(self.landing / stream / name)


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FolderLive]:
    monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", f"landing={tmp_path / 'landing'}")
    store = tmp_path / "redis"
    store.mkdir()
    server = RedisServer(store)
    server.start()
    made = FolderLive(server.port, tmp_path)
    yield made
    made.close()
    server.stop()


def _reads_files(event: AnyEvent) -> bool:
    return (
        event.type == "batch"
        and bool(event.backlog)
        and all(stream in event.streams and event.streams[stream].accepted > 0 for stream in "rs")
    )


def test_a_killed_driver_neither_loses_nor_doubles_rows_of_files(live: FolderLive, tmp_path: Path) -> None:
    graph = live.graph("ilp", "chain")
    options = ["--batch-rows", "90"]
    live.produce(200)
    live.start("1", "p", graph, options=options)
    for run in ("2", "3"):
        # Killed while files are being read: inside some batch or between two, and inside some file.
        live.wait_for(_reads_files)
        live.signal(signal.SIGKILL)
        live.produce(150)
        live.start(run, "p", graph, options=options)
    live.wait_for_tuples("rst")
    (live.landing / "s" / "0000.csv").write_text("ts,n,a,b\n2026-01-01T00:00:00Z,1,1,1\n")
    (live.landing / "s" / "9999.csv").write_text("ts,n\n2026-01-01T00:00:00Z,1\n")
    # Two looks a second apart, and then a batch, are both behind what a drain waits for.
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    assert len(live.expected("chain")) > 500
    assert live.found("chain") == live.expected("chain")
    letters = pl.read_parquet(tmp_path / "out" / "dead_letters" / "*.parquet")
    told = sorted(letters.filter(pl.col("stream") == "s")["reason"].to_list())
    assert [reason.split(" (")[0] for reason in told] == [
        "a file that came, or was changed, when files up to 0006.csv had been read",
        "only the columns ts, n",
    ]
