"""`python -m tests.bench.live`: how soon a query that is added to a running topology answers, and what
a hundred of them do to the others.

A real topology with a trigger of 500 ms reads three streams of 100 tuples per second each from a real
Redis. First one query after another over stored streams is deployed: the time from writing the
request to the first result in the query's tail. Then a hundred queries are asked for within a
minute; the newest set is planned and deployed whenever the planner is free, as the product's
worker does. Reported is the longest time without a committed batch, before and meanwhile.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path

import redis

from jobs.protocol import BatchCompleted, Deploy, Stop, results_key
from optimizer.plan import plan
from optimizer.query import Query
from tests.bench.measurement import describe_machine
from tests.runtime.live import TOPOLOGY, Live, RedisServer, write_live_workload

TRIGGER_MS = 500
SINGLE = 5
_SHAPES = (
    "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 10 SECONDS], s [RANGE 10 SECONDS] "
    "WHERE r.a = s.a AND r.n % 40 = {k}",
    "SELECT s.n AS sn, t.n AS tn FROM s [RANGE 10 SECONDS], t [RANGE 10 SECONDS] "
    "WHERE s.b = t.b AND t.n % 40 = {k}",
    "SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM r [RANGE 10 SECONDS], s [RANGE 10 SECONDS], "
    "t [RANGE 10 SECONDS] WHERE r.a = s.a AND s.b = t.b AND r.n % 40 = {k} AND t.n % 40 = {k}",
)


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


def graph_of(live: Live, queries: list[Query], method: str) -> dict[str, object]:
    made = plan(queries, live.workload.catalog, method=method, retain="everything", tasks=2)
    document: dict[str, object] = json.loads(made.graph.to_json())
    return document


def first_result_s(live: Live, client: redis.Redis, plan_id: str, queries: list[Query], method: str) -> float:
    """Seconds from the request, which includes planning, to the first result of the last query."""
    began = time.monotonic()
    live.send(Deploy(plan_id=plan_id, graph=graph_of(live, queries, method)))
    key = results_key(TOPOLOGY, queries[-1].name)
    client.xread({key: "0-0"}, block=60_000, count=1)
    return time.monotonic() - began


def gaps_s(live: Live, run_from: float, until: float) -> list[float]:
    """Times between commits, of batches committed between two moments (Unix seconds)."""
    moments = [e.at.timestamp() for e in live.events() if isinstance(e, BatchCompleted)]
    inside = [m for m in moments if run_from <= m <= until]
    return [later - earlier for earlier, later in itertools.pairwise(inside)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.live")
    parser.add_argument("--queries", type=int, default=100, help="queries added within the minute (100)")
    parser.add_argument("--seconds", type=float, default=60.0, help="the minute (60)")
    parser.add_argument("--method", default="greedy", help="how the set is planned (greedy)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measured = measure(Path(scratch), given.queries, given.seconds, given.method)
    print(json.dumps({"machine": describe_machine(), **measured}, indent=1))


def measure(folder: Path, many: int, seconds: float, method: str) -> dict[str, object]:
    (folder / "redis").mkdir()
    server = RedisServer(folder / "redis")
    server.start()
    live = Live(server.port, folder, write_live_workload(folder / "workload", texts(many + SINGLE + 3)))
    client = redis.Redis(port=server.port)
    queries = sorted(live.workload.queries, key=lambda q: q.name)
    producer = Producer(live, 100)
    try:
        live.produce(1000)
        live.start("run-1", "plan-0", graph_of(live, queries[:3], method), TRIGGER_MS)
        live.wait_for_tuples("rst")
        producer.start()
        singles = [
            first_result_s(live, client, f"single-{n}", queries[: 3 + n], method)
            for n in range(1, SINGLE + 1)
        ]
        quiet = time.time()
        producer.ending.wait(10)
        began = time.time()
        plans = 0
        planning: list[float] = []
        have = 3 + SINGLE
        while have < len(queries):
            asked = 3 + SINGLE + int(min(1.0, (time.time() - began) / seconds) * many)
            if asked == have:
                producer.ending.wait(0.05)
                continue
            have, plans, started = asked, plans + 1, time.monotonic()
            graph = graph_of(live, queries[:have], method)
            planning.append(time.monotonic() - started)
            live.send(Deploy(plan_id=f"many-{plans}", graph=graph))
        live.wait_for(lambda e: e.type == "plan_switched" and e.plan_id == f"many-{plans}")
        ended = time.time()
        producer.ending.set()
        producer.join()
        live.send(Stop(mode="drain"))
        live.wait_until_ended()
        during, before = gaps_s(live, began, ended), gaps_s(live, quiet, began)
        switches = sum(e.type == "plan_switched" for e in live.events())
        return {
            "first_result_s": [round(s, 2) for s in singles],
            "first_result_median_s": round(statistics.median(singles), 2),
            "queries_added": many,
            "added_within_s": round(ended - began, 1),
            "plans": plans,
            "planning_s_max": round(max(planning), 2),
            "switches": switches,
            "commits_apart_before_s": {"median": median(before), "max": most(before)},
            "commits_apart_meanwhile_s": {"median": median(during), "max": most(during)},
        }
    finally:
        producer.ending.set()
        live.close()
        server.stop()


def median(values: list[float]) -> float | None:
    return round(statistics.median(values), 2) if values else None


def most(values: list[float]) -> float | None:
    return round(max(values), 2) if values else None


if __name__ == "__main__":
    main()
