"""Every operation of the OpenAPI document, tried as owner, teammate, outsider, operator and anonymous.

The document says what there is, the table who may: an endpoint that the table lacks fails the test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import redis
from allauth.mfa.models import Authenticator
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from pytest_django import Settings

from backend.accounts.models import ServiceAccount, Team
from backend.alerts.models import AlertRule
from backend.audit.models import AuditEntry
from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.live.subscription.kept import begin_keeping
from backend.planning import revisions
from backend.streams.actions import StreamSpec, create_stream
from backend.streams.models import Stream
from backend.tokens.actions import create_token
from backend.topologies.folders import directory
from backend.topologies.models import Plan, Run, Topology
from jobs.protocol import (
    DeadLetter,
    EpochCompleted,
    ResultTrace,
    dead_letters_key,
    results_key,
    statistics_key,
)
from optimizer.algebra.types import ColumnType
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule
from tests.api.conftest import TWO_WAY, signed_in

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = json.loads((ROOT / "frontend/src/api/openapi.json").read_text())
METHODS = ("get", "post", "put", "patch", "delete")
OPERATIONS = sorted(
    (method, path)
    for path, operations in DOCUMENT["paths"].items()
    for method in METHODS
    if method in operations
)
EVERYBODY = ("owner", "teammate", "outsider", "operator")
EDITORS = ("owner", "teammate", "operator")
OPERATORS = ("operator",)
OWNER = ("owner",)
MEMBERS = ("owner", "teammate")
SERVICE = {"id": "team", "account": "service", "token": "service_token"}
RULE = {"name": "night", "channel": "webhook", "target": "https://example.org/hook"}
SQL = {"sql": TWO_WAY}
DIRECTORY = {"name": "repo", "files": {"queries/fresh.sql": TWO_WAY}}
LETTERS = {"letters": [{"topology": "flights", "id": "1-1"}]}


@dataclass(frozen=True)
class Case:
    status: int
    """For those who may."""
    who: tuple[str, ...] = EVERYBODY
    body: Mapping[str, Any] | None = None
    refusal: int = 403
    """For those who are signed in and may not."""
    query: str = ""
    at: Mapping[str, str] = field(default_factory=dict)
    """Other things than those of the world below, by the path's parameters."""


