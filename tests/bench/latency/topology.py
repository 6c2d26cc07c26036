"""A topology of its own process under a Redis of its own, and what both say."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import psutil
import pyarrow as pa
import redis

from jobs.protocol import EVENTS, AnyEvent, BatchCompleted, Deploy, Stop, control_key, events_key, stream_key
from optimizer.physical.graph import PhysicalGraph
from tests.bench.processes import ROOT
from tests.runtime.live import RedisServer

_NAME = "latency"
_PATIENCE_S = 120.0
_POLL_S = 0.2
TRIGGER_MS = 100


class RunningTopology:
    """`python -m jobs run`, from entering the context to leaving it.

    Raises:
        RuntimeError: the process ended, or did not do in time what was waited for.
    """

    def __init__(self, folder: Path, plan: Path, trigger_ms: int = TRIGGER_MS) -> None:
        self._folder, self._plan, self._trigger_ms = folder, plan, trigger_ms
        self._events: list[AnyEvent] = []
        self._read_until = "0-0"
        self._server = RedisServer(folder)

    def __enter__(self) -> RunningTopology:
        self._server.start()
        self._client = redis.Redis(port=self._server.port)
        words = ["--topology", _NAME, "--run", "run-1", "--plan", str(self._plan)]
        words += [
            "--redis",
            f"redis://127.0.0.1:{self._server.port}/0",
            "--trigger-ms",
            str(self._trigger_ms),
        ]
        words += ["--checkpoint", str(self._folder / "checkpoint"), "--out", str(self._folder / "out")]
        self._log = (self._folder / "log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "jobs", "run", *words], cwd=ROOT, stdout=self._log, stderr=self._log
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._client.xadd(control_key(_NAME), {"message": Stop(mode="now").model_dump_json()})
            try:
                self._process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()
        self._server.stop()

    def send(self, stream: str, rows: pa.Table) -> str:
        """One entry with these tuples, whose id is returned; they arrive now."""
        body = io.BytesIO()
        with pa.ipc.new_stream(body, rows.schema) as writer:
            writer.write_table(rows)
        entry: bytes = self._client.xadd(stream_key(stream), {"arrow": body.getvalue()})  # type: ignore[assignment]
        return entry.decode()

    def deploy(self, plan_id: str, graph: PhysicalGraph) -> None:
        """Asks for another plan from the next batch on."""
        message = Deploy(plan_id=plan_id, graph=json.loads(graph.to_json()))
        self._client.xadd(control_key(_NAME), {"message": message.model_dump_json()})

    def has_started(self) -> bool:
        """True once the topology takes batches."""
        return any(event.type == "job_started" for event in self.events())

    def batches(self) -> list[BatchCompleted]:
        """All batches so far."""
        return [event for event in self.events() if isinstance(event, BatchCompleted)]

    def accepted(self) -> int:
        """Tuples that committed batches have accepted."""
        return sum(stream.accepted for batch in self.batches() for stream in batch.streams.values())

    def has_read(self, last: Mapping[str, str]) -> bool:
        """True if, of the streams that the newest batch knows, all entries up to these ids have been read."""
        batches = self.batches()
        return bool(batches) and all(
            metrics.position == last[stream] for stream, metrics in batches[-1].streams.items()
        )

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Until the condition is true; `what` names it in the error."""
        give_up_at = time.monotonic() + _PATIENCE_S
        while not condition():
            if self._process.poll() is not None or time.monotonic() > give_up_at:
                said = (self._folder / "log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{what}: did not happen; the topology said: {said}")
            time.sleep(_POLL_S)

    def cpu_s(self) -> float:
        """Processor seconds of the topology's processes that are alive, without Redis."""
        return sum(t.user + t.system for t in (p.cpu_times() for p in self._processes()))

    def pss_bytes(self) -> int:
        """Memory of the topology's processes; what they share is counted once."""
        return sum(process.memory_full_info().pss for process in self._processes())

    def events(self) -> list[AnyEvent]:
        """All that it said so far, oldest first."""
        # Whoever waits asks again and again; with a hundred queries an event has tens of kilobytes.
        for entry, fields in self._client.xrange(events_key(_NAME), min=f"({self._read_until}"):  # type: ignore[union-attr]
            self._events.append(EVENTS.validate_json(fields[b"message"]))
            self._read_until = entry.decode()
        return list(self._events)

    def _processes(self) -> list[psutil.Process]:
        driver = psutil.Process(self._process.pid)
        return [driver, *driver.children(recursive=True)]
