"""SIGKILL to what a cluster consists of, while a topology is at work on it."""

from __future__ import annotations

from pathlib import Path

from jobs.recovery.manifest import CommitLog
from tests.cluster.standalone import Standalone
from tests.faults.replays import Replay

SMALL_BATCHES = ("--batch-rows", "4500", "--parallelism", "2", "--master")


def begun(cluster: Standalone, workload: Path, data: Path, out: Path) -> Replay:
    """A replay that has committed its second batch of eight."""
    replay = Replay(workload, data, out, *SMALL_BATCHES, cluster.url)
    assert replay.run_until(1)
    return replay


def ended(replay: Replay) -> set[str]:
    """Requires that nothing is missing or doubled; returns the hosts that wrote the last runs."""
    assert replay.end() == (0, "")
    replay.check()
    last = CommitLog(replay.checkpoint).last()
    assert last is not None
    return {run.host for run in last.runs if run.path.split("/")[-1].startswith(f"{last.batch:012d}")}


def test_executors(cluster: Standalone, workload: Path, data: Path, tmp_path: Path) -> None:
    """Spark starts others in their place."""
    replay = begun(cluster, workload, data, tmp_path / "out")
    killed = 0
    for number, batch in ((0, 2), (1, 4)):
        if replay.wait_for(batch):
            for executor in cluster.executors(number):
                executor.kill()
                killed += 1
    assert killed >= 2
    ended(replay)


def test_a_worker(cluster: Standalone, workload: Path, data: Path, tmp_path: Path) -> None:
    """The other one takes its partitions over, and gives some to a third that comes later."""
    replay = begun(cluster, workload, data, tmp_path / "out")
    cluster.kill_worker(1)
    assert replay.wait_for(3)
    cluster.start_worker(2)
    assert ended(replay) <= {cluster.host(0), cluster.host(2)}


def test_the_master(cluster: Standalone, workload: Path, data: Path, tmp_path: Path) -> None:
    """Without a master the topology goes on; the next one knows it, and starts executors for it."""
    replay = begun(cluster, workload, data, tmp_path / "out")
    cluster.kill_master()
    assert replay.wait_for(replay.committed() + 2)
    cluster.start_master()
    cluster.wait_for(2)
    for executor in cluster.executors(0):
        executor.kill()
    ended(replay)
