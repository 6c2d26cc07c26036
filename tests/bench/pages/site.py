"""The product's web server over a real Redis and database, with one topology of 300 stores that nobody
computes: its plan is a real one, its events are written by the benchmark as the job writes them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import redis

from backend.run.product import web_command
from backend.run.setting import free_port
from jobs.protocol import (
    AnyEvent,
    BatchCompleted,
    EdgeMetrics,
    Heartbeat,
    JobStarted,
    PlanSwitched,
    QueryMetrics,
    StoreMetrics,
    StreamMetrics,
    events_key,
)
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics
from tests.runtime.live import RedisServer

ROOT = Path(__file__).resolve().parents[3]
NAME = "large"
RUN = "0" * 16
STREAMS = 300
QUERIES = 200
TASKS = 4


def large_graph() -> PhysicalGraph:
    """200 queries around a ring of 300 streams, three-way and two-way in turns: each overlaps the next.

    The plan has a store per stream and over a thousand edges.
    """
    kind = ColumnType.BIGINT
    columns = (("at", ColumnType.TIMESTAMP), *((name, kind) for name in "ab"))
    names = [f"s{number:03}" for number in range(STREAMS)]
    catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in names)
    queries = []
    for number in range(QUERIES):
        first = number * STREAMS // QUERIES
        members = [names[(first + step) % STREAMS] for step in range(2 + (number + 1) % 2)]
        inputs = ", ".join(f"{name} [RANGE 1 MINUTE]" for name in members)
        joins = " AND ".join(
            f"{one}.a = {other}.{column}"
            for one, other, column in zip(members, members[1:], "ab", strict=False)
        )
        text = f"SELECT {members[0]}.a, {members[-1]}.b FROM {inputs} WHERE {joins}"
        queries.append(parse_query(text, f"query{number:03}", catalog))
    rates = FixedStatistics(dict.fromkeys(names, 10.0))
    return plan(queries, catalog, rates, "greedy", Options(), "everything", tasks=TASKS).graph


def small_graph(queries: int = 6) -> PhysicalGraph:
    """Three-way queries around five streams: a plan that is drawn whole, with one button per query."""
    kind = ColumnType.BIGINT
    columns = (("at", ColumnType.TIMESTAMP), *((name, kind) for name in "ab"))
    names = [f"s{number}" for number in range(5)]
    catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in names)
    parsed = []
    for number in range(queries):
        one, two, three = (names[(number + step) % len(names)] for step in range(3))
        text = (
            f"SELECT {one}.a, {three}.b FROM {one} [RANGE 1 MINUTE], {two} [RANGE 1 MINUTE], "
            f"{three} [RANGE 1 MINUTE] WHERE {one}.a = {two}.a AND {two}.a = {three}.b"
        )
        parsed.append(parse_query(text, f"query{number}", catalog))
    rates = FixedStatistics(dict.fromkeys(names, 10.0))
    return plan(parsed, catalog, rates, "greedy", Options(), "everything", tasks=TASKS).graph


@dataclass(frozen=True, slots=True)
class Site:
    url: str
    cookies: dict[str, str]
    graphs: tuple[PhysicalGraph, ...]
    """The topology's plans; NAME.1 is the first one."""
    sessions: tuple[str, ...]
    """Of all accounts, the first of which is an operator; `cookies` has its."""
    events: redis.Redis
    web: subprocess.Popen[bytes]

    @property
    def graph(self) -> PhysicalGraph:
        return self.graphs[0]

    def batch(self, number: int, plan: int = 1) -> BatchCompleted:
        """A batch of all stores, with other numbers than the last one."""
        return _batch(self.graphs[plan - 1], number, plan)

    def heartbeat(self, batch: int) -> Heartbeat:
        return Heartbeat(run=RUN, at=datetime.now(UTC), state="running", batch=batch)

    def send(self, message: AnyEvent) -> str:
        """Writes it as the job does; returns its id."""
        written: str = self.events.xadd(events_key(NAME), {"message": message.model_dump_json()}, maxlen=1000)
        return written

    def tell(self, batch: int, plan: int = 1) -> None:
        self.send(self.batch(batch, plan))

    def switch(self, plan: int, batch: int) -> None:
        """Goes over to another plan, as the job says it."""
        now = datetime.now(UTC)
        self.send(
            PlanSwitched(run=RUN, at=now, plan_id=f"{NAME}.{plan}", epoch=plan, batch=batch, cause="rates")
        )


