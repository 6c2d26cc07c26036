"""Workers on networks of their own: nothing but a cable leads to them, and it can be pulled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.recovery.manifest import CommitLog
from tests.cluster.namespaces import Namespaces, Separated, Unavailable
from tests.faults.replays import Replay

OPTIONS = ("--batch-rows", "4500", "--parallelism", "2", "--master")


@pytest.fixture
def namespaces() -> Iterator[Namespaces]:
    made = Namespaces(2)
    try:
        made.__enter__()
    except Unavailable as error:
        pytest.skip(str(error))
    yield made
    made.__exit__(None, None, None)


@pytest.fixture
def cluster(namespaces: Namespaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Separated]:
    with Separated(tmp_path / "cluster", namespaces, 2) as cluster:
        # Of the driver; workers have addresses of their own.
        monkeypatch.setenv("SPARK_LOCAL_IP", namespaces.address)
        yield cluster


def hosts_of(replay: Replay) -> set[str]:
    last = CommitLog(replay.checkpoint).last()
    assert last is not None
    return {run.host for run in last.runs if run.path.split("/")[-1].startswith(f"{last.batch:012d}")}


def test_messages_go_over_the_network(cluster: Separated, workload: Path, data: Path, tmp_path: Path) -> None:
    replay = Replay(workload, data, tmp_path / "out", *OPTIONS, cluster.url)
    replay.finish()
    # Addresses that only exist inside.
    assert hosts_of(replay) == {cluster.host(0), cluster.host(1)}


def test_a_host_that_falls_silent(
    cluster: Separated,
    namespaces: Namespaces,
    workload: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No connection is closed: Spark waits for its heartbeats in vain, then the other one does all."""
    settings = tmp_path / "spark"
    settings.mkdir()
    (settings / "spark-defaults.conf").write_text(
        "spark.network.timeout 10s\nspark.network.timeoutInterval 5s\nspark.executor.heartbeatInterval 1s\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(settings))
    replay = Replay(workload, data, tmp_path / "out", *OPTIONS, cluster.url)
    assert replay.run_until(1)
    namespaces.cut(1)
    assert replay.end() == (0, "")
    replay.check()
    assert hosts_of(replay) == {cluster.host(0)}
