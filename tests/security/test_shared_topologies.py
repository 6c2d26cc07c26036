"""What one is told of a topology that answers queries of a private team, too."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from backend.accounts.models import Team
from backend.alerts.models import AlertRule
from backend.alerts.watching import watch
from backend.audit.models import AuditEntry
from backend.catalog.actions import create_query, delete_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query, undeploy_query
from backend.live.redaction import told_event, told_state
from backend.live.state import LiveState, fold
from backend.planning import revisions
from backend.streams.models import Stream
from backend.topologies.models import Run, Topology
from backend.topologies.sight import WHOLE, Sight, sight_of
from jobs.protocol import (
    BatchCompleted,
    DeadLetter,
    EpochCompleted,
    JobFailed,
    QueryMetrics,
    StoreMetrics,
    StreamMetrics,
    dead_letters_key,
    events_key,
    results_key,
    statistics_key,
)
from optimizer.physical.graph import PhysicalGraph
from tests.api.conftest import TWO_WAY
from tests.api.live.events import event
from tests.api.test_every_endpoint import LETTERS, SQL, TABLE, World, world  # noqa: F401

SECRET_SQL = """SELECT d.flight, a.delay FROM departures [RANGE 7 HOURS] AS d, weather [RANGE 1 HOUR] AS w,
arrivals [RANGE 1 HOUR] AS a WHERE d.origin = w.origin AND d.tail = a.tail AND w.wind > 4711"""
MIXED_SECRETS = ("hush", "4711", "arrivals", "airside", "the reason is hush")


@pytest.fixture
def mixed(streams: dict[str, Stream], team: Team, owner: User, outsider: User, bus: redis.Redis) -> Topology:
    """A topology that answers an outsider's query, and one of a private team over a stream of its own."""
    Team.objects.filter(pk=team.pk).update(private=True)
    Stream.objects.filter(name="arrivals").update(team=team)
    hush = create_query(owner, "hush", SECRET_SQL)
    own = create_query(outsider, "own", TWO_WAY.replace("WHERE", "WHERE w.wind > 5 AND"))
    Query.objects.filter(pk=hush.pk).update(team=team)
    deploy_query(owner, hush, "shared")
    deploy_query(outsider, own, "shared")
    topology = Topology.objects.get(name="shared")
    assert revisions.plan_newest(topology.pk)
    topology.refresh_from_db()
    assert topology.plan is not None
    text = "the reason is hush: w.wind > 4711 raised"
    run = Run.objects.create(
        topology=topology, plan=topology.plan, state="failed", error=text, error_detail=text
    )
    Topology.objects.filter(pk=topology.pk).update(current_run=run, active_plan=topology.plan)
    assert AuditEntry.objects.filter(topology="shared", detail="hush v1").exists()
    graph = PhysicalGraph.from_json(topology.plan.graph)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    store = StoreMetrics(tuples=1, bytes=8, per_task=[1])
    batch = BatchCompleted(
        run=run.pk,
        at=at,
        batch=1,
        epoch=1,
        plan_id=topology.plan.plan_id,
        seconds=0.5,
        tuples_in=2,
        backlog=None,
        level_seconds=[],
        streams={name: StreamMetrics(watermark=None, max_event_time=at) for name in streams},
        stores={one.id: store for one in graph.stores},
        edges={},
        queries={
            name: QueryMetrics(results=2, latency_ms_p50=1, latency_ms_p99=1, complete_since=None)
            for name in ("hush", "own")
        },
    )
    epoch = EpochCompleted(
        run=run.pk,
        at=at,
        epoch=1,
        plan_id=topology.plan.plan_id,
        first_batch=1,
        last_batch=1,
        event_seconds=1.0,
        accepted=dict.fromkeys(streams, 2),
        edges={},
        rules={},
        held={one.id: 1 for one in graph.stores},
        sent=2,
        rates={},
        q_error=None,
    )
    failed = JobFailed(run=run.pk, at=at, error=text, detail=text)
    for message in (batch, epoch, failed):
        bus.xadd(events_key("shared"), {"message": message.model_dump_json()})
    bus.xadd(statistics_key("shared"), {"message": epoch.model_dump_json()})
    for name in ("hush", "own"):
        bus.xadd(results_key("shared", name), {"json": f'{{"flight": "of {name}"}}', "batch": "1"}, id="1-1")
    letters = (
        DeadLetter(reason="late", event_time=None, tuple="{}", cut=False),
        DeadLetter(
            reason=text, event_time=None, tuple="{}", cut=False, query="hush", expression="w.wind > 4711"
        ),
    )
    for letter in letters:
        entry = {"batch": "1", "letter": letter.model_dump_json()}
        bus.xadd(dead_letters_key("shared", "weather"), entry)
    return topology