READ = Case(200)
TABLE: dict[tuple[str, str], Case] = {
    ("get", "/api/accounts/"): READ,
    ("get", "/api/alerts/"): READ,
    ("post", "/api/alerts/"): Case(201, body=RULE),
    ("get", "/api/alerts/{id}/"): Case(200, EDITORS, refusal=404),
    ("put", "/api/alerts/{id}/"): Case(200, EDITORS, RULE, refusal=404),
    ("delete", "/api/alerts/{id}/"): Case(204, EDITORS, refusal=404),
    ("get", "/api/alerts/{id}/deliveries/"): Case(200, EDITORS, refusal=404),
    ("post", "/api/alerts/{id}/test/"): Case(202, EDITORS, refusal=404),
    ("get", "/api/audit/"): Case(200, ()),
    ("get", "/api/audit/choices/"): Case(200, ()),
    ("get", "/api/audit/download/"): Case(200, ()),
    ("get", "/api/budgets/"): READ,
    ("get", "/api/connectors/"): READ,
    ("get", "/api/forecasts/"): READ,
    ("get", "/api/me/"): READ,
    ("get", "/api/directory/"): READ,
    ("post", "/api/directory/plan/"): Case(200, body=DIRECTORY),
    ("post", "/api/directory/apply/"): Case(200, body=DIRECTORY),
    ("get", "/api/overview/"): READ,
    ("get", "/api/queries/"): READ,
    ("post", "/api/queries/"): Case(201, body={"name": "another", **SQL}),
    ("get", "/api/costs/"): READ,
    ("get", "/api/costs/download/"): READ,
    ("get", "/api/queries/{id}/"): READ,
    ("patch", "/api/queries/{id}/"): Case(200, EDITORS, {"description": "Wind"}),
    ("delete", "/api/queries/{id}/"): Case(204, EDITORS, at={"id": "spare"}),
    ("post", "/api/queries/{id}/deploy/"): Case(202, EDITORS, {"topology": "flights"}),
    ("put", "/api/queries/{id}/chart/"): Case(200, who=EDITORS, body={"mark": "count", "x": "flight"}),
    ("delete", "/api/queries/{id}/chart/"): Case(204, who=EDITORS),
    ("put", "/api/queries/{id}/favourite/"): READ,
    ("delete", "/api/queries/{id}/favourite/"): READ,
    ("get", "/api/queries/{id}/allowance/"): READ,
    ("put", "/api/queries/{id}/allowance/"): Case(200, OPERATORS, {"allowed": True}),
    ("get", "/api/queries/{id}/checks/"): READ,
    ("get", "/api/queries/{id}/impact/"): READ,
    ("get", "/api/queries/{id}/pin/"): READ,
    ("put", "/api/queries/{id}/pin/"): Case(200, OPERATORS, {"topology": "slow"}),
    ("get", "/api/queries/{id}/figures/"): READ,
    ("get", "/api/queries/{id}/results/"): READ,
    ("get", "/api/queries/{id}/results/download/"): READ,
    ("get", "/api/queries/{id}/subscription/"): READ,
    ("get", "/api/queries/{id}/results/provenance/"): Case(200, query="id=1-1"),
    ("post", "/api/queries/{id}/transfer/"): Case(200, EDITORS, {"owner": "bob", "team": "airside"}),
    ("post", "/api/queries/{id}/undeploy/"): Case(202, EDITORS),
    ("get", "/api/queries/{id}/versions/"): READ,
    ("post", "/api/queries/{id}/versions/"): Case(201, EDITORS, SQL),
    ("get", "/api/runs/"): READ,
    ("get", "/api/runs/{id}/"): Case(200, at={"id": "run"}),
    ("get", "/api/runs/{id}/log/"): Case(200, at={"id": "run"}),
    # This deployment has no registry; tests/api/streams/test_registry.py asks one.
    ("post", "/api/schema-registry/columns/"): Case(409, body={"topic": "a", "format": "avro"}),
    ("post", "/api/sql/convert/"): Case(200, body=SQL),
    ("post", "/api/sql/unregistered/"): Case(200, body=SQL),
    ("post", "/api/sql/explain/"): Case(200, body=SQL),
    ("post", "/api/sql/format/"): Case(200, body=SQL),
    ("post", "/api/sql/outlook/"): Case(200, body=SQL),
    ("post", "/api/sql/preview/"): Case(200, body=SQL),
    ("post", "/api/sql/validate/"): Case(200, body=SQL),
    ("get", "/api/streams/"): READ,
    ("post", "/api/streams/"): Case(
        201, body={"name": "fresh", "event_time": "at", "columns": [{"name": "at", "type": "timestamp"}]}
    ),
    ("get", "/api/streams/{name}/"): READ,
    ("patch", "/api/streams/{name}/"): Case(200, EDITORS, {"description": "Hourly"}),
    ("delete", "/api/streams/{name}/"): Case(204, EDITORS, at={"name": "gates"}),
    ("get", "/api/streams/{name}/arrivals/"): READ,
    ("get", "/api/streams/{name}/dead-letters/"): READ,
    ("post", "/api/streams/{name}/dead-letters/discard/"): Case(200, EDITORS, LETTERS),
    ("post", "/api/streams/{name}/dead-letters/redrive/"): Case(202, EDITORS, LETTERS),
    ("post", "/api/streams/{name}/events/"): Case(202, EDITORS, {"at": "2013-01-01"}),
    ("get", "/api/streams/{name}/impact/"): READ,
    ("get", "/api/streams/{name}/sample/"): READ,
    ("get", "/api/persons/"): Case(200, OPERATORS),
    ("post", "/api/persons/"): Case(201, (), {"username": "kim"}),
    ("patch", "/api/persons/{id}/"): Case(200, (), {"role": "viewer"}, at={"id": "person"}),
    ("delete", "/api/persons/{id}/"): Case(204, (), at={"id": "person"}),
    ("post", "/api/persons/{id}/password-link/"): Case(201, (), at={"id": "person"}),
    ("delete", "/api/persons/{id}/second-factor/"): Case(204, (), at={"id": "person"}),
    ("get", "/api/persons/{id}/sign-ins/"): Case(200, (), at={"id": "person"}),
    ("delete", "/api/persons/{id}/sign-ins/"): Case(204, (), at={"id": "person"}),
    ("get", "/api/persons/{id}/quota/"): Case(200, OPERATORS, at={"id": "person"}),
    ("patch", "/api/persons/{id}/quota/"): Case(200, OPERATORS, {"queries": 5}, at={"id": "person"}),
    ("get", "/api/teams/"): READ,
    ("post", "/api/teams/"): Case(201, (), {"name": "cargo"}),
    ("delete", "/api/teams/{id}/"): Case(204, (), refusal=404, at={"id": "empty_team"}),
    ("patch", "/api/teams/{id}/members/"): Case(200, (), {"add": ["zoe"]}, refusal=404, at={"id": "team"}),
    ("get", "/api/teams/{id}/quota/"): Case(200, MEMBERS, refusal=404, at={"id": "team"}),
    ("patch", "/api/teams/{id}/quota/"): Case(200, (), {"queries": 5}, refusal=404, at={"id": "team"}),
    ("patch", "/api/teams/{id}/"): Case(200, (), {"private": True}, refusal=404, at={"id": "team"}),
    ("put", "/api/teams/{id}/budget/"): Case(200, (), {"amount": 5}, refusal=404, at={"id": "team"}),
    ("get", "/api/teams/{id}/service-accounts/"): Case(200, MEMBERS, refusal=404, at=SERVICE),
    ("post", "/api/teams/{id}/service-accounts/"): Case(201, (), {"name": "bot"}, refusal=404, at=SERVICE),
    ("put", "/api/teams/{id}/service-accounts/{account}/"): Case(
        200, (), {"enabled": False}, refusal=404, at=SERVICE
    ),
    ("delete", "/api/teams/{id}/service-accounts/{account}/"): Case(204, (), refusal=404, at=SERVICE),
    ("get", "/api/teams/{id}/service-accounts/{account}/tokens/"): Case(200, (), refusal=404, at=SERVICE),
    ("post", "/api/teams/{id}/service-accounts/{account}/tokens/"): Case(
        201, (), {"name": "bot"}, refusal=404, at=SERVICE
    ),
    ("delete", "/api/teams/{id}/service-accounts/{account}/tokens/{token}/"): Case(
        204, (), refusal=404, at=SERVICE
    ),
    ("get", "/api/tokens/"): READ,
    ("post", "/api/tokens/"): Case(201, body={"name": "laptop"}),
    ("delete", "/api/tokens/{id}/"): Case(204, OWNER, refusal=404, at={"id": "token"}),
    ("get", "/api/topologies/"): READ,
    ("get", "/api/topologies/{name}/"): Case(200, at={"name": "flights"}),
    ("get", "/api/topologies/{name}/alternatives/"): Case(200, at={"name": "flights"}),
    ("get", "/api/topologies/{name}/costs/"): Case(200, at={"name": "flights"}),
    ("get", "/api/topologies/{name}/savings/"): Case(200, at={"name": "flights"}),
    ("get", "/api/topologies/{name}/audit/"): Case(200, at={"name": "flights"}),
    ("get", "/api/topologies/{name}/graph/"): Case(200, at={"name": "flights"}),
    ("get", "/api/topologies/{name}/history/"): Case(200, at={"name": "flights"}),
    ("get", "/api/topologies/{name}/impact/"): Case(200, at={"name": "flights"}),
    ("get", "/api/topologies/{name}/snapshot/"): Case(200, at={"name": "flights"}),
    ("get", "/api/topologies/{name}/tasks/"): Case(200, at={"name": "flights"}),
    ("put", "/api/topologies/{name}/tasks/"): Case(
        202, OPERATORS, {"tasks": {"weather": 2}}, at={"name": "flights"}
    ),
    ("get", "/api/topologies/{name}/job/"): Case(200, at={"name": "flights"}),
    ("put", "/api/topologies/{name}/job/"): Case(
        200, OPERATORS, {"settings": {"trigger_ms": 250}}, at={"name": "flights"}
    ),
    ("get", "/api/topologies/{name}/planner/"): Case(200, at={"name": "flights"}),
    ("put", "/api/topologies/{name}/planner/"): Case(
        200, OPERATORS, {"settings": {"storage_weight": 0.5}}, at={"name": "flights"}
    ),
    ("put", "/api/topologies/{name}/memory/"): Case(
        200, OPERATORS, {"memory_limit_bytes": 1 << 30}, at={"name": "flights"}
    ),
    ("post", "/api/topologies/{name}/optimize/"): Case(202, OPERATORS, at={"name": "flights"}),
    ("post", "/api/topologies/{name}/restart/"): Case(202, OPERATORS, at={"name": "flights"}),
    ("post", "/api/topologies/{name}/start/"): Case(202, OPERATORS, at={"name": "flights"}),
    ("post", "/api/topologies/{name}/stop/"): Case(202, OPERATORS, {"mode": "now"}, at={"name": "flights"}),
}


