"""Flink's own virtual environment, made when a benchmark first needs it.

Never the product's: `apache-flink` pins versions of pandas, pyarrow and numpy that Millrace does not use.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from tests.bench.processes import ROOT, run_to_end

REQUIREMENT = "apache-flink==2.3.*"
_JOB = Path(__file__).with_name("job.py")
SETTINGS = {
    "table.local-time-zone": "UTC",
    # Advised for SQL on the heap: no copies between chained operators.
    "pipeline.object-reuse": "true",
    # How often the sources' counts are renewed; see `job.Watch`.
    "metrics.fetcher.update-interval": "500",
}
"""What every job runs with, besides its parallelism. State is on the heap, Flink's fastest backend."""


@dataclass(frozen=True, slots=True)
class FlinkJob:
    """What `job.py` shall run."""

    statements: tuple[str, ...]
    """Executed in order: tables."""
    inserts: tuple[str, ...]
    """Run as one job."""
    tuples: int
    """Of all sources together."""
    settings: tuple[tuple[str, str], ...] = ()
    """Besides `SETTINGS`."""
    results: Path | None = None
    """Where a filesystem sink writes CSV, if the results shall be counted."""


def ready() -> Path:
    """The environment's interpreter; installs Flink from PyPI if it is not there.

    Raises:
        RuntimeError: Flink cannot be installed here, with what pip said.
    """
    folder = ROOT / ".millrace" / "flink"
    python, finished = folder / "bin" / "python", folder / "installed"
    if not finished.exists():
        sys.stderr.write(f"flink: installing {REQUIREMENT} into {folder.relative_to(ROOT)}\n")
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", REQUIREMENT]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"pip: exit code {done.returncode}: {done.stderr[-2000:]}")
        finished.write_text(_version(python))
    return python


def flink_version() -> str:
    """The installed version, such as 2.3.0."""
    return _version(ready())


def run_job(job: FlinkJob, cores: int, limit_s: float) -> dict:
    """Run a job in a process of its own and return what it printed.

    Args:
        job: what to run.
        cores: parallelism, and slots of the one task manager.
        limit_s: wall time after which it is ended.
    Raises:
        RuntimeError: it failed, with the end of what it said.
        subprocess.TimeoutExpired: it took longer than `limit_s`.
    """
    settings = {
        **SETTINGS,
        "parallelism.default": str(cores),
        "rest.port": str(_free_port()),
        **dict(job.settings),
    }
    document = {
        "settings": settings,
        "statements": job.statements,
        "inserts": job.inserts,
        "tuples": job.tuples,
        "results": None if job.results is None else str(job.results),
    }
    environment = {**os.environ, "JAVA_HOME": java_home()}
    done = run_to_end([str(ready()), str(_JOB)], limit_s, json.dumps(document), environment)
    if done.returncode != 0:
        # The root cause is the last one that a Java trace names; its frames say nothing here.
        causes = [line for line in done.stderr.splitlines() if "Exception" in line or "Error" in line]
        raise RuntimeError(f"Flink: exit code {done.returncode}: {' | '.join(causes[-3:])}"[:2000])
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def java_home() -> str:
    """JAVA_HOME, or where the `java` of the path lives."""
    given = os.environ.get("JAVA_HOME")
    found = shutil.which("java")
    if given is None and found is None:
        raise RuntimeError("no java on the path and no JAVA_HOME")
    return given or str(Path(str(found)).resolve().parents[1])


def _version(python: Path) -> str:
    script = "from importlib.metadata import version; print(version('apache-flink'))"
    done = subprocess.run([str(python), "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
