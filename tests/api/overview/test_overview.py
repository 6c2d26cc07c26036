"""All topologies in one answer: their newest batches, results and dead letters, on a real Redis."""

from __future__ import annotations

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.overview.queries import BATCHES, RESULTS
from backend.topologies.models import Topology
from jobs.protocol import (
    AnyEvent,
    BatchCompleted,
    DeadLetter,
    JobStarted,
    dead_letters_key,
    events_key,
    results_key,
)
from tests.api.conftest import TWO_WAY
from tests.api.live.events import BEGIN, RUNS

URL = "/api/overview/"


@pytest.fixture
def topology(query: Query, owner: User) -> Topology:
    deploy_query(owner, query, "flights")
    return Topology.objects.get(name="flights")


def test_an_empty_product_has_nothing_to_show(as_outsider: Client) -> None:
    found = as_outsider.get(URL).json()
    assert found.pop("at")
    assert found == {
        "topologies": [],
        "results": [],
        "dead_letters": [],
        "own": {"streams": 0, "queries": 0, "deployed": 0},
    }


def test_each_account_is_told_how_far_it_has_come(
    as_owner: Client, as_teammate: Client, topology: Topology
) -> None:
    assert as_owner.get(URL).json()["own"] == {"streams": 3, "queries": 1, "deployed": 1}
    assert as_teammate.get(URL).json()["own"] == {"streams": 3, "queries": 0, "deployed": 0}


def _started(run: str) -> JobStarted:
    return JobStarted(run=run, at=BEGIN, pid=1, host="node1", plan_id="flights.1", batch=0)


def _committed(run: str, batch: int) -> BatchCompleted:
    return BatchCompleted(
        run=run,
        at=BEGIN,
        batch=batch,
        epoch=1,
        plan_id="flights.1",
        seconds=0.5,
        tuples_in=5,
        backlog=0,
        level_seconds=[],
        streams={},
        stores={},
        edges={},
        queries={},
    )


def test_batches_are_those_of_the_run(as_owner: Client, topology: Topology, bus: redis.Redis) -> None:
    def say(told: AnyEvent) -> None:
        bus.xadd(events_key("flights"), {"message": told.model_dump_json()})

    say(_started(RUNS[0]))
    for batch in range(BATCHES + 5):
        say(_committed(RUNS[0], batch))
    (watched,) = as_owner.get(URL).json()["topologies"]
    assert watched["topology"]["name"] == "flights"
    assert watched["topology"]["cost"] == "cores"
    assert [point["batch"] for point in watched["history"]] == list(range(5, BATCHES + 5))
    assert watched["heartbeat_at"] is not None
    # Another run has committed nothing yet.
    say(_started(RUNS[1]))
    assert as_owner.get(URL).json()["topologies"][0]["history"] == []


def test_each_query_has_its_newest_result_and_its_place(
    as_owner: Client, owner: User, topology: Topology, bus: redis.Redis
) -> None:
    for name in ("another", "zero"):
        deploy_query(owner, create_query(owner, name, TWO_WAY), "flights")
    for entry, flight in (("1000-0", "UA1"), ("2000-0", "UA2")):
        bus.xadd(
            results_key("flights", "windy"), {"json": f'{{"flight":"{flight}"}}', "batch": "7"}, id=entry
        )
    found = as_owner.get(URL).json()["results"]
    assert [(one["name"], one["row"], one["at"]) for one in found] == [
        ("another", None, None),
        ("windy", {"flight": "UA2"}, "1970-01-01T00:00:02Z"),
        ("zero", None, None),
    ]


def test_the_number_of_results_is_bounded(as_owner: Client, owner: User, topology: Topology) -> None:
    for number in range(RESULTS + 1):
        deploy_query(owner, create_query(owner, f"q{number:02}", TWO_WAY), "flights")
    assert len(as_owner.get(URL).json()["results"]) == RESULTS


def test_dead_letters_of_what_is_read_are_counted(
    as_owner: Client, topology: Topology, bus: redis.Redis
) -> None:
    letter = DeadLetter(reason="late", event_time=None, tuple="{}", cut=False).model_dump_json()
    for entry in ("1000-0", "2000-0"):
        bus.xadd(dead_letters_key("flights", "weather"), {"batch": "7", "letter": letter}, id=entry)
    assert as_owner.get(URL).json()["dead_letters"] == [
        {"topology": "flights", "stream": "weather", "kept": 2, "newest": "1970-01-01T00:00:02Z"}
    ]
