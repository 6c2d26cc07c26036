"""A Spark standalone cluster on this machine: a master, and workers that are hosts of their own to Spark."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil
import pyspark

_PATIENCE_S = 240.0
_POLL_S = 0.2
_MEMORY = "1500m"


class Standalone:
    """The processes of the package's own `spark-class`, from entering the context to leaving it.

    Worker n is the host 127.0.0.(n + 2), with a work directory and temporary files of its own. The
    workers do not know where this project lies: what their executors run comes with the driver. The
    master keeps what it knows in a directory, so that another one can go on with it.

    Where hosts have addresses and networks of their own, a subclass says which.

    Args:
        folder: for logs, work directories and the master's memory; made here.
        workers: how many to start.
        cores: of each worker.

    Raises:
        RuntimeError: the workers did not register in time.
    """

    master_host = "127.0.0.1"

    def __init__(self, folder: Path, workers: int, cores: int = 1) -> None:
        self._folder, self._cores = folder, cores
        self._count = workers
        self._port, self._page = _free_port(), _free_port()
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._temporary: list[Path] = []

    @property
    def url(self) -> str:
        return f"spark://{self.master_host}:{self._port}"

    def __enter__(self) -> Standalone:
        self._folder.mkdir(parents=True)
        try:
            self.start_master()
            for number in range(self._count):
                self.start_worker(number)
            self.wait_for(self._count)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def start_master(self) -> None:
        where = ["--host", self.master_host, "--port", str(self._port), "--webui-port", str(self._page)]
        memory = self._folder / "master"
        memory.mkdir(exist_ok=True)
        kept = f"-Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory={memory}"
        self._master = self._start("master.Master", where, "master", {"SPARK_MASTER_OPTS": kept})

    def start_worker(self, number: int) -> None:
        host = self.host(number)
        scratch = self._folder / f"scratch-{number}"
        scratch.mkdir(exist_ok=True)
        options = ["--host", host, "--cores", str(self._cores), "--memory", _MEMORY, "--webui-port", "0"]
        options += ["--work-dir", str(self._folder / f"work-{number}"), self.url]
        # Executors inherit their worker's environment. Temporary files must have short names, because
        # sockets are among them.
        of_its_own = {
            "SPARK_LOCAL_HOSTNAME": host,
            "SPARK_LOCAL_DIRS": str(scratch),
            "TMPDIR": str(self._temporary_folder()),
        }
        self._workers[number] = self._start(
            "worker.Worker", options, f"worker-{number}", of_its_own, self.entering(number)
        )

    def _temporary_folder(self) -> Path:
        self._temporary.append(Path(tempfile.mkdtemp(prefix="millrace-test-worker-")))
        return self._temporary[-1]

    def host(self, number: int) -> str:
        """What Spark takes for a worker's host."""
        return f"127.0.0.{number + 2}"

    def entering(self, number: int) -> list[str]:
        """What starts a program on a worker's host; nothing where it is this one."""
        return []

    def kill_master(self) -> None:
        assert self._master is not None
        self._master.kill()
        self._master.wait()

    def kill_worker(self, number: int) -> None:
        """SIGKILL to a worker and everything that it started, as when its host is lost."""
        worker = self._workers.pop(number)
        for process in psutil.Process(worker.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        worker.kill()
        worker.wait()

    def executors(self, number: int) -> list[psutil.Process]:
        """A worker's executors: Java processes."""
        found = []
        for process in psutil.Process(self._workers[number].pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if process.name() == "java":
                    found.append(process)
        return found

    def wait_for(self, workers: int) -> None:
        """Return when so many workers have registered."""
        give_up_at = time.monotonic() + _PATIENCE_S
        while self._registered() < workers:
            if time.monotonic() > give_up_at:
                raise RuntimeError(f"{workers} workers did not register within {_PATIENCE_S:.0f} s")
            time.sleep(_POLL_S)

    def _registered(self) -> int:
        try:
            with urllib.request.urlopen(f"http://{self.master_host}:{self._page}/json/", timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (OSError, json.JSONDecodeError):
            # Not up yet, or its pages are and this one is not.
            return 0

    def _start(
        self,
        kind: str,
        options: list[str],
        name: str,
        environment: dict[str, str],
        entering: Sequence[str] = (),
    ) -> subprocess.Popen[bytes]:
        home = Path(pyspark.__file__).parent
        inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*entering, str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *options],
                cwd=self._folder,
                stdout=log,
                stderr=log,
                env={
                    **inherited,
                    "SPARK_HOME": str(home),
                    "SPARK_NO_DAEMONIZE": "1",
                    "SPARK_DAEMON_MEMORY": "256m",
                    "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
                    **environment,
                },
            )

    def _stop(self) -> None:
        """Workers first: each ends its executors."""
        for process in (*self._workers.values(), self._master):
            if process is not None:
                process.terminate()
                process.wait(_PATIENCE_S)
        for folder in self._temporary:
            shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
