"""Queries that cost more than they may: refused, allowed, suspended, and the others that go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.models import Team
from backend.alerts import watching
from backend.alerts.models import Alert, AlertRule
from backend.audit.models import AuditEntry
from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.limits import suspension
from backend.limits.query_limits import Limits
from backend.limits.quota_usage import excess_of, shares
from backend.planning import revisions
from backend.runs.recording import consume
from backend.topologies.models import Desired, Run, Topology, TopologyQuery
from backend.topologies.status import query_status
from jobs.protocol import (
    AnyEvent,
    BatchCompleted,
    BatchGivenUp,
    JobStarted,
    QueryMetrics,
    StoreMetrics,
    events_key,
)
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule
from optimizer.physical.usage import users_of

pytestmark = pytest.mark.django_db
Post = Callable[..., Any]
AT = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = """SELECT d.flight, w.wind FROM departures [RANGE 1 MINUTE] AS d, weather [RANGE 1 MINUTE] AS w
WHERE d.origin = w.origin
"""
HOUR = MINUTE.replace("1 MINUTE", "1 HOUR")


class Board:
    """A topology that answers a query of a minute, one of an hour and one of three streams; its job is
    what the test says."""

    def __init__(self, topology: Topology, bus: redis.Redis) -> None:
        self._name, self._pk, self._bus = topology.name, topology.pk, bus
        self.run = Run.objects.create(topology=topology)
        Topology.objects.filter(pk=topology.pk).update(current_run=self.run)
        self._say(JobStarted(run=self.run.pk, at=AT, pid=1, host="here", plan_id=self.plan_id, batch=0))

    @property
    def topology(self) -> Topology:
        return Topology.objects.select_related("plan").get(pk=self._pk)

    @property
    def plan_id(self) -> str:
        plan = self.topology.plan
        assert plan is not None
        return plan.plan_id

    @property
    def graph(self) -> PhysicalGraph:
        plan = self.topology.plan
        assert plan is not None
        return PhysicalGraph.from_json(plan.graph, "plan")

    def _say(self, event: AnyEvent) -> None:
        self._bus.xadd(events_key(self._name), {"message": event.model_dump_json()})
        consume(self.topology)

    def batch(
        self, number: int, results: dict[str, int], stored_bytes: int = 0, seconds: float = 1.0
    ) -> None:
        self._say(_batch(self.graph, self.run.pk, self.plan_id, number, results, stored_bytes, seconds))

    def given_up(
        self, steps: Sequence[str], plan_id: str | None = None, failed: dict[str, str] | None = None
    ) -> None:
        self._say(
            BatchGivenUp(
                run=self.run.pk,
                at=AT,
                plan_id=plan_id or self.plan_id,
                batch=7,
                steps=dict.fromkeys(steps, 5001),
                most=5000,
                failed=failed or {},
            )
        )

    def suspended(self) -> dict[str, str]:
        """One round of the supervisor; what is suspended then."""
        if suspension.suspend_excessive(self._pk, timezone.now()):
            assert revisions.plan_newest(self._pk)
        rows = TopologyQuery.objects.exclude(suspended_at=None)
        return dict(rows.values_list("query__name", "excess"))

    def steps_of(self, *queries: str) -> list[str]:
        """The probes that exactly these queries need."""
        return [step for step, users in users_of(self.graph).probes.items() if users == set(queries)]


def _batch(
    graph: PhysicalGraph,
    run: str,
    plan_id: str,
    number: int,
    results: dict[str, int],
    stored_bytes: int,
    seconds: float,
) -> BatchCompleted:
    held = StoreMetrics(
        tuples=1, bytes=stored_bytes, inserted=0, evicted=0, probes=0, matches=0, per_task=[1]
    )
    nothing = QueryMetrics(results=0, latency_ms_p50=None, latency_ms_p99=None, complete_since=None)
    return BatchCompleted(
        run=run,
        at=AT,
        batch=number,
        epoch=0,
        plan_id=plan_id,
        seconds=seconds,
        tuples_in=10,
        backlog=0,
        level_seconds=[0.1],
        streams={},
        stores={store.id: held for store in graph.stores},
        edges={},
        queries={query.name: replace(nothing, results=results.get(query.name, 0)) for query in graph.queries},
    )


@pytest.fixture
def board(owner: User, query: Query, bus: redis.Redis, settings: Settings) -> Board:
    settings.MILLRACE_EXCESS_BATCHES = 3.0
    settings.MILLRACE_MAX_RESULT_RATE = 1000.0
    for name, sql in (("minute", MINUTE), ("hour", HOUR)):
        deploy_query(owner, create_query(owner, name, sql), "flights")
    deploy_query(owner, query, "flights")
    topology = Topology.objects.get(name="flights")
    assert revisions.plan_newest(topology.pk)
    return Board(topology, bus)


def test_a_query_needs_its_windows_part_of_a_store(board: Board) -> None:
    graph = board.graph
    needed = shares(graph)
    for store in graph.stores:
        if {stored.stream for stored in store.inputs} <= {"departures", "weather"}:
            assert needed["hour"].get(store.id, 1.0) == 1.0
            assert needed["minute"].get(store.id, 1 / 60) == pytest.approx(1 / 60)
    assert needed["minute"].keys() <= {store.id for store in graph.stores}
    assert needed["minute"]


def test_limits_hold_from_just_above_them(board: Board) -> None:
    graph = board.graph
    needed = shares(graph)
    alone = {name: sum(600 * share for share in parts.values()) for name, parts in needed.items()}
    assert alone["minute"] < alone["hour"]

    def found(state_bytes: float, result_rate: float, seconds: float = 1.0) -> set[str]:
        limit = Limits(1.0, 1.0, state_bytes, result_rate)
        batch = _batch(graph, "r", "p", 0, {"minute": 100, "hour": 200}, 600, seconds)
        return set(excess_of(batch, needed, {"minute": limit, "hour": limit}, 0.5))

    assert found(1e9, 200.0) == set()
    assert found(1e9, 199.0) == {"hour"}
    assert found(1e9, 99.0) == {"minute", "hour"}
    # A batch shorter than the trigger interval is followed by a pause.
    assert found(1e9, 399.0, seconds=0.01) == {"hour"}
    assert found(1e9, 400.0, seconds=0.01) == set()
    assert found(alone["hour"], 1e9) == set()
    assert found(alone["hour"] - 1, 1e9) == {"hour"}
    assert found(alone["minute"] - 0.1, 1e9) == {"minute", "hour"}


def test_a_query_above_its_limit_for_some_batches_is_suspended_and_the_others_go_on(
    board: Board, as_owner: Client, post: Post, owner: User
) -> None:
    rule = AlertRule.objects.create(name="night", channel="email", target="a@example.org", owner=owner)
    for number, results in enumerate((1001, 1001, 1000, 1001, 1001)):
        board.batch(number, {"hour": results})
        assert board.suspended() == {}, "one batch within the limit begins the count anew"
    board.batch(5, {"hour": 1001})
    reason = "1,001 results per second; at most 1,000 are allowed"
    assert board.suspended() == {"hour": reason}
    assert {query.name for query in board.graph.queries} == {"minute", "windy"}
    assert AuditEntry.objects.get(verb="suspend").detail == f"hour v1: {reason}"
    assert AuditEntry.objects.get(verb="suspend").account is None

    hour = Query.objects.get(name="hour")
    document = as_owner.get(f"/api/queries/{hour.pk}/").json()
    assert (document["status"], document["suspended"]) == ("suspended", reason)
    found = as_owner.get("/api/queries/?search=status:suspended").json()
    assert [one["name"] for one in found] == ["hour"]
    listed = as_owner.get("/api/topologies/flights/").json()["queries"]
    assert {one["name"]: one["suspended"] for one in listed} == {
        "hour": reason,
        "minute": None,
        "windy": None,
    }

    watching.watch(timezone.now())
    assert Alert.objects.get(rule=rule, closed_at=None).detail == f"hour: {reason}"

    # Deployed again it is answered again, and the alert closes.
    assert post(as_owner, f"/api/queries/{hour.pk}/deploy/").status_code == 202
    assert revisions.plan_newest(board.topology.pk)
    assert {query.name for query in board.graph.queries} == {"hour", "minute", "windy"}
    assert query_status(TopologyQuery.objects.get(query=hour)) != "suspended"
    watching.watch(timezone.now())
    assert not Alert.objects.filter(closed_at=None).exists()


def test_a_suspended_query_can_be_undeployed(board: Board, as_owner: Client, post: Post) -> None:
    for number in range(3):
        board.batch(number, {"hour": 5000})
    assert board.suspended().keys() == {"hour"}
    hour = Query.objects.get(name="hour")
    assert post(as_owner, f"/api/queries/{hour.pk}/undeploy/").status_code == 202
    assert query_status(TopologyQuery.objects.filter(query=hour).first()) == "draft"


def test_state_is_judged_by_what_the_query_alone_needs(board: Board, settings: Settings) -> None:
    settings.MILLRACE_MAX_STATE_BYTES = 1000.0
    for number in range(3):
        board.batch(number, {}, stored_bytes=700)
    assert board.suspended().keys() == {"hour", "windy"}
    assert {query.name for query in board.graph.queries} == {"minute"}


def test_a_team_has_limits_of_its_own(board: Board, team: Team) -> None:
    team.max_result_rate = 10.0
    team.save()
    Query.objects.filter(name="minute").update(team=team)
    for number in range(3):
        board.batch(number, {"minute": 11, "hour": 11})
    assert board.suspended().keys() == {"minute"}


def test_a_step_that_makes_too_much_costs_its_only_query_its_place(board: Board) -> None:
    steps = board.steps_of("windy")
    assert steps
    board.given_up(steps)
    assert board.suspended() == {
        "windy": "a step made 5,001 combinations in one batch; at most 5,000 are allowed"
    }
    assert board.topology.given_up == ""


def test_of_queries_that_share_a_step_the_costliest_is_suspended(board: Board) -> None:
    shared = board.steps_of("minute", "hour")
    assert shared
    board.given_up(shared[:1])
    assert board.suspended().keys() == {"hour"}
    assert {query.name for query in board.graph.queries} == {"minute", "windy"}


def test_a_query_that_fails_on_any_tuple_is_suspended_and_the_others_go_on(
    board: Board, as_owner: Client
) -> None:
    why = "KeyError: 'no such function', probing weather"
    board.given_up([], failed={"minute": why})
    assert board.suspended() == {"minute": f"it fails: {why}"}
    assert {query.name for query in board.graph.queries} == {"hour", "windy"}
    assert board.topology.given_up == ""
    listed = as_owner.get("/api/topologies/flights/").json()["queries"]
    assert {one["name"]: one["suspended"] for one in listed}["minute"] == f"it fails: {why}"


def test_of_queries_that_fail_together_the_one_deployed_last_is_suspended(board: Board) -> None:
    board.given_up([], failed=dict.fromkeys(("windy", "minute", "hour", "unknown"), "ValueError: no"))
    assert board.suspended() == {"windy": "it fails: ValueError: no"}
    # If it was not that one, the job says so again.
    board.given_up([], failed=dict.fromkeys(("minute", "hour"), "ValueError: no"))
    assert board.suspended().keys() == {"windy", "hour"}


def test_what_a_job_says_of_a_plan_of_yesterday_blames_nobody(board: Board) -> None:
    old, steps = board.plan_id, board.steps_of("windy")
    board.given_up(steps)
    assert board.suspended().keys() == {"windy"}
    # The job was killed and begins the same batch again under the same plan, before it has the new one.
    board.given_up([rule.id for rule in board.graph.rules if isinstance(rule, ProbeRule)], old)
    assert board.suspended().keys() == {"windy"}
    board.given_up(["P-unknown"])
    assert board.suspended().keys() == {"windy"}


def test_a_topology_without_any_query_left_stops(board: Board, as_operator: Client, post: Post) -> None:
    for number in range(3):
        board.batch(number, {"minute": 5000, "hour": 5000, "windy": 5000})
    assert len(board.suspended()) == 3
    assert board.topology.desired == Desired.STOPPED
    answer = post(as_operator, "/api/topologies/flights/start/")
    assert (answer.status_code, answer.json()["code"]) == (409, "no-queries")


def test_several_workers_suspend_once(board: Board) -> None:
    for number in range(3):
        board.batch(number, {"hour": 5000})
    revision = board.topology.revision
    now = timezone.now()
    rounds = [suspension.suspend_excessive(board.topology.pk, now) for _ in range(3)]
    assert rounds == [True, False, False]
    assert board.topology.revision == revision + 1
    assert AuditEntry.objects.filter(verb="suspend").count() == 1


def _allow(client: Client, query: Query, allowed: bool) -> Any:
    url = f"/api/queries/{query.pk}/allowance/"
    return client.put(url, json.dumps({"allowed": allowed}), content_type="application/json")


def test_an_operator_lets_a_query_cost_more(
    as_owner: Client, as_operator: Client, post: Post, query: Query, settings: Settings
) -> None:
    settings.MILLRACE_MAX_STATE_TUPLES = 1000.0
    url = f"/api/queries/{query.pk}/deploy/"
    refused = post(as_owner, url)
    assert (refused.status_code, refused.json()["code"]) == (409, "too-much-state")
    assert "ask an operator to allow it" in refused.json()["detail"]
    assert _allow(as_owner, query, True).status_code == 403
    assert _allow(as_operator, query, True).json() == {"allowed": True}
    assert post(as_owner, url).status_code == 202
    assert _allow(as_operator, query, False).json() == {"allowed": False}
    assert [entry.verb for entry in AuditEntry.objects.all()[:3]] == ["limit", "deploy", "allow"]
    assert post(as_owner, url).status_code == 409


def test_what_an_operator_allows_is_not_suspended_for_its_rate(board: Board, as_operator: Client) -> None:
    hour = Query.objects.get(name="hour")
    assert _allow(as_operator, hour, True).status_code == 200
    for number in range(4):
        board.batch(number, {"hour": 5000, "minute": 5000})
    assert board.suspended().keys() == {"minute"}


def test_a_teams_limit_is_named_where_it_refuses(
    as_owner: Client, post: Post, query: Query, team: Team
) -> None:
    team.max_tuple_rate = 0.001
    team.save()
    Query.objects.filter(pk=query.pk).update(team=team)
    answer = post(as_owner, f"/api/queries/{query.pk}/deploy/")
    assert answer.json()["code"] == "too-many-tuples"
    assert "are allowed for team airside" in answer.json()["detail"]
