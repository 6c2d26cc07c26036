"""What the processes of a topology load: each of them is there once per topology, or once per core."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

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
        "import psutil\nfrom jobs.spark.worker_daemon import load\nload()\n"
        "found = {'threads': psutil.Process().num_threads()}"
    )
    assert found["threads"] == 1
    loaded = found["loaded"]
    assert isinstance(loaded, list)
    assert {"numpy", "optimizer.physical.graph", "pyspark.worker"} <= set(loaded)
    assert not {"polars", "pyarrow", "pandas", *OF_THE_OPTIMIZER} & set(loaded)


def test_planning_batches_over_files_loads_neither_pandas_nor_the_engine(tmp_path: Path) -> None:
    file = tmp_path / "r.parquet"
    pq.write_table(pa.table({"at": [3, 1, None, 7, 5]}), file)
    found = told(
        "from jobs.sources.files.inputs import InputFile, StreamFiles\n"
        "from jobs.sources.files.replay import ReplayPlanner, ReplaySource\n"
        f"stream = StreamFiles('r', 'at', (InputFile({str(file)!r}, 5),))\n"
        "planner = ReplayPlanner(ReplaySource((stream,), 3))\n"
        "end = planner.advance(planner.initial())\n"
        "found = {'end': end['streams']['r'], 'rows': planner.planned(planner.initial(), end).backlog}"
    )
    assert (found["end"], found["rows"]) == ({"row": 3, "key": 3}, 2)
    loaded = found["loaded"]
    assert isinstance(loaded, list)
    assert "pyarrow.parquet" in loaded
    assert not {"pandas", "polars", *OF_THE_OPTIMIZER} & set(loaded)


def test_planning_batches_over_redis_loads_neither_pandas_nor_the_engine(tmp_path: Path) -> None:
    found = told(
        "from jobs.sources.live import LivePlanner, LiveSource\n"
        "from jobs.sources.connector import live_connector\n"
        "from pathlib import Path\n"
        f"planner = LivePlanner(LiveSource(3), 'redis://127.0.0.1:1/0', Path({str(tmp_path)!r}))\n"
        "found = {'kind': type(live_connector('redis')).__name__}"
    )
    assert found["kind"] == "RedisStreams"
    loaded = found["loaded"]
    assert isinstance(loaded, list)
    assert not {"pandas", "polars", *OF_THE_OPTIMIZER} & set(loaded)


def test_nothing_large_is_imported_before_java_starts() -> None:
    loaded = told("import jobs.__main__\nimport jobs.cli.launch\nfound = {}")["loaded"]
    assert isinstance(loaded, list)
    assert not {"numpy", "pandas", "polars", "pyarrow", "redis", *OF_THE_OPTIMIZER} & set(loaded)


def test_workers_load_duckdb_only_where_an_expression_asks_it() -> None:
    loaded = told("import jobs.spark.warm_up\nfound = {}")["loaded"]
    assert isinstance(loaded, list)
    assert not OF_THE_OPTIMIZER & set(loaded)


def test_workers_import_the_installed_pyspark(tmp_path: Path) -> None:
    """Spark's packed copy has no compiled files: each worker would compile for itself what it imports."""
    found = told(
        "import pyspark\n"
        "from pathlib import Path\n"
        "from jobs.spark.session import create_session\n"
        f"spark = create_session('local[1]', 'workers', 1, Path({str(tmp_path)!r}))\n"
        "def loaded(task, rows):\n"
        "    import pyspark\n"
        "    import sys\n"
        "    return [pyspark.__file__, sys.executable, sys.path]\n"
        "worker = spark.sparkContext.parallelize([0], 1).mapPartitionsWithIndex(loaded).collect()\n"
        "found = {'worker': worker, 'driver': pyspark.__file__}"
    )
    worker = found["worker"]
    assert isinstance(worker, list)
    file, executable, path = worker
    assert (file, executable) == (found["driver"], sys.executable)
    assert not [entry for entry in path if entry.endswith((".zip", ".jar")) and "pyspark" in entry]
