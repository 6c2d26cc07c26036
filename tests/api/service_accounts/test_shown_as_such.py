"""Wherever an account's name is told, it is told whether that is a service account."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from backend.accounts.models import ServiceAccount, Team
from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.client.documents import owner_text, query
from backend.deployments.actions import deploy_query
from backend.streams.models import Stream
from backend.tokens.actions import create_token
from tests.api.conftest import THREE_WAY, TWO_WAY

pytestmark = pytest.mark.django_db
Post = Callable[..., Any]
RULE = {"name": "night", "channel": "webhook", "target": "https://example.org/hook", "team": "airside"}
DIRECTORY = {
    "name": "repo",
    "files": {"queries/fresh.sql": TWO_WAY, "queries/fresh.yaml": "topology: flights\n"},
}


@pytest.fixture
def program(service: ServiceAccount, team: Team, streams: dict[str, Stream]) -> Client:
    """Of the service account, which the streams and everything below belong to."""
    Stream.objects.update(owner=service.account, team=team)
    return Client(headers={"Authorization": f"Bearer {create_token(service.account, 'nightly')[1]}"})


def test_it_knows_that_it_is_one(program: Client, as_owner: Client) -> None:
    assert program.get("/api/me/").json()["is_service"] is True
    assert as_owner.get("/api/me/").json()["is_service"] is False


def test_accounts_and_teams(program: Client, as_owner: Client) -> None:
    told = {one["username"]: one["is_service"] for one in as_owner.get("/api/accounts/").json()}
    assert told == {"ann": False, "bob": False, "loader": True}
    (team,) = as_owner.get("/api/teams/").json()
    assert (team["members"], team["service_accounts"]) == (["ann", "bob"], ["loader"])


def test_owners_and_authors(program: Client, as_owner: Client, owner: User, post: Post) -> None:
    create_query(owner, "late", THREE_WAY)
    made = post(program, "/api/queries/", {"name": "windy", "sql": TWO_WAY}).json()
    shown = {one["name"]: one["owner_is_service"] for one in as_owner.get("/api/queries/").json()}
    assert shown == {"late": False, "windy": True}
    assert owner_text(query(made).owner, query(made).owner_is_service) == "loader (service)"
    stream = as_owner.get("/api/streams/weather/").json()
    assert (stream["owner"], stream["owner_is_service"]) == ("loader", True)
    (version,) = as_owner.get(f"/api/queries/{made['id']}/versions/").json()
    assert (version["created_by"], version["created_by_is_service"]) == ("loader", True)
    impact = as_owner.get("/api/streams/weather/impact/").json()
    assert {one["name"]: one["owner_is_service"] for one in impact["queries"]} == shown
    assert post(program, "/api/alerts/", RULE).json()["owner_is_service"] is True
    assert post(as_owner, "/api/alerts/", RULE).json()["owner_is_service"] is False
    told = {one["owner"]: one["owner_is_service"] for one in as_owner.get("/api/alerts/").json()}
    assert told == {"ann": False, "loader": True}


def test_who_applied_a_directory_and_pays_of_a_plan(program: Client, as_owner: Client, post: Post) -> None:
    (topology,) = post(program, "/api/directory/plan/", DIRECTORY).json()["topologies"]
    assert [(one["owner"], one["owner_is_service"]) for one in topology["shares"]] == [("loader", True)]
    assert post(program, "/api/directory/apply/", DIRECTORY).status_code == 200
    applied = as_owner.get("/api/queries/").json()[0]["applied"]
    assert (applied["by"], applied["by_is_service"]) == ("loader", True)


def test_the_audit(
    program: Client, service: ServiceAccount, as_owner: Client, owner: User, post: Post
) -> None:
    made = post(program, "/api/queries/", {"name": "windy", "sql": TWO_WAY}).json()
    post(program, f"/api/queries/{made['id']}/deploy/", {"topology": "flights"})
    deploy_query(owner, create_query(owner, "late", THREE_WAY), "flights")
    newest, oldest = as_owner.get("/api/topologies/flights/audit/").json()
    assert (newest["account"], newest["account_is_service"]) == ("ann", False)
    assert (oldest["account"], oldest["account_is_service"]) == ("loader", True)


def test_lists_cost_no_more_with_it(program: Client, as_owner: Client, post: Post) -> None:
    def cost(path: str) -> int:
        with CaptureQueriesContext(connection) as seen:
            assert as_owner.get(path).status_code == 200
        return len(seen)

    post(program, "/api/queries/", {"name": "first", "sql": TWO_WAY})
    paths = (
        "/api/queries/",
        "/api/streams/",
        "/api/accounts/",
        "/api/teams/",
        "/api/streams/weather/impact/",
    )
    one = {path: cost(path) for path in paths}
    for number in range(3):
        User.objects.create_user(f"person{number}")
        Team.objects.get().members.add(User.objects.get(username=f"person{number}"))
        post(program, "/api/queries/", {"name": f"more{number}", "sql": TWO_WAY})
    assert Query.objects.count() == 4
    assert {path: cost(path) for path in paths} == one
