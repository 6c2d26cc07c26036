"""A Spark standalone cluster on this machine: a master and workers of one core each."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType

import pyspark

from tests.bench.processes import ROOT

_PATIENCE_S = 90.0
_POLL_S = 0.5
_MEMORY = "1500m"


class Standalone:
    """The processes of the package's own `spark-class`, from entering the context to leaving it.

    Raises:
        RuntimeError: the workers did not register in time.
    """

    def __init__(self, folder: Path, workers: int) -> None:
        self._folder, self._workers = folder, workers
        self._port, self._page = _free_port(), _free_port()
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def __enter__(self) -> Standalone:
        self._folder.mkdir(parents=True)
        where = ["--host", "127.0.0.1", "--port", str(self._port), "--webui-port", str(self._page)]
        self._start("master.Master", where, "master")
        for number in range(self._workers):
            options = ["--host", "127.0.0.1", "--cores", "1", "--memory", _MEMORY, "--webui-port", "0"]
            options += ["--work-dir", str(self._folder / f"work-{number}"), self.url]
            self._start("worker.Worker", options, f"worker-{number}")
        try:
            self._wait()
        except RuntimeError:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _start(self, kind: str, options: list[str], name: str) -> None:
        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_NO_DAEMONIZE": "1",
            # Executors inherit the workers' environment, and import the runtime from there.
            "PYTHONPATH": str(ROOT),
        }
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *options],
                    stdout=log,
                    stderr=log,
                    env=environment,
                )
            )

    def _wait(self) -> None:
        give_up_at = time.monotonic() + _PATIENCE_S
        while self._registered() < self._workers:
            if time.monotonic() > give_up_at:
                raise RuntimeError(f"{self._workers} workers did not register within {_PATIENCE_S:.0f} s")
            time.sleep(_POLL_S)

    def _registered(self) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"])
        except OSError:
            # Not up yet.
            return 0

    def _stop(self) -> None:
        """Workers first: each ends its executors."""
        for process in reversed(self._processes):
            process.terminate()
            process.wait(_PATIENCE_S)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