@pytest.mark.django_db
def test_a_shared_topology_shows_another_teams_query_as_an_anonymous_part(
    mixed: Topology, outsider: User, as_outsider: Client, as_owner: Client, post: Any
) -> None:
    own = Query.objects.get(name="own")
    run = Run.objects.get()
    paths = [
        "/api/topologies/",
        *(
            f"/api/topologies/shared/{part}"
            for part in (
                *("", "graph/", "snapshot/", "history/", "costs/", "alternatives/", "impact/", "tasks/"),
                *("snapshot/?epoch=1", "audit/"),
            )
        ),
        "/api/overview/",
        "/api/costs/",
        "/api/runs/",
        f"/api/runs/{run.pk}/",
        "/api/forecasts/",
        "/api/queries/",
        f"/api/queries/{own.pk}/impact/",
        "/api/streams/weather/impact/",
        "/api/streams/weather/dead-letters/",
        "/api/streams/weather/arrivals/",
        "/api/directory/",
    ]
    for path in paths:
        answer = as_outsider.get(path)
        told = answer.content.decode()
        words = [word for word in MIXED_SECRETS if word in told]
        assert (answer.status_code, words) == (200, []), f"{path}: {told}"
    assert "hush" in as_owner.get("/api/topologies/shared/graph/").content.decode(), "a member sees it"
    assert as_outsider.get(f"/api/runs/{run.pk}/log/").status_code == 404
    topology = as_outsider.get("/api/topologies/shared/").json()
    assert [one["name"] for one in topology["queries"]] == ["own"]
    assert topology["other_queries"] == 1
    snapshot = as_outsider.get("/api/topologies/shared/snapshot/").json()
    assert snapshot["batch"]["queries"].keys() == {"own", "queries of other teams"}, "it is there"
    assert snapshot["batch"]["queries"]["queries of other teams"]["results"] == 0, "and counts nothing"
    assert snapshot["history"][0]["results"] is None
    then = as_outsider.get("/api/topologies/shared/snapshot/?epoch=1").json()
    assert then["batch"] == snapshot["batch"], "of then no more is told than of now"
    assert then["statistics"]["accepted"].keys() == {"departures", "weather"}
    assert sum(one["tuples"] for one in snapshot["batch"]["stores"].values()) > 1, "what it keeps is told"
    costs = as_outsider.get("/api/topologies/shared/costs/").json()
    assert costs["queries"].keys() == {"own", "queries of other teams"}
    assert costs["answers"].keys() == {"own"}
    letters = as_outsider.get("/api/streams/weather/dead-letters/").json()["letters"]
    assert [one["expression"] for one in letters] == ["queries of other teams", None]
    sql = {"sql": TWO_WAY, "name": "draft", "topology": "shared"}
    for path in ("/api/sql/explain/", "/api/sql/outlook/"):
        answer = post(as_outsider, path, sql)
        assert answer.status_code == 200
        assert "hush" not in answer.content.decode()
    files = {"queries/own.sql": TWO_WAY, "queries/own.yaml": "topology: shared\n"}
    planned = post(as_outsider, "/api/directory/plan/", {"name": "repo", "files": files})
    told = planned.content.decode()
    assert planned.status_code == 200
    assert not [word for word in MIXED_SECRETS if word in told], told
    assert "queries of other teams" in told, "what they pay is there"


@pytest.mark.django_db
def test_what_is_left_of_a_deleted_query_stays_its_readers(
    mixed: Topology, owner: User, outsider: User, operator: User, as_outsider: Client, post: Any
) -> None:
    """Plans, logs and kept results have its name and say what it asked."""
    hush = Query.objects.get(name="hush")
    undeploy_query(owner, hush)
    assert revisions.plan_newest(mixed.pk)
    assert not sight_of(outsider, mixed).is_whole, "its plans are there"
    delete_query(owner, hush)
    assert not sight_of(outsider, mixed).is_whole
    assert sight_of(owner, mixed) == WHOLE
    old = as_outsider.get(f"/api/topologies/shared/graph/?plan_id={mixed.plan.plan_id}").json()  # type: ignore[union-attr]
    assert [one["name"] for one in old["graph"]["queries"]] == ["own"]
    assert "hush" not in json.dumps(old)
    taken = post(as_outsider, "/api/queries/", {"name": "hush", **SQL})
    assert (taken.status_code, taken.json()["code"]) == (409, "name-taken")
    assert create_query(owner, "hush", TWO_WAY).name == "hush", "who read it may use the name again"


@pytest.mark.django_db
def test_alerts_tell_an_owner_no_more_than_it_reads(
    mixed: Topology, owner: User, outsider: User, as_outsider: Client
) -> None:
    for account in (owner, outsider):
        AlertRule.objects.create(owner=account, name="all", channel="webhook", target="https://example.org/a")
    watch(datetime(2026, 1, 1, tzinfo=UTC))
    told = dict(AlertRule.objects.values_list("owner__username", "alerts__detail"))
    assert "4711" in told["ann"]
    assert told["zoe"] == "this text may speak of queries of other teams"


@pytest.mark.django_db
def test_what_runs_tells_what_one_reads_of_it(mixed: Topology, owner: User, outsider: User) -> None:
    seen, whole = sight_of(outsider, mixed), sight_of(owner, mixed)
    assert (seen.queries, seen.streams) == ({"own"}, {"departures", "weather"})
    assert whole == WHOLE
    assert mixed.plan is not None
    graph = PhysicalGraph.from_json(mixed.plan.graph)
    part = seen.graph(graph)
    assert [query.name for query in part.queries] == ["own"]
    assert {store.inputs[0].stream for store in part.stores} == {"departures", "weather"}
    assert len(part.stores) < len(graph.stores)


PART = Sight(frozenset({"q1"}), frozenset({"weather"}), frozenset({"S-1"}))
UNTOLD = ("q2", "S-2", "E-1", "P-1", "departures", "no such key", "disk is full", "no room", '"deploy"')
"""Names and texts of `events` that the sight below does not have."""


@given(events=st.lists(event, max_size=12), sight=st.sampled_from((PART, WHOLE)))
def test_a_restricted_snapshot_and_its_events_stay_a_fresh_snapshot(events: list[Any], sight: Sight) -> None:
    state, seen = LiveState(), told_state(LiveState(), sight)
    for number, one in enumerate(events, start=1):
        state = fold(state, f"{number}-0", one)
        told = told_event(one, sight)
        seen = fold(seen, f"{number}-0", told)
        assert told_state(state, sight) == seen
        if sight is WHOLE:
            assert (seen, told) == (state, one)
        else:
            said = seen.model_dump_json() + told.model_dump_json()
            assert not [word for word in UNTOLD if word in said]
