"""SIGKILL at random moments, of every process that a topology consists of."""

from __future__ import annotations

import random
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.faults.replays import Replay

SMALL_BATCHES = ("--batch-rows", "1500", "--parallelism", "2")


def test_the_driver_several_times_in_one_replay(workload: Path, data: Path, tmp_path: Path) -> None:
    replay = Replay(workload, data, tmp_path / "out", *SMALL_BATCHES)
    moments = random.Random(4)
    for batch in (1, 7, 13):
        assert replay.run_until(batch)
        replay.kill_at_random_moment(moments)
    replay.finish()


def told_shortly(errors: str) -> bool:
    """One line with where the traceback is, and at most one more with what to do."""
    first, *more = errors.splitlines()
    return "(traceback: " in first and "Traceback" not in errors and len(more) <= 1


def test_spark_s_java_process(workload: Path, data: Path, tmp_path: Path) -> None:
    replay = Replay(workload, data, tmp_path / "out", *SMALL_BATCHES)
    assert replay.run_until(6)
    (java,) = replay.children("org.apache.spark.deploy.SparkSubmit")
    java.kill()
    code, errors = replay.end()
    assert code == 1
    assert told_shortly(errors), errors
    replay.finish()


def test_python_workers_and_their_daemons(workload: Path, data: Path, tmp_path: Path) -> None:
    """Spark repeats the tasks of a killed worker. The process that plans batches is among those that
    are killed: the job then ends and says so, and goes on when it is started again."""
    replay = Replay(workload, data, tmp_path / "out", *SMALL_BATCHES)
    replay.start()
    killed = 0
    for batch in (4, 10, 16):
        if not replay.wait_for(batch):
            code, errors = replay.end()
            assert (code, told_shortly(errors)) == (1, True), errors
            assert replay.run_until(batch)
        for process in replay.children("pyspark.worker"):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
                killed += 1
    assert killed >= 3
    code, errors = replay.end()
    if code:
        assert told_shortly(errors), errors
        replay.finish()
    else:
        replay.check()


@pytest.mark.parametrize("pause", [False, True], ids=["killed", "killed-and-another-one-late"])
def test_a_worker_inside_a_batch(workload: Path, data: Path, tmp_path: Path, pause: bool) -> None:
    """On one host a batch is one barrier stage, which Spark gives up with the first worker that is lost.
    With `pause` another worker is stopped meanwhile and goes on when it has been given up."""
    replay = Replay(workload, data, tmp_path / "out", "--batch-rows", "750", "--parallelism", "2")
    moments = random.Random(6)
    assert replay.run_until(1)
    hit = 0
    while hit < 4 and replay.wait_until_inside_a_batch():
        # A batch of this size spends a few tens of milliseconds in its stage.
        if replay.ends_within(moments.uniform(0, 0.04)):
            break
        workers = replay.workers()
        if len(workers) < 2:
            continue  # one is being replaced
        moments.shuffle(workers)
        inside = replay.inside_a_batch()
        with suppress(psutil.NoSuchProcess):
            if pause:
                workers[1].suspend()
            workers[0].kill()
            hit += inside
        if pause:
            replay.ends_within(moments.uniform(0, 1.0))
            with suppress(psutil.NoSuchProcess):
                workers[1].resume()
        if not replay.wait_for(replay.committed() + 2):
            break
    assert hit >= 3
    assert replay.end() == (0, "")
    replay.check()


def test_an_executor(workload: Path, data: Path, tmp_path: Path) -> None:
    """Executors of their own, as on a cluster; Spark starts another one in place of the killed one."""
    replay = Replay(
        workload, data, tmp_path / "out", "--batch-rows", "3000", "--parallelism", "2",
        "--master", "local-cluster[1,2,1024]",
    )  # fmt: skip
    moments = random.Random(5)
    assert replay.run_until(1)
    for batch in (2, 6):
        assert replay.wait_for(batch)
        assert not replay.ends_within(moments.uniform(0, 0.5))
        (executor,) = replay.wait_for_children("CoarseGrainedExecutorBackend", "java")
        executor.kill()
    assert replay.end() == (0, "")
    replay.check()
