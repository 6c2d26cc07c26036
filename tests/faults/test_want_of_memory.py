"""A topology that needs more memory than there is ends, says what to set, and goes on from there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.memory.group import Group, NoGroups, group
from tests.bench.processes import run_to_end
from tests.faults.replays import PATIENCE_S, Replay

ROOM_BYTES = 2 << 30
"""Java and the Python processes of a small replay need half of it."""


@pytest.fixture
def room() -> Iterator[Group]:
    """A control group that bounds memory; making one takes root."""
    try:
        with group("millrace-test", ROOM_BYTES) as bounds:
            yield bounds
    except NoGroups as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("greedy", "batches"), [("round", "batches 2, 3, 4"), ("stage", "batch 2")], ids=["limps", "is-stuck"]
)
def test_workers_that_the_kernel_ends(
    room: Group, workload: Path, data: Path, tmp_path: Path, greedy: str, batches: str
) -> None:
    """In batch after batch, each of which a new worker could do again; or again and again in one."""
    replay = Replay(workload, data, tmp_path / "out")

    def run(environment: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
        where = [str(workload), "--data", str(data), "--out", str(replay.out), "--batch-rows", "3000"]
        words = [sys.executable, "-m", "jobs", "replay", *where, "--parallelism", "2", *options]
        return run_to_end(room.inside(words), PATIENCE_S, environment={**os.environ, **environment})

    settings = tmp_path / "spark"
    settings.mkdir()
    (settings / "spark-defaults.conf").write_text("spark.python.daemon.module tests.faults.greedy\n")
    done = run({"SPARK_CONF_DIR": str(settings), "MILLRACE_TEST_GREEDY": greedy})
    assert done.returncode == 2, done.stderr
    assert room.killed >= 3
    told = re.fullmatch(
        r"command line: --memory-limit: found no limit, ([\d,]+) bytes of stores, ([\d,]+) bytes of memory "
        r"and (\d+) processes lost for want of it in (batch.*), expected a limit of .*, such as 256MiB .*\n",
        done.stderr,
    )
    assert told is not None, done.stderr
    state, memory, lost, where = told.groups()
    assert (int(memory.replace(",", "")), int(lost), where) == (ROOM_BYTES, room.killed, batches)
    assert int(state.replace(",", "")) > 0

    again = run({}, "--memory-limit", "16MiB")
    assert (again.returncode, again.stderr) == (0, "")
    replay.check()