@dataclass(frozen=True)
class World:
    """One of everything, the owner's and the team's."""

    things: Mapping[str, str]
    """What stands for a parameter of a path."""
    fill: Callable[[], None]
    """Puts back what requests take from Redis."""


@pytest.fixture
def world(
    query: Query, owner: User, team: Team, streams: dict[str, Stream], bus: redis.Redis, settings: Settings
) -> World:
    spare = create_query(owner, "spare", TWO_WAY)
    create_stream(owner, StreamSpec("gates", (("at", ColumnType.TIMESTAMP),), "at"))
    Query.objects.update(team=team)
    Stream.objects.update(team=team)
    deploy_query(owner, query, "flights")
    topology = Topology.objects.get()
    assert revisions.plan_newest(topology.pk)
    plan = Plan.objects.get()
    run = Run.objects.create(topology=topology, plan=plan)
    rule = AlertRule.objects.create(owner=owner, team=team, **RULE)
    token, _ = create_token(owner, "laptop")
    service = ServiceAccount.objects.create(account=User.objects.create_user("loader"), team=team)
    team.members.add(service.account)
    service_token, _ = create_token(service.account, "nightly")
    empty = Team.objects.create(name="hangar")
    empty.members.set(team.members.filter(service_account=None))
    person = User.objects.create_user("pat")
    Authenticator.objects.create(user=person, type=Authenticator.Type.TOTP, data={"secret": ""})
    AccessAttempt.objects.create(username="pat", ip_address="192.0.2.1", failures_since_start=99)
    graph = PhysicalGraph.from_json(plan.graph, "plan")
    leaf = next(one for one in graph.rules if isinstance(one, ProbeRule) and one.emits)
    checkpoint = directory("flights") / "checkpoint"
    checkpoint.mkdir(parents=True)
    (checkpoint / "checkpoint.json").write_text('{"id": "0123abcd"}')
    begin_keeping("flights")
    trace = ResultTrace(plan_id=plan.plan_id, rule=leaf.id, arrival=1, times={}).model_dump_json()
    letter = DeadLetter(reason="late", event_time=None, tuple='{"at": "2013-01-01"}', cut=False)

    epoch = EpochCompleted(
        run=run.pk,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        epoch=3,
        plan_id=plan.plan_id,
        first_batch=1,
        last_batch=2,
        event_seconds=0,
        accepted={},
        edges={},
        rules={},
        held={},
        sent=0,
        rates={},
        q_error=None,
    )

    def fill() -> None:
        bus.flushall()
        result = {"json": "{}", "batch": "0", "trace": trace}
        bus.xadd(results_key("flights", "windy"), result, id="1-1")
        dead = {"batch": "0", "letter": letter.model_dump_json()}
        bus.xadd(dead_letters_key("flights", "weather"), dead, id="1-1")

        bus.xadd(statistics_key("flights"), {"message": epoch.model_dump_json()})

    keys = {
        "spare": spare.pk,
        "alert": rule.pk,
        "run": run.pk,
        "token": token.pk,
        "query": query.pk,
        "team": team.pk,
        "empty_team": empty.pk,
        "person": person.pk,
        "service": service.pk,
        "service_token": service_token.pk,
    }
    return World({name: str(key) for name, key in keys.items()}, fill)


