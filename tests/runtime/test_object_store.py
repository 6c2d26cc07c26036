"""Folders in an object store as sources of a topology: equal to DuckDB wherever the job is killed."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from jobs.protocol import Stop
from tests.cluster.object_store import BUCKET, ObjectStore
from tests.runtime.dying import BEFORE_COMMIT, DIES_AT, POINTS
from tests.runtime.live import RedisServer
from tests.runtime.test_folder import FolderLive
from tests.runtime.test_live_changes import settle


class StoreLive(FolderLive):
    """Tuples of r come as Parquet objects, of s as CSV, and of t by Redis."""

    def __init__(self, redis_port: int, folder: Path, store: ObjectStore) -> None:
        super().__init__(redis_port, folder)
        self._objects = store.filesystem

    def bring(self, stream: str, name: str, content: Path) -> None:
        """An object is there whole or not at all, so nobody has to rename it."""
        with self._objects.open_output_stream(f"{BUCKET}/landing/{stream}/{name}") as target:
            target.write(content.read_bytes())

    def died_in(self, run: str) -> tuple[str, int]:
        """The point at which a run killed itself, and its last batch."""
        said = re.search(r"died at (\w+) in batch (\d+)", (self._folder / f"{run}.log").read_text())
        assert said is not None, run
        return said[1], int(said[2])


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoreLive]:
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    server.start()
    with ObjectStore(tmp_path / "moto.log") as store:
        monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", f"landing=s3://{BUCKET}/landing")
        for name, value in store.settings.items():
            monkeypatch.setenv(name, value)
        made = StoreLive(server.port, tmp_path, store)
        yield made
        made.close()
    server.stop()


def test_a_job_killed_at_any_point_neither_loses_nor_doubles_rows_of_objects(
    live: StoreLive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = live.graph("ilp", "chain")
    options = ["--batch-rows", "90"]
    commits = tmp_path / "checkpoint" / "commits"
    last = -1
    for point in POINTS:
        live.produce(60)
        monkeypatch.setenv(DIES_AT, point)
        live.start(point, "p", graph, options=options, program="tests.runtime.dying")
        assert live.wait_until_ended() == -signal.SIGKILL, live.died_in(point)
        at, batch = live.died_in(point)
        assert at == point
        # Before the commit the batch is there for the next run to do, behind it it is done.
        assert (commits / f"{batch}.json").exists() == (point not in BEFORE_COMMIT)
        assert batch > last
        last = batch - (point in BEFORE_COMMIT)
    monkeypatch.delenv(DIES_AT)
    live.produce(100)
    live.start("last", "p", graph, options=options)
    # Two of the killed runs took with them what they would have told of their last batch.
    settle(live, tmp_path, "rst")
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    assert len(live.expected("chain")) > 500
    assert live.found("chain") == live.expected("chain")
    assert pl.read_parquet(tmp_path / "out" / "dead_letters" / "*.parquet").is_empty()
