"""A replay that is killed and run again ends with the results of one that was not."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.runtime.linear import differences, start_replay, write_data, write_workload

ROWS = 12_000
PATIENCE_S = 900.0


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_workload(tmp_path_factory.mktemp("continue") / "workload")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("continue-data"), ROWS)


def committed(out: Path) -> int:
    return max((int(p.stem) for p in (out / "checkpoint" / "commits").glob("[0-9]*.json")), default=-1)


def wait_for_batch(process: subprocess.Popen[bytes], out: Path, batch: int) -> None:
    """Block until the batch is committed; a process that ends before that has failed."""
    give_up_at = time.monotonic() + PATIENCE_S
    while committed(out) < batch:
        assert process.poll() is None, process.stderr and process.stderr.read().decode()
        assert time.monotonic() < give_up_at
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)


def is_worker(process: psutil.Process) -> bool:
    """True for the workers and for what they were forked from."""
    return "pyspark.worker" in process.cmdline()


def finish(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors.decode()
    assert errors == b"", "a replay that succeeds says nothing"


def assert_complete(workload: Path, data: Path, out: Path) -> None:
    counts = differences(workload, data, out)
    assert {query: (missing, extra) for query, (_, missing, extra) in counts.items()} == dict.fromkeys(
        counts, (0, 0)
    )
    assert all(expected > 0 for expected, _, _ in counts.values())
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["tuples_in"] == 3 * ROWS
    assert metrics["results"] == {query: expected for query, (expected, _, _) in counts.items()}
    assert not list(out.glob("**/*.pending*"))


def test_killed_driver_continues(workload: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for batch in (2, 6):
        process = start_replay(workload, data, out, "--batch-rows", "3000")
        wait_for_batch(process, out, batch)
        process.send_signal(signal.SIGKILL)
        process.wait()
    finish(start_replay(workload, data, out, "--batch-rows", "3000"))
    assert_complete(workload, data, out)
    assert json.loads((out / "metrics.json").read_text())["batches"] == 12


def test_killed_python_workers_are_replaced(workload: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start_replay(workload, data, out, "--batch-rows", "3000", "--method", "flat")
    killed = 0
    for batch in (1, 4):
        wait_for_batch(process, out, batch)
        for child in psutil.Process(process.pid).children(recursive=True):
            # Workers are forks of a process with the same command line; they come and go.
            with suppress(psutil.NoSuchProcess):
                parent = child.parent()
                assert not any("pyspark.sql.worker" in word for word in child.cmdline()), "nothing is asked"
                if is_worker(child) and parent is not None and is_worker(parent):
                    child.kill()
                    killed += 1
    assert killed
    finish(process)
    assert_complete(workload, data, out)


def test_finished_replay_is_left_alone_and_another_one_refused(
    workload: Path, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    finish(start_replay(workload, data, out, "--batch-rows", "20000"))
    before = {path: path.stat().st_mtime_ns for path in (out / "results").rglob("*.parquet")}
    finish(start_replay(workload, data, out, "--batch-rows", "20000"))
    assert {path: path.stat().st_mtime_ns for path in (out / "results").rglob("*.parquet")} == before
    assert_complete(workload, data, out)

    other = start_replay(workload, data, out, "--method", "left-deep")
    _, errors = other.communicate(timeout=PATIENCE_S)
    assert other.returncode == 2
    assert errors.decode().count("\n") == 1
    assert str(out) in errors.decode()
