"""Replays in their own processes: started, watched, broken, and compared with DuckDB."""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.runtime.linear import differences, start_replay

ROWS = 12_000
"""Tuples per stream."""
PATIENCE_S = 300.0


class Replay:
    """One replay of a workload, however many processes it takes."""

    def __init__(self, workload: Path, data: Path, out: Path, *options: str) -> None:
        self.out = out
        self.checkpoint = out / "checkpoint"
        self._workload, self._data, self._options = workload, data, options
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = start_replay(self._workload, self._data, self.out, *self._options)

    def committed(self) -> int:
        """The last committed batch; -1 before the first."""
        numbers = (int(p.stem) for p in (self.checkpoint / "commits").glob("*.json") if p.stem.isdigit())
        return max(numbers, default=-1)

    def run_until(self, batch: int) -> bool:
        """Start, and return once the batch is committed; False if the replay ended before that."""
        self.start()
        return self.wait_for(batch)

    def wait_for(self, batch: int) -> bool:
        give_up_at = time.monotonic() + PATIENCE_S
        while self.committed() < batch:
            assert time.monotonic() < give_up_at, f"batch {batch} is not committed"
            if self.ends_within(0.01):
                return False
        return True

    def kill_at_random_moment(self, moments: random.Random) -> None:
        """SIGKILL within the next batch or two, wherever that is."""
        assert self.process is not None
        if not self.ends_within(moments.uniform(0, 0.5)):
            self.process.kill()
        self.process.communicate()

    def workers(self) -> list[psutil.Process]:
        """The Python processes that execute tasks, in the order of their numbers."""
        found = []
        for process in self.children("pyspark.worker"):
            with suppress(psutil.NoSuchProcess):
                # The process that starts them has the same command line.
                starter = process.parent()
                if starter is not None and any("pyspark.worker" in word for word in starter.cmdline()):
                    found.append(process)
        return sorted(found, key=lambda process: process.pid)

    def inside_a_batch(self) -> bool:
        """True while tasks are at work: then a batch's messages have a place."""
        assert self.process is not None
        with suppress(FileNotFoundError):  # it goes while we look
            for base in (Path("/dev/shm"), Path(tempfile.gettempdir())):
                if any(any(f.iterdir()) for f in base.glob(f"millrace-{self.process.pid}-[!s]*")):
                    return True
        return False

    def wait_until_inside_a_batch(self) -> bool:
        """False if the replay ended before."""
        give_up_at = time.monotonic() + PATIENCE_S
        while not self.inside_a_batch():
            assert time.monotonic() < give_up_at, "no further batch"
            if self.ends_within(0.001):
                return False
        return True

    def wait_for_children(self, name: str, program: str) -> list[psutil.Process]:
        """`children` that run a program, once there are any: whoever lost one may not have started
        the next yet."""
        give_up_at = time.monotonic() + PATIENCE_S
        while not (found := [child for child in self.children(name) if child.name() == program]):
            assert time.monotonic() < give_up_at, f"no {name}"
            assert not self.ends_within(0.01)
        return found

    def children(self, name: str) -> list[psutil.Process]:
        """Running descendants whose command line contains `name`."""
        assert self.process is not None
        found = []
        for child in psutil.Process(self.process.pid).children(recursive=True):
            try:
                if any(name in word for word in child.cmdline()):
                    found.append(child)
            except psutil.NoSuchProcess:
                continue
        return found

    def end(self) -> tuple[int, str]:
        """Wait for the end; returns the exit code and what was said on stderr."""
        assert self.process is not None
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, errors.decode()

    def finish(self) -> None:
        """Run to the end and require that nothing is missing or doubled."""
        self.start()
        assert self.end() == (0, "")
        self.check()

    def check(self) -> None:
        counts = differences(self._workload, self._data, self.out)
        assert {query: (missing, extra) for query, (_, missing, extra) in counts.items()} == dict.fromkeys(
            counts, (0, 0)
        )
        metrics = json.loads((self.out / "metrics.json").read_text())
        assert metrics["tuples_in"] == 3 * ROWS
        assert metrics["results"] == {query: expected for query, (expected, _, _) in counts.items()}
        assert min(metrics["results"].values()) > 0

    def ends_within(self, seconds: float) -> bool:
        assert self.process is not None
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True