@contextmanager
def site(home: Path, *given: PhysicalGraph, accounts: int = 1, **setting: str) -> Iterator[Site]:
    """The server, for as long as the block lasts.

    Args:
        home: an empty folder.
        given: plans of the topology; none for the large one.
        accounts: how many there are.
        setting: environment variables of the server.
    """
    graphs = given or (large_graph(),)
    store = home / "redis"
    store.mkdir()
    server = RedisServer(store)
    server.start()
    port = free_port()
    environment = {
        **os.environ,
        "MILLRACE_HOME": str(home),
        "REDIS_URL": f"redis://127.0.0.1:{server.port}/0",
        "DJANGO_SETTINGS_MODULE": "backend.settings",
        "MILLRACE_RATE_ACCOUNT": "100000/min",
        # All pages are one account's.
        "MILLRACE_LISTENERS_ACCOUNT": "1000",
        "MILLRACE_LOG_LEVEL": "WARNING",
        **setting,
    }
    environment.pop("DATABASE_URL", None)

    def python(*words: str, given: str = "") -> str:
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=ROOT, env=environment, input=given, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    python("manage.py", "migrate", "--verbosity", "0")
    web = subprocess.Popen(
        web_command("127.0.0.1", port),
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    client: redis.Redis = redis.Redis(port=server.port, decode_responses=True)
    try:
        plans = "".join(json.dumps(json.loads(graph.to_json())) + "\n" for graph in graphs)
        filled = python("-m", "tests.bench.pages.fill", NAME, RUN, str(accounts), given=plans)
        sessions = tuple(filled.split())
        started = JobStarted(run=RUN, at=datetime.now(UTC), pid=1, host="bench", plan_id=f"{NAME}.1", batch=0)
        client.xadd(events_key(NAME), {"message": started.model_dump_json()})
        url = f"http://127.0.0.1:{port}"
        _wait(f"{url}/healthz")
        made = Site(url, {"sessionid": sessions[0]}, graphs, sessions, client, web)
        made.tell(0)
        yield made
    finally:
        web.kill()
        web.wait()
        client.close()
        server.stop()


def _batch(graph: PhysicalGraph, number: int, plan: int) -> BatchCompleted:
    now = datetime.now(UTC)

    def moved(position: int, least: int) -> int:
        return least + (position * 37 + number * 13) % 900

    return BatchCompleted(
        run=RUN,
        at=now,
        batch=number,
        epoch=plan,
        plan_id=f"{NAME}.{plan}",
        seconds=0.5,
        tuples_in=moved(0, 5000),
        backlog=0,
        level_seconds=[0.1] * (graph.depth + 1),
        streams={
            one.name: StreamMetrics(
                accepted=moved(at, 10), late=0, undecodable=0, watermark=now, max_event_time=now
            )
            for at, one in enumerate(graph.streams)
        },
        stores={
            one.id: StoreMetrics(
                tuples=moved(at, 1000),
                bytes=moved(at, 1000) * 60,
                inserted=moved(at, 10),
                evicted=moved(at, 5),
                probes=moved(at, 100),
                matches=moved(at, 50),
                per_task=[moved(at + task, 250) for task in range(one.tasks)],
            )
            for at, one in enumerate(graph.stores)
        },
        edges={
            one.id: EdgeMetrics(tuples=moved(at, 10), messages=4, bytes=4000)
            for at, one in enumerate(graph.edges)
        },
        queries={
            one.name: QueryMetrics(
                results=moved(at, 0), latency_ms_p50=100.0, latency_ms_p99=300.0, complete_since=now
            )
            for at, one in enumerate(graph.queries)
        },
    )


def _wait(url: str) -> None:
    deadline = time.monotonic() + 600
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
