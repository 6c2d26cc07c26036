"""How soon a query that is added to a running topology answers, and what a hundred of them do to the others.

A real topology with a trigger of 500 ms reads three streams of 100 tuples per second each from a real
Redis. First one query after another over stored streams is deployed: the time from the request,
planning included, to the first result in the query's tail. Then a hundred queries are asked for within
a minute; the newest set is planned, starting from the plan in use, and deployed whenever the planner is
free, as the product's worker does.
"""

from __future__ import annotations

import itertools
import json
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
import redis

from jobs.protocol import BatchCompleted, Deploy, Stop, results_key
from optimizer.logical.query import Query
from optimizer.planner.plan import Plan, plan
from tests.bench.measurement import describe_machine
from tests.runtime.live import TOPOLOGY, Live, RedisServer, write_live_workload

TRIGGER_MS = 500
SINGLE = 5
_FIRST = 3
_PER_SECOND = 100
_SHAPES = (
    "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 10 SECONDS], s [RANGE 10 SECONDS] "
    "WHERE r.a = s.a AND r.n % 40 = {k}",
    "SELECT s.n AS sn, t.n AS tn FROM s [RANGE 10 SECONDS], t [RANGE 10 SECONDS] "
    "WHERE s.b = t.b AND t.n % 40 = {k}",
    "SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM r [RANGE 10 SECONDS], s [RANGE 10 SECONDS], "
    "t [RANGE 10 SECONDS] WHERE r.a = s.a AND s.b = t.b AND r.n % 40 = {k} AND t.n % 40 = {k}",
)


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches of some while."""

    apart_s: tuple[float, ...]
    """Times between commits."""
    cpu_s: float
    """Processor seconds of the job, all its processes, per batch."""

    def document(self) -> dict[str, float]:
        return {
            "batches": len(self.apart_s) + 1,
            "apart_s_median": round(statistics.median(self.apart_s), 2),
            "apart_s_max": round(max(self.apart_s), 2),
            "cpu_s_per_batch": round(self.cpu_s, 2),
        }


def run(folder: Path, scratch: Path, scale: float, command: str, method: str = "greedy") -> None:
    """Writes FOLDER/live.json and FOLDER/live.md.

    Args:
        folder: for the results.
        scratch: an empty folder.
        scale: of the number of queries and of the minute in which they are asked for.
        command: what the person typed, for the report.
        method: how the set is planned.
    """
    measured = measure(scratch, max(1, round(100 * scale)), 60 * scale, method)
    document = {
        "benchmark": "live",
        "scale": scale,
        "command": command,
        **measured,
        "machine": describe_machine(),
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    (folder / "live.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "live.md").write_text(_section(document))


def texts(many: int) -> dict[str, str]:
    """Queries over the same streams, different in their shape and filter."""
    return {f"q{number:03d}": _SHAPES[number % 3].format(k=number // 3 % 40) for number in range(many)}


class Producer(threading.Thread):
    """Writes tuples of all streams at a steady pace until told to end."""

    def __init__(self, live: Live, per_second: int) -> None:
        super().__init__(daemon=True)
        self._live, self._per_second = live, per_second
        self.ending = threading.Event()

    def run(self) -> None:
        began, made = time.monotonic(), 0
        while not self.ending.wait(0.05):
            due = int((time.monotonic() - began) * self._per_second)
            self._live.produce(due - made)
            made = due


class Planner:
    """Plans growing sets of queries, each from the plan before."""

    def __init__(self, live: Live, method: str) -> None:
        self._live, self._method = live, method
        self._running: Plan | None = None
        self.cpu_s: list[float] = []

    def graph(self, queries: Sequence[Query]) -> dict[str, object]:
        """The plan's document. Only this thread's processor time counts: producers are at work beside it."""
        began = time.thread_time()
        self._running = plan(
            queries,
            self._live.workload.catalog,
            method=self._method,
            retain="everything",
            tasks=2,
            running=self._running.running if self._running is not None else None,
        )
        document: dict[str, object] = json.loads(self._running.graph.to_json())
        self.cpu_s.append(time.thread_time() - began)
        return document


def measure(folder: Path, many: int, seconds: float, method: str) -> dict[str, object]:
    (folder / "redis").mkdir()
    server = RedisServer(folder / "redis")
    server.start()
    live = Live(server.port, folder, write_live_workload(folder / "workload", texts(_FIRST + SINGLE + many)))
    client = redis.Redis(port=server.port)
    queries = sorted(live.workload.queries, key=lambda q: q.name)
    producer, planner = Producer(live, _PER_SECOND), Planner(live, method)
    try:
        live.produce(1000)
        live.start("run-1", "plan-0", planner.graph(queries[:_FIRST]), TRIGGER_MS, files=False)
        live.wait_for_tuples("rst")
        producer.start()
        singles = [
            _first_result_s(live, client, planner, n, queries[: _FIRST + n]) for n in range(1, SINGLE + 1)
        ]
        quiet, quiet_cpu = time.time(), _job_cpu_s(live)
        producer.ending.wait(min(10.0, seconds))
        began, began_cpu = time.time(), _job_cpu_s(live)
        plans = 0
        have = _FIRST + SINGLE
        while have < len(queries):
            asked = _FIRST + SINGLE + int(min(1.0, (time.time() - began) / seconds) * many)
            if asked == have:
                producer.ending.wait(0.05)
                continue
            have, plans = asked, plans + 1
            live.send(Deploy(plan_id=f"many-{plans}", graph=planner.graph(queries[:have])))
        live.wait_for(lambda e: e.type == "plan_switched" and e.plan_id == f"many-{plans}")
        ended, ended_cpu = time.time(), _job_cpu_s(live)
        producer.ending.set()
        producer.join()
        live.send(Stop(mode="drain"))
        live.wait_until_ended()
        return {
            "first_result_s": [round(s, 2) for s in singles],
            "first_result_s_median": round(statistics.median(singles), 2),
            "queries_added": many,
            "asked_within_s": seconds,
            "answered_after_s": round(ended - began, 1),
            "plans": plans,
            "planning_cpu_s_largest": round(planner.cpu_s[-1], 2),
            "planning_cpu_s": round(sum(planner.cpu_s), 1),
            "before": _batches(live, quiet, began, began_cpu - quiet_cpu).document(),
            "meanwhile": _batches(live, began, ended, ended_cpu - began_cpu).document(),
        }
    finally:
        producer.ending.set()
        live.close()
        server.stop()


def _first_result_s(
    live: Live, client: redis.Redis, planner: Planner, number: int, queries: Sequence[Query]
) -> float:
    """Seconds from the request, which includes planning, to the first result of the last query."""
    began = time.monotonic()
    live.send(Deploy(plan_id=f"single-{number}", graph=planner.graph(queries)))
    found = client.xread({results_key(TOPOLOGY, queries[-1].name): "0-0"}, block=120_000, count=1)
    assert found, "no result within two minutes"
    return time.monotonic() - began


def _batches(live: Live, run_from: float, until: float, cpu_s: float) -> Batches:
    """Of the batches committed between two moments (Unix seconds)."""
    moments = [e.at.timestamp() for e in live.events() if isinstance(e, BatchCompleted)]
    inside = [m for m in moments if run_from <= m <= until]
    apart = tuple(later - earlier for earlier, later in itertools.pairwise(inside))
    return Batches(apart, cpu_s / len(inside))


def _job_cpu_s(live: Live) -> float:
    """Processor seconds of the job's processes so far, ended workers included."""
    total = 0.0
    job = psutil.Process(live.process.pid)
    for process in (job, *job.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _section(document: dict[str, object]) -> str:
    before, meanwhile = document["before"], document["meanwhile"]
    assert isinstance(before, dict)
    assert isinstance(meanwhile, dict)
    singles = document["first_result_s"]
    assert isinstance(singles, list)
    machine = ", ".join(f"{key} {value}" for key, value in describe_machine().items())
    rows = {
        "request to first result, queries over stored streams, s": ", ".join(f"{s:.2f}" for s in singles),
        f"commits apart, {_FIRST + SINGLE} queries, nothing changing, s": _apart(before),
        f"{document['queries_added']} queries asked for within {document['asked_within_s']:.0f} s: "
        "all answered after, s": f"{document['answered_after_s']} ({document['plans']} plans)",
        "planning the largest set, processor s": f"{document['planning_cpu_s_largest']}",
        "commits apart meanwhile, s": _apart(meanwhile),
        "processor seconds of the job per batch, before and meanwhile": (
            f"{before['cpu_s_per_batch']}, {meanwhile['cpu_s_per_batch']}"
        ),
    }
    lines = [
        "## live\n",
        "Queries that are added to a running topology: a real Redis, three streams of "
        f"{_PER_SECOND} tuples per second each, a trigger of {TRIGGER_MS} ms; planning is part of all times. "
        "The aims are 3 s to the first result, and no pause in the commits while a hundred queries come "
        "within a minute.\n",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in rows.items()),
        "",
        f"`{document['command']}`, {document['taken_at']}. {machine}.\n",
    ]
    return "\n".join(lines)


def _apart(batches: dict[str, float]) -> str:
    return f"median {batches['apart_s_median']}, longest {batches['apart_s_max']}"
