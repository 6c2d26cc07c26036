"""What the processes of a topology load: each of them is there once per topology, or once per core."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
OF_THE_OPTIMIZER = {"duckdb", "highspy", "pulp", "sqlglot"}


def told(program: str) -> dict[str, object]:
    """What a new interpreter prints as JSON after running a program."""
    tail = "\nimport json, sys, psutil\nprint(json.dumps({**found, 'loaded': sorted(sys.modules)}))"
    done = subprocess.run(
        [sys.executable, "-c", program + tail], cwd=ROOT, capture_output=True, text=True, check=True
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_nothing_has_started_a_thread_when_workers_are_forked() -> None:
    """A fork takes along the locks of threads, and not the threads that would release them."""
    found = told(
        "import os\nos.environ['OMP_NUM_THREADS'] = '1'\n"
        "import psutil\nfrom jobs.daemon import load\nload()\n"
        "found = {'threads': psutil.Process().num_threads()}"
    )
    assert found["threads"] == 1
    loaded = found["loaded"]
    assert isinstance(loaded, list)
    assert {"numpy", "optimizer.graph", "pyspark.worker"} <= set(loaded)
    assert not {"polars", "pyarrow", "pandas", *OF_THE_OPTIMIZER} & set(loaded)
