"""Stores get more tasks and fewer while a topology runs on two workers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.protocol import BatchCompleted, Deploy, Stop
from optimizer.planner.plan import plan
from tests.cluster.standalone import Standalone
from tests.faults.test_redis import QUERIES
from tests.runtime.live import Live, RedisServer, write_live_workload


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    server = RedisServer(tmp_path)
    server.start()
    live = Live(server.port, tmp_path, write_live_workload(tmp_path / "workload", QUERIES))
    yield live
    live.close()
    server.stop()


def test_tasks_of_running_stores(two_workers: Standalone, live: Live) -> None:
    def graph(tasks: int) -> dict[str, object]:
        made = plan(
            live.workload.queries, live.workload.catalog, method="greedy", retain="everything", tasks=tasks
        )
        assert {store.tasks for store in made.graph.stores} == {tasks}
        document: dict[str, object] = json.loads(made.graph.to_json())
        return document

    live.produce(100)
    live.start("run-1", "tasks-1", graph(1), options=("--parallelism", "4", "--master", two_workers.url))
    live.wait_for_tuples("rst")
    before: dict[int, list[tuple[int, ...]]] = {}
    for tasks in (4, 2):
        live.send(Deploy(plan_id=f"tasks-{tasks}", graph=graph(tasks)))
        live.wait_for(lambda e, tasks=tasks: e.type == "plan_switched" and e.plan_id == f"tasks-{tasks}")  # type: ignore[misc]
        live.produce(100)
        live.wait_for_tuples("rst")
        last = [event for event in live.events() if isinstance(event, BatchCompleted)][-1]
        held = {name: store.per_task for name, store in last.stores.items()}
        # What lay in the other tasks stays there until it expires; new tuples are the plan's tasks' alone.
        beyond = sorted(tuple(counts[tasks:]) for counts in held.values())
        assert len(held) == 3
        assert all(len(counts) >= tasks and min(counts) > 0 for counts in held.values()), held
        assert beyond == before.get(tasks, [()] * 3), (held, before)
        before = {fewer: sorted(tuple(counts[fewer:]) for counts in held.values()) for fewer in range(tasks)}
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    for query in QUERIES:
        assert live.found(query) == live.expected(query), query
        assert len(live.found(query)) > 100
