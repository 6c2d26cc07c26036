"""SIGKILL at random moments, of every process that a topology consists of."""

from __future__ import annotations

import random
import signal
from contextlib import suppress
from pathlib import Path

import psutil

from tests.faults.replays import Replay

SMALL_BATCHES = ("--batch-rows", "1500", "--parallelism", "2")


def test_the_driver_several_times_in_one_replay(workload: Path, data: Path, tmp_path: Path) -> None:
    replay = Replay(workload, data, tmp_path / "out", *SMALL_BATCHES)
    moments = random.Random(4)
    for batch in (1, 7, 13):
        assert replay.run_until(batch)
        replay.kill_at_random_moment(moments)
    replay.finish()


def test_spark_s_java_process(workload: Path, data: Path, tmp_path: Path) -> None:
    replay = Replay(workload, data, tmp_path / "out", *SMALL_BATCHES)
    assert replay.run_until(6)
    (java,) = replay.children("org.apache.spark.deploy.SparkSubmit")
    java.kill()
    code, errors = replay.end()
    assert code == 1
    assert "Traceback" in errors
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
            assert (code, "Traceback" in errors) == (1, True), errors
            assert replay.run_until(batch)
        for process in replay.children("pyspark.daemon"):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
                killed += 1
    assert killed >= 3
    code, errors = replay.end()
    if code:
        assert "Traceback" in errors
        replay.finish()
    else:
        replay.check()


def test_an_executor(workload: Path, data: Path, tmp_path: Path) -> None:
    """Executors of their own, as on a cluster; Spark starts another one in place of the killed one."""
    replay = Replay(
        workload, data, tmp_path / "out", "--batch-rows", "3000", "--parallelism", "2",
        "--master", "local-cluster[1,2,1024]",
    )  # fmt: skip
    assert replay.run_until(3)
    for process in replay.children("CoarseGrainedExecutorBackend"):
        process.kill()
    assert replay.end() == (0, "")
    replay.check()
