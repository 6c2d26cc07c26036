"""How much one account may have, and that nobody has more by asking twice at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from pytest_django import Settings

from backend.accounts.models import Quota, Team
from backend.accounts.quotas import Resource
from backend.audit.models import AuditEntry
from backend.catalog.actions import create_query, transfer_query
from backend.catalog.models import Query
from backend.deployments.topology_quota import EMPTIED_PER_USED
from backend.topologies.models import Topology
from tests.api.conftest import TWO_WAY

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]
Post = Callable[..., Any]
COLUMNS = [{"name": "at", "type": "timestamp"}]
RULE = {"channel": "webhook", "target": "https://example.org/hook"}


def make(client: Client, post: Post, resource: Resource, number: int) -> Any:
    """One more, over HTTP; versions are the first query's."""
    name = f"{resource}{number}"
    query = Query.objects.order_by("pk").last()
    match resource:
        case Resource.STREAMS:
            return post(client, "/api/streams/", {"name": name, "event_time": "at", "columns": COLUMNS})
        case Resource.QUERIES:
            return post(client, "/api/queries/", {"name": name, "sql": TWO_WAY})
        case Resource.VERSIONS:
            assert query is not None
            sql = TWO_WAY.replace("1 HOUR", f"{number + 2} HOURS")
            return post(client, f"/api/queries/{query.pk}/versions/", {"sql": sql})
        case Resource.ALERTS:
            return post(client, "/api/alerts/", {"name": name, **RULE})
        case Resource.TOKENS:
            return post(client, "/api/tokens/", {"name": name})
        case Resource.TOPOLOGIES:
            made = post(client, "/api/queries/", {"name": f"on-{name}", "sql": TWO_WAY}).json()
            return post(client, f"/api/queries/{made['id']}/deploy/", {"topology": name})


def of(client: Client, resource: Resource) -> dict[str, Any]:
    return next(one for one in client.get("/api/me/").json()["quotas"] if one["resource"] == resource)


@pytest.mark.parametrize("resource", Resource)
def test_the_limit_holds_and_says_who_can_raise_it(
    resource: Resource, as_owner: Client, post: Post, query: Query, operator: User, settings: Settings
) -> None:
    most = 5
    for one in Resource:
        setattr(settings, f"MILLRACE_QUOTA_{one.upper()}", 100.0)
    setattr(settings, f"MILLRACE_QUOTA_{resource.upper()}", float(most))
    had = 1 if resource == Resource.VERSIONS else of(as_owner, resource)["used"]
    made = [make(as_owner, post, resource, number) for number in range(most - had)]
    assert {one.status_code for one in made} <= {201, 202}
    refused = make(as_owner, post, resource, 99)
    assert refused.status_code == 409, refused.content
    document = refused.json()
    assert document["code"] == f"too-many-{resource}"
    for text in (f"{most} of {most} {resource}", "an operator (olga)", f"MILLRACE_QUOTA_{resource.upper()}"):
        assert text in document["detail"]
    if resource != Resource.VERSIONS:
        assert of(as_owner, resource) == {"resource": resource, "used": most, "limit": most}


@pytest.mark.parametrize("resource", Resource)
def test_an_account_and_a_team_may_have_more_and_operators_what_they_want(
    resource: Resource,
    as_owner: Client,
    as_operator: Client,
    owner: User,
    team: Team,
    post: Post,
    query: Query,
    settings: Settings,
) -> None:
    setattr(settings, f"MILLRACE_QUOTA_{resource.upper()}", 0.0)
    assert make(as_owner, post, resource, 1).status_code == 409
    given = Quota.objects.create(team=team, **{resource.value: 50})
    assert make(as_owner, post, resource, 2).status_code in (201, 202)
    Quota.objects.create(account=owner, **{resource.value: 0})
    assert make(as_owner, post, resource, 3).status_code == 409
    given.delete()
    assert make(as_operator, post, resource, 4).status_code in (201, 202)


def test_of_several_teams_the_most_counts(owner: User, as_owner: Client, team: Team) -> None:
    other = Team.objects.create(name="groundside")
    other.members.add(owner)
    Quota.objects.create(team=team, queries=7)
    Quota.objects.create(team=other, queries=9)
    assert of(as_owner, Resource.QUERIES)["limit"] == 9


def test_who_gives_a_query_away_has_no_room_for_another_and_fills_nobodys(
    owner: User, teammate: User, as_owner: Client, as_teammate: Client, post: Post, query: Query
) -> None:
    Quota.objects.create(account=owner, queries=1, topologies=1)
    Quota.objects.create(account=teammate, queries=1, topologies=1)
    post(as_owner, f"/api/queries/{query.pk}/deploy/", {"topology": "flights"})
    transfer_query(owner, query, "bob", None)
    assert make(as_owner, post, Resource.QUERIES, 1).status_code == 409
    assert of(as_owner, Resource.TOPOLOGIES)["used"] == 1
    assert make(as_teammate, post, Resource.TOPOLOGIES, 1).status_code == 202


