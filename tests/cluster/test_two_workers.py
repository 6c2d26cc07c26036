"""Executors on several hosts: nothing in memory is shared, and partitions stay where they are."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from jobs.recovery.manifest import CommitLog
from tests.cluster.standalone import Standalone
from tests.faults.replays import Replay

CLUSTER = ("--batch-rows", "3000", "--parallelism", "4", "--master")


@pytest.fixture(scope="module")
def replay(
    two_workers: Standalone, workload: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Replay:
    """A replay on two workers, at its end. It has four partitions, so that each worker has two."""
    folder = tmp_path_factory.mktemp("replay")
    replay = Replay(workload, data, folder / "out", *CLUSTER, two_workers.url)
    replay.start()
    assert replay.end() == (0, "")
    return replay


def test_results_are_complete(replay: Replay) -> None:
    replay.check()


def test_every_host_keeps_its_partitions(two_workers: Standalone, replay: Replay) -> None:
    last = CommitLog(replay.checkpoint).last()
    assert last is not None
    hosts: dict[str, set[int]] = defaultdict(set)
    for run in last.runs:
        hosts[run.host].add(run.partition)
    assert sorted(hosts) == [two_workers.host(0), two_workers.host(1)]
    assert [len(partitions) for partitions in hosts.values()] == [2, 2]


def test_runs_are_read_where_they_were_written(replay: Replay) -> None:
    """What was fetched besides was fetched in the first batches, while executors arrived one by one, or
    by a task whose host was busy with another one."""
    lines = [json.loads(line) for line in (replay.checkpoint / "batches.jsonl").read_text().splitlines()]
    steady = [line["figures"] for line in lines[5:]]
    written = sum(figures["inserted_bytes"] for figures in steady)
    assert written > 0
    assert sum(figures["fetched_bytes"] for figures in steady) < written / 4
    metrics = json.loads((replay.out / "metrics.json").read_text())
    assert metrics["state_bytes_fetched"] == sum(line["figures"]["fetched_bytes"] for line in lines)


def test_plans_are_exchanged_on_the_way(
    two_workers: Standalone, workload: Path, data: Path, tmp_path: Path
) -> None:
    """Stores are spread anew at every second batch's end."""
    options = ("--another-plan-every-epoch", "--epoch-batches", "2")
    replay = Replay(workload, data, tmp_path / "out", *CLUSTER, two_workers.url, *options)
    replay.start()
    assert replay.end() == (0, "")
    replay.check()
    assert (
        len({epoch["plan"] for epoch in json.loads((replay.out / "metrics.json").read_text())["epochs"]}) > 1
    )
