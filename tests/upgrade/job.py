"""The process of the recorded topology, and how far it is."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import redis

from jobs.protocol import EVENTS, AnyEvent, Deploy, Stop, control_key, events_key, stream_key
from jobs.recovery.manifest import read_manifest
from optimizer.planner.plan import plan
from optimizer.workload import Workload
from tests.upgrade.topology import Tuples

ROOT = Path(__file__).resolve().parents[2]
TOPOLOGY = "recorded"
_PATIENCE_S, _RESULTS_PATIENCE_S = 600.0, 60.0


def graph_of(workload: Workload, queries: Iterable[str], method: str) -> str:
    """A plan of some of the queries, as JSON."""
    wanted = [query for query in workload.queries if query.name in set(queries)]
    return plan(wanted, workload.catalog, method=method, retain="everything", tasks=2).graph.to_json()


@dataclass
class Job:
    """A topology's process with its checkpoint in `folder`, under the Redis that has its tuples."""

    folder: Path
    tuples: Tuples
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def results(self) -> Path:
        return self.folder / "out" / "results"

    def start(self, run: str, plan_id: str) -> None:
        """Start with the plan in `PLAN_ID.json`."""
        command = [sys.executable, "-m", "jobs", "run", "--topology", TOPOLOGY, "--run", run]
        command += ["--redis", f"redis://127.0.0.1:{self.port}/0", "--checkpoint", str(self.checkpoint)]
        command += ["--plan", str(self.folder / f"{plan_id}.json"), "--out", str(self.folder / "out")]
        command += ["--trigger-ms", "100", "--parallelism", "2"]
        with (self.folder / f"{run}.log").open("wb") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)

    def send(self, message: Deploy | Stop) -> None:
        self.tuples.client.xadd(control_key(TOPOLOGY), {"message": message.model_dump_json()})

    def deploy(self, plan_id: str, graph: str) -> None:
        """Have another plan carried out, and wait until it is."""
        (self.folder / f"{plan_id}.json").write_text(graph)
        self.send(Deploy(plan_id=plan_id, graph=json.loads(graph)))
        self.wait_for(lambda event: event.type == "plan_switched" and event.plan_id == plan_id)

    def wait_for(self, wanted: Callable[[AnyEvent], bool]) -> None:
        """Wait for an event of this or an earlier process."""
        self._wait_until(lambda: any(wanted(event) for event in self._events()))

    def wait_for_tuples(self) -> None:
        """Wait until all that has been sent is part of committed batches."""
        sent = sum(int(self.tuples.client.xlen(stream_key(stream))) for stream in "rstp")
        self._wait_until(lambda: self.read() >= sent)

    def wait_for_results(self, least: Mapping[str, int]) -> None:
        """Wait until each query has at least so many results; a minute, since comparing them tells more."""
        give_up_at = time.monotonic() + _RESULTS_PATIENCE_S
        while any(len(self.rows(query)) < n for query, n in least.items()) and time.monotonic() < give_up_at:
            time.sleep(0.5)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """The results of a query so far."""
        files = sorted((self.results / query).glob("*.parquet"))
        return pl.read_parquet(files).rows() if files else []

    def read(self) -> int:
        """How many tuples committed batches have."""
        commits = list((self.checkpoint / "commits").glob("[0-9]*.json"))
        if not commits:
            return 0
        streams = read_manifest(str(max(commits, key=lambda path: int(path.stem)))).streams
        assert not any(stream.late for stream in streams.values()), streams
        return sum(stream.accepted for stream in streams.values())

    def _events(self) -> list[AnyEvent]:
        entries = self.tuples.client.xrange(events_key(TOPOLOGY))
        events = [EVENTS.validate_json(fields[b"message"]) for _, fields in entries]  # type: ignore[union-attr,index]
        failed = [event for event in events if event.type in ("job_failed", "deploy_refused")]
        assert not failed, failed
        return events

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        assert self.process is not None
        give_up_at = time.monotonic() + _PATIENCE_S
        while not holds():
            assert self.process.poll() is None, f"the job ended; see the logs in {self.folder}"
            assert time.monotonic() < give_up_at, f"it did not come; see the logs in {self.folder}"
            time.sleep(0.2)


def connect(port: int) -> redis.Redis:
    """A client of a Redis on this machine."""
    return redis.Redis(port=port)