def test_a_place_beside_others_takes_none(
    owner: User, as_owner: Client, as_teammate: Client, post: Post, query: Query
) -> None:
    """Joining a topology, and deploying again where one is, needs no further one."""
    Quota.objects.create(account=owner, topologies=1)
    url = f"/api/queries/{query.pk}/deploy/"
    assert post(as_owner, url, {"topology": "mine"}).status_code == 202
    assert post(as_owner, url, {"topology": "mine"}).status_code == 202
    assert make(as_teammate, post, Resource.TOPOLOGIES, 1).status_code == 202
    second = create_query(owner, "second", TWO_WAY)
    assert post(as_owner, f"/api/queries/{second.pk}/deploy/", {"topology": "topologies1"}).status_code == 202
    third = create_query(owner, "third", TWO_WAY)
    refused = post(as_owner, f"/api/queries/{third.pk}/deploy/", {"topology": "fresh"})
    assert (refused.status_code, refused.json()["code"]) == (409, "too-many-topologies")
    assert not Topology.objects.filter(name="fresh").exists()


def test_nobody_leaves_emptied_topologies_without_end(
    owner: User, as_owner: Client, post: Post, query: Query
) -> None:
    Quota.objects.create(account=owner, topologies=1)
    answers = []
    for number in range(EMPTIED_PER_USED + 1):
        answers.append(post(as_owner, f"/api/queries/{query.pk}/deploy/", {"topology": f"t{number}"}))
        post(as_owner, f"/api/queries/{query.pk}/undeploy/")
    assert [one.status_code for one in answers] == [202] * EMPTIED_PER_USED + [409]
    assert f"left {EMPTIED_PER_USED} topologies" in answers[-1].json()["detail"]
    assert Topology.objects.count() == EMPTIED_PER_USED
    assert post(as_owner, f"/api/queries/{query.pk}/deploy/", {"topology": "t0"}).status_code == 202


def test_a_quota_is_somebodys(owner: User, team: Team) -> None:
    for wrong in ({}, {"account": owner, "team": team}):
        with pytest.raises(ValidationError, match="choose an account or a team"):
            Quota(**wrong).full_clean()
        with pytest.raises(IntegrityError), transaction.atomic():
            Quota.objects.create(**wrong)


def test_operators_set_quotas(
    as_operator: Client, operator: User, owner: User, as_owner: Client, team: Team
) -> None:
    def limit(client: Client, url: str, **limits: int | None) -> Any:
        return client.patch(url, limits, content_type="application/json")

    url = f"/api/persons/{owner.pk}/quota/"
    assert limit(as_operator, url, queries=3, tokens=0).json()["queries"] == 3
    assert of(as_owner, Resource.QUERIES)["limit"] == 3
    assert of(as_owner, Resource.TOKENS)["limit"] == 0
    assert limit(as_operator, url, tokens=None).json() == as_operator.get(url).json()
    told = AuditEntry.objects.filter(kind="account", name="ann").latest("pk")
    assert (told.account_name, told.changes) == (operator.username, {"quota of tokens": [0, None]})
    limit(as_operator, url, queries=None)
    assert not Quota.objects.exists(), "nothing is set"
    # Members of a team see how much each may have; only operators that see it say so.
    ours = f"/api/teams/{team.pk}/quota/"
    assert limit(as_operator, ours, streams=7).status_code == 404
    team.members.add(operator)
    assert limit(as_operator, ours, streams=7).json()["streams"] == 7
    assert of(as_owner, Resource.STREAMS)["limit"] == 7
    assert as_owner.get(ours).json()["streams"] == 7
    for refused in (limit(as_owner, ours, streams=9), limit(as_owner, url, streams=9), as_owner.get(url)):
        assert (refused.status_code, refused.json()["code"]) == (403, "operators-only")
    wrong = limit(as_operator, url, queries=-1, streams=2**40)
    assert (wrong.status_code, sorted(wrong.json())) == (400, ["queries", "streams"])


def race(environment: dict[str, str]) -> dict[str, int]:
    """What six threads leave that ask for everything at once."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.quota_race"],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "backend.settings", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


RACED = {
    **{resource.value: 2 for resource in Resource},
    **{"service accounts": 2, "codes": 1, "jobs": 2, "processes": 2},
}


def test_nobody_has_more_by_asking_at_once(redis_url: str, bus: redis.Redis, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'raced.sqlite3'}"
    assert race({"DATABASE_URL": database, "MILLRACE_HOME": str(tmp_path), "REDIS_URL": redis_url}) == RACED