def test_the_table_has_every_operation_and_no_other() -> None:
    missing, gone = sorted(set(OPERATIONS) - TABLE.keys()), sorted(TABLE.keys() - set(OPERATIONS))
    assert not missing, f"say who may: {missing}"
    assert not gone, f"no longer there: {gone}"


@pytest.fixture
def clients(
    as_owner: Client, as_teammate: Client, as_outsider: Client, as_operator: Client, anonymous: Client
) -> dict[str, Client]:
    return {
        "owner": as_owner,
        "teammate": as_teammate,
        "outsider": as_outsider,
        "operator": as_operator,
        "anonymous": anonymous,
    }


def _send(client: Client, method: str, path: str, case: Case, world: World) -> Any:
    number = world.things["alert" if path.startswith("/api/alerts/") else "query"]
    changed = {key: world.things.get(value, value) for key, value in case.at.items()}
    url = path.format(**{"id": number, "name": "weather", **changed})
    body = "" if case.body is None else json.dumps(case.body)
    return client.generic(method.upper(), f"{url}?{case.query}", body, content_type="application/json")


def test_who_may(world: World, clients: dict[str, Client]) -> None:
    wrong = []
    for (method, path), case in sorted(TABLE.items()):
        for role, client in clients.items():
            # One world for all: making it takes longer than all requests, and each leaves no trace.
            world.fill()
            with transaction.atomic():
                answer = _send(client, method, path, case, world)
                transaction.set_rollback(True)
            refusal = 403 if role == "anonymous" else case.refusal
            wanted = case.status if role in case.who else refusal
            if path.startswith("/api/teams/{id}/") and role in MEMBERS and role not in case.who:
                wanted = 403  # Members see it, and admins change it.
            if answer.status_code != wanted:
                told = answer.content.decode()[:200]
                wrong.append(f"{role}: {method} {path}: {answer.status_code}, not {wanted}: {told}")
    assert not wrong, "\n".join(wrong)


