"""One Flink SQL job in this process, as a description on the standard input says.

Runs under the interpreter of Flink's own environment (see `environment.py`), so it imports nothing of
this project. Prints one JSON object: `seconds` from the job's submission to its end, `source_tuples`
that the sources passed on, `steady_seconds` and `steady_tuples` without the first fifth of them,
`joins`, the join operators of the plan, and `results` if results went into files.

The description: `settings`, `statements` to execute in order, `inserts` to run as one job, `results`,
the directory of the results' CSV files or null.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
import urllib.request
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

_WARM_UP = 0.2
"""The share of all tuples that steady figures leave out: classes are loaded and code is compiled."""
_POLL_S = 0.5


class Watch(threading.Thread):
    """Samples how many tuples the job's sources have passed on, from Flink's own metrics."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._base = f"http://127.0.0.1:{port}"
        self.ending = threading.Event()
        self.samples: list[tuple[float, int]] = []

    def run(self) -> None:
        while not self.ending.wait(_POLL_S):
            try:
                jobs = self._get("/jobs")["jobs"]
                tuples = sum(self._written(job["id"]) for job in jobs)
            except OSError:
                # The cluster begins after this thread and ends before it.
                continue
            self.samples.append((time.monotonic(), tuples))

    def _written(self, job: str) -> int:
        vertices = self._get(f"/jobs/{job}")["vertices"]
        return sum(v["metrics"]["write-records"] for v in vertices if v["name"].startswith("Source:"))

    def _get(self, path: str) -> dict:
        with urllib.request.urlopen(self._base + path, timeout=5) as answer:
            return dict(json.load(answer))


def run(description: dict) -> dict[str, object]:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in description["settings"].items():
        environment.get_config().set(key, value)
    for statement in description["statements"]:
        environment.execute_sql(statement)
    inserts = environment.create_statement_set()
    for insert in description["inserts"]:
        inserts.add_insert_sql(insert)
    plan = inserts.explain().split("== Optimized Execution Plan ==")[-1]
    watch = Watch(int(description["settings"]["rest.port"]))
    watch.start()
    began = time.monotonic()
    inserts.execute().wait()
    ended = time.monotonic()
    watch.ending.set()
    watch.join()
    answer: dict[str, object] = {
        "seconds": ended - began,
        "joins": re.findall(r"\b(\w*Join)\(", plan),
        **_steady(watch.samples, ended, int(description["tuples"])),
    }
    if description["results"] is not None:
        files = [path for path in Path(description["results"]).rglob("*") if path.is_file()]
        answer["results"] = sum(path.read_bytes().count(b"\n") for path in files)
    return answer


def _steady(samples: list[tuple[float, int]], ended: float, tuples: int) -> dict[str, float]:
    """From the first sample with a fifth of all tuples to the job's end; nothing if there is none."""
    warm = [(at, seen) for at, seen in samples if _WARM_UP * tuples <= seen < tuples]
    if not warm:
        return {}
    at, seen = warm[0]
    return {"steady_seconds": ended - at, "steady_tuples": tuples - seen}


if __name__ == "__main__":
    print(json.dumps(run(json.load(sys.stdin))))
