"""State in an object store: written once, read from copies on each host, owned by one checkpoint."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow.fs as pafs
import pytest

from jobs.plan.tuples import ARRIVAL
from jobs.protocol import Stop
from jobs.recovery.checkpoint import Checkpoint, Identity
from jobs.storage.partition import PartitionState, state_root
from jobs.storage.remote import below, claim
from jobs.storage.run import RunRef, StateRoot
from jobs.storage.run_cache import RunCache
from jobs.worker.task import load_graph
from optimizer.algebra.errors import InputError
from optimizer.logical.window import UNBOUNDED
from optimizer.physical.graph import GraphStore, PhysicalGraph, StoredInput
from tests.cluster.object_store import CREDENTIALS, ObjectStore
from tests.cluster.standalone import Standalone
from tests.faults.replays import Replay
from tests.faults.test_redis import QUERIES as LIVE
from tests.runtime.live import TOPOLOGY, Live, RedisServer, write_live_workload

STORE = GraphStore("S", "r", (StoredInput("r", "r", ("at",)),), None, 1, (UNBOUNDED,))


@pytest.fixture(scope="module")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        with ObjectStore(tmp_path_factory.mktemp("objects") / "server.log") as server:
            yield server


def host(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> StateRoot:
    """The state as a process on a host of its own sees it."""
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("MILLRACE_STATE_CACHE", str(folder))
    return StateRoot(url)


def insert(url: str, batch: int, rows: int = 100) -> RunRef:
    """A run written by a process of this host."""
    times = pl.Series(range(rows)).cast(pl.Datetime("us", "UTC"))
    frame = pl.DataFrame({"r.at": times, ARRIVAL: range(rows)})
    return PartitionState(url, 0, batch, {}).insert(STORE, ("r.at",), 1, frame)


def test_a_run_is_fetched_once_and_only_where_it_was_not_written(
    object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = object_store.url("fetched/runs")
    here = host(url, tmp_path / "here", monkeypatch)
    state_root.cache_clear()
    run = insert(url, 0)
    assert here.read(run).height == 100
    assert here.fetched_bytes == 0
    elsewhere, beside = (host(url, tmp_path / "elsewhere", monkeypatch) for _ in range(2))
    assert elsewhere.read(run).equals(here.read(run))
    assert elsewhere.fetched_bytes == run.bytes
    assert beside.read(run).equals(here.read(run))
    assert beside.fetched_bytes == 0
    elsewhere.verify([run])


def test_what_was_damaged_is_named(
    object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = object_store.url("damaged/runs")
    host(url, tmp_path / "here", monkeypatch)
    state_root.cache_clear()
    run = insert(url, 0)
    filesystem, folder = pafs.FileSystem.from_uri(url)
    with filesystem.open_output_stream(f"{folder}/{run.path}") as target:
        target.write(b"x" * run.bytes)
    elsewhere = host(url, tmp_path / "elsewhere", monkeypatch)
    with pytest.raises(InputError, match="other content than was written"):
        elsewhere.read(run)
    elsewhere.delete([run.path, run.path])
    with pytest.raises(InputError, match="no such file"):
        elsewhere.verify([run])


def test_what_no_manifest_lists_is_deleted(
    object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = object_store.url("unlisted/runs")
    root = host(url, tmp_path / "here", monkeypatch)
    state_root.cache_clear()
    kept, lost = insert(url, 0), insert(url, 1)
    assert root.delete_others([kept]) == (lost.path,)
    assert object_store.names("unlisted/runs") == [kept.path]


def test_copies_stay_within_their_bound(tmp_path: Path) -> None:
    cache = RunCache("s3://bucket/runs", tmp_path, most_bytes=1600)
    for number in range(100):
        unfinished = cache.place(f"{number}.unfinished")
        unfinished.write_bytes(bytes(100))
        copy = cache.keep(str(number), unfinished)
        assert cache.find(str(number)) == copy
    kept = [file for folder in tmp_path.iterdir() for file in folder.iterdir()]
    assert 0 < sum(file.stat().st_size for file in kept) <= 1600 + 1600 // 16 + 100
    assert cache.find("99") is not None
    assert cache.find("0") is None


def test_state_belongs_to_one_checkpoint(object_store: ObjectStore) -> None:
    url = object_store.url("owned")
    claim(url, "first")
    with pytest.raises(InputError, match="found the state of checkpoint first"):
        claim(url, "second")
    claim(url, "first")
    assert object_store.names("owned/owners") == ["first"]
    assert below(url, "runs").startswith("s3://millrace/owned/runs?scheme=http&")


def test_tasks_need_not_see_the_checkpoint(
    object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_STATE_CACHE", str(tmp_path))
    url = object_store.url("shown")
    checkpoint = Checkpoint(tmp_path / "checkpoint", Identity("run", "t", 1), url)
    checkpoint.claim_state()
    first = PhysicalGraph((), (), (), (), ())
    second = replace(first, method="greedy")
    for graph in (first, second, second):
        path = checkpoint.plan_path(checkpoint.keep_plan(graph))
        name = checkpoint.shown(path)
        assert name.startswith("s3://")
        assert load_graph(name) == graph
    (kept,) = [name for name in object_store.names("shown") if name.startswith("shelf/")]
    assert path.stem in kept
    assert checkpoint.state == object_store.url("shown/runs")


def test_a_replay_that_is_killed_and_continued(
    object_store: ObjectStore, workload: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("MILLRACE_STATE_CACHE", str(tmp_path / "cache"))
    options = ("--batch-rows", "4500", "--parallelism", "2", "--state", object_store.url("replay"))
    replay = Replay(workload, data, tmp_path / "out", *options)
    assert replay.run_until(2)
    replay.kill_at_random_moment(random.Random(8))
    replay.finish()
    assert not list((replay.checkpoint / "state").rglob("*.arrow"))
    assert any(name.startswith("runs/") for name in object_store.names("replay"))
    thief = Replay(workload, data, tmp_path / "other", *options)
    thief.start()
    code, errors = thief.end()
    assert (code, errors.count("\n")) == (2, 1), errors
    assert "found the state of checkpoint" in errors


def test_a_topology_that_is_killed_and_continued(
    object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state lies below its name, and two topologies may share a URL."""
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("MILLRACE_STATE_CACHE", str(tmp_path / "cache"))
    server = RedisServer(tmp_path)
    server.start()
    live = Live(server.port, tmp_path, write_live_workload(tmp_path / "workload", LIVE))
    options = ("--state", object_store.url("topologies"))
    try:
        graph = live.graph("greedy", *LIVE)
        live.produce(100)
        live.start("run-1", "plan-1", graph, options=options)
        live.wait_for_tuples("rst")
        live.produce(50)
        assert live.signal(signal.SIGKILL) == -signal.SIGKILL
        live.start("run-2", "plan-1", graph, options=options)
        live.wait_for(lambda e: e.type == "job_started" and e.run == "run-2")
        live.produce(50)
        live.send(Stop(mode="drain"))
        assert live.wait_until_ended() == 0
        for query in LIVE:
            assert live.found(query) == live.expected(query), query
    finally:
        live.close()
        server.stop()
    assert not list((tmp_path / "checkpoint").rglob("*.arrow"))
    runs = [name for name in object_store.names("topologies") if name.endswith(".arrow")]
    assert runs
    assert all(name.startswith(f"{TOPOLOGY}/runs/") for name in runs)


def test_two_workers_of_which_one_is_lost(
    object_store: ObjectStore, workload: Path, data: Path, tmp_path: Path
) -> None:
    """The other one has none of its runs: it fetches them from the object store."""
    with Standalone(tmp_path / "cluster", 2) as cluster:
        options = ("--batch-rows", "4500", "--parallelism", "2", "--master", cluster.url)
        replay = Replay(workload, data, tmp_path / "out", *options, "--state", object_store.url("lost"))
        assert replay.run_until(2)
        cluster.kill_worker(1)
        assert replay.end() == (0, "")
    replay.check()
    assert not list((replay.checkpoint / "state").rglob("*.arrow"))
    metrics = json.loads((replay.out / "metrics.json").read_text())
    assert metrics["state_bytes_fetched"] > 0