QUIET = {
    # Questions.
    *(("post", f"/api/sql/{word}/") for word in ("convert", "explain", "format", "outlook", "preview")),
    *(("post", f"/api/{path}/") for path in ("sql/validate", "sql/unregistered", "directory/plan")),
    ("post", "/api/schema-registry/columns/"),
    # What one sees oneself alone.
    *((method, "/api/queries/{id}/favourite/") for method in ("put", "delete")),
    # Tuples.
    ("post", "/api/streams/{name}/events/"),
}
"""Requests that change nothing which anybody else has."""


def test_every_change_is_in_the_audit_trail(
    world: World, clients: dict[str, Client], settings: Settings
) -> None:
    settings.MILLRACE_PRICE_CORE_HOUR = 1.0
    admin = User.objects.create_superuser("root", password="long-enough-1")
    asked = {**clients, "admin": signed_in(admin)}
    names = {"owner": "ann", "operator": "olga", "admin": "root"}
    wrong = []
    for (method, path), case in sorted(TABLE.items()):
        if method == "get":
            continue
        role = next((one for one in case.who if one in names), "admin")
        world.fill()
        with transaction.atomic():
            if (method, path) == ("delete", "/api/queries/{id}/chart/"):
                # There has to be one to take away.
                assert _send(asked[role], "put", path, TABLE["put", path], world).status_code == 200
            newest = AuditEntry.objects.order_by("pk").last()
            answer = _send(asked[role], method, path, case, world)
            noted = list(AuditEntry.objects.filter(pk__gt=0 if newest is None else newest.pk))
            transaction.set_rollback(True)
        told = [(one.account_name, one.verb, one.kind, one.name) for one in noted]
        if answer.status_code != case.status:
            wrong.append(f"{method} {path}: {answer.status_code} {answer.content.decode()[:200]}")
        elif (method, path) in QUIET:
            wrong += [f"{method} {path}: {told}"] if told else []
        elif not told or {who for who, *_ in told} != {names[role]}:
            wrong.append(f"{method} {path} as {role}: {told}")
    assert not wrong, "\n".join(wrong)
