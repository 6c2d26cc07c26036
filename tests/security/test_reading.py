"""Who reads what: a private team's things are its members', by one rule that every endpoint goes through."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import ProtectedError
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from pytest_django import Settings

from backend.accounts.models import Team
from backend.accounts.reading import Reads
from backend.audit.models import AuditEntry
from backend.catalog.actions import add_version, create_query
from backend.catalog.models import Query
from backend.catalog.queries import hidden_queries
from backend.streams.models import Stream
from backend.topologies.models import AskedQuery, Topology
from tests.api.conftest import TWO_WAY
from tests.api.test_every_endpoint import LETTERS, SQL, TABLE, World, world  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
OPEN_TO_ALL = {
    "LogoutView": "ends a session",
    "healthz": "says whether database and Redis answer",
    "readyz": "and whether migrations are missing",
    "icon": "the picture of the tab",
    "metrics": "for operators who read everything, and a token",
    "Login": "where one signs in",
    "SignInCode": "and its second step",
    "leave": "leads to the provider",
    "come_back": "and back",
    "RedirectView": "leads to where one signs in",
    "Schema": "the API's description",
    "Docs": "and its page",
    "ChoosePassword": "for who has the link to it",
}
"""Views of no rule, and why."""
SECRETS = ("windy", "spare", "weather", "departures", "arrivals", "airside", "flights", "Late in the wind")
"""What nobody outside the team may read of it: names and texts."""


def views(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for one in resolver.url_patterns:
        route = prefix + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from views(one, route)
        elif isinstance(one, URLPattern):
            callback = one.callback
            yield route, getattr(callback, "view_class", None) or getattr(callback, "cls", None) or callback


VIEWS = dict(views(get_resolver()))


def shape_of(path: str) -> str:
    """A path or route without the names of its parts."""
    return "/".join("X" if part[:1] in ("<", "{") else part for part in path.strip("/").split("/"))


def reads_of(path: str) -> Reads:
    """The rule of an operation of the OpenAPI document."""
    for route, view in VIEWS.items():
        if shape_of(route) == shape_of(path):
            rule = view.reads
            assert isinstance(rule, Reads)
            return rule
    raise AssertionError(f"no view answers {path}")


def test_every_view_says_by_which_rule_it_reads() -> None:
    unsaid = {
        route
        for route, view in VIEWS.items()
        if view.__name__ not in OPEN_TO_ALL and not isinstance(getattr(view, "reads", None), Reads)
    }
    assert len(VIEWS) > 80
    assert not unsaid, f"say by which rule they read (backend.accounts.reading.Reads): {sorted(unsaid)}"


def test_no_view_asks_a_table_past_the_rules() -> None:
    """Streams, queries, topologies and runs are asked for as somebody reads them."""
    kept = {
        "Stream",
        "Query",
        "QueryVersion",
        "Topology",
        "TopologyQuery",
        "Run",
        "Plan",
        "AlertRule",
        "Forecast",
    }
    found = []
    files = [*ROOT.glob("backend/*/api/*.py"), *ROOT.glob("backend/*/pages.py")]
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            is_table = isinstance(node, ast.Attribute) and node.attr == "objects"
            if is_table and isinstance(node.value, ast.Name) and node.value.id in kept:
                found.append(f"{file.relative_to(ROOT)}:{node.lineno}")
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "get_object_or_404":
                first = node.args[0]
                if isinstance(first, ast.Name) and first.id in kept:
                    found.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert len(files) > 40
    assert not found, f"past backend.accounts.reading: {found}"


@pytest.fixture
def private(team: Team, world: World) -> World:  # noqa: F811
    Team.objects.filter(pk=team.pk).update(private=True)
    return world


@pytest.mark.django_db
def test_a_second_user_of_another_team_sees_nothing(
    private: World, as_teammate: Client, as_outsider: Client
) -> None:
    wrong = []
    for (method, path), case in sorted(TABLE.items()):
        number = private.things["alert" if path.startswith("/api/alerts/") else "query"]
        changed = {key: private.things.get(value, value) for key, value in case.at.items()}
        url = path.format(**{"id": number, "name": "weather", **changed}) + f"?{case.query}"
        body = "" if case.body is None else json.dumps(case.body)
        rule = reads_of(path)
        for client in (as_outsider, as_teammate) if method == "get" else (as_outsider,):
            private.fill()
            with transaction.atomic():
                answer = client.generic(method.upper(), url, body, content_type="application/json")
                transaction.set_rollback(True)
            told = answer.content.decode()
            if client is as_teammate:
                if "teammate" in case.who and answer.status_code != case.status:
                    wrong.append(f"a member: {method} {url}: {answer.status_code}: {told[:200]}")
            elif rule in (Reads.TEAM, Reads.STREAM, Reads.QUERY, Reads.TOPOLOGY, Reads.RUN, Reads.ALERT):
                if answer.status_code != 404:
                    wrong.append(f"{method} {url}: {answer.status_code}, not 404: {told[:200]}")
            elif rule in (Reads.OPERATOR, Reads.ADMIN):
                if answer.status_code != 403:
                    wrong.append(f"{method} {url}: {answer.status_code}, not 403: {told[:200]}")
            elif method == "get":
                words = [word for word in SECRETS if word in told]
                if answer.status_code != 200 or words:
                    wrong.append(f"{method} {url}: {answer.status_code}, tells {words}: {told[:200]}")
            elif words := [word for word in SECRETS if word in told and word not in url + body]:
                wrong.append(f"{method} {url}: {answer.status_code}, tells {words}: {told[:200]}")
            elif path.startswith("/api/sql/") and "weather" in body and not path.endswith("format/"):
                is_refused = answer.status_code == 400 or '"ok":false' in told
                if path.endswith("unregistered/"):
                    # It is told as a table that there is not, of whose columns only the text is known.
                    is_refused = '{"name":"weather","columns"' in told and '"type":"' not in told
                if not is_refused or "departures[" in told or "windy" in told:
                    wrong.append(f"{method} {url}: {answer.status_code}: {told[:200]}")
    assert not wrong, "\n".join(wrong)


DESCRIBED = {shape_of(path) for _, path in TABLE}
"""Operations of the document, which the test above asks."""


@pytest.mark.django_db
def test_pages_and_live_events_are_not_found_either(private: World, as_outsider: Client) -> None:
    things = {
        Reads.QUERY: private.things["query"],
        Reads.STREAM: "weather",
        Reads.TOPOLOGY: "flights",
        Reads.RUN: private.things["run"],
        Reads.ALERT: private.things["alert"],
    }
    wrong, found = [], 0
    for route, view in VIEWS.items():
        if shape_of(route) in DESCRIBED or view.__name__ in OPEN_TO_ALL:
            continue
        if "<" not in route:
            answer = as_outsider.get(f"/{route}")
            if view.reads in (Reads.OPERATOR, Reads.ADMIN):
                if answer.status_code != 403:
                    wrong.append(f"/{route}: {answer.status_code}, not 403")
                continue
            told = "" if answer.status_code != 200 else answer.content.decode()
            words = [word for word in ("windy", "spare", "flights", "airside") if word in told]
            if answer.status_code != 200 or words:
                wrong.append(f"/{route}: {answer.status_code}, tells {words}")
            continue
        assert view.reads in things, f"/{route}: say here what to ask for"
        url = "/" + re.sub("<[^>]*>", things[view.reads], route)
        found += 1
        for ask in (as_outsider.get, as_outsider.head):
            if ask(url).status_code != 404:
                wrong.append(f"{url}: not 404")
    assert found >= 5
    assert not wrong, "\n".join(wrong)


@pytest.mark.django_db
def test_a_preview_has_no_words_for_what_is_not_read(private: World, as_outsider: Client) -> None:
    text = "SELECT weather.wind FROM weather [RANGE 1 HOUR] WHERE weather.wind > 20"
    answer = as_outsider.post("/api/sql/preview/", {"sql": text}, content_type="application/json")
    assert answer.status_code == 400
    assert "origin" not in answer.content.decode(), "no column is told, nor suggested"


@pytest.mark.django_db
def test_admins_read_all_and_operators_no_more_than_others(
    private: World, outsider: User, as_outsider: Client, as_operator: Client
) -> None:
    url = f"/api/queries/{private.things['query']}/"
    assert as_operator.get(url).status_code == 404
    assert as_operator.get("/api/topologies/flights/").json()["other_queries"] == 1, "they run it"
    assert as_operator.get("/metrics").status_code == 403
    outsider.groups.add(Group.objects.get(name="admins"))
    assert as_outsider.get(url).status_code == 200


@pytest.mark.django_db
def test_a_name_that_one_may_not_know_is_taken_and_no_more(
    private: World, as_outsider: Client, post: Any
) -> None:
    sql = "SELECT n.at FROM notes AS n WHERE n.at IS NOT NULL"
    stream = {"name": "notes", "event_time": "at", "columns": [{"name": "at", "type": "timestamp"}]}
    assert post(as_outsider, "/api/streams/", stream).status_code == 201
    for url, body in (
        ("/api/queries/", {"name": "windy", "sql": sql}),
        ("/api/streams/", {**stream, "name": "weather"}),
    ):
        answer = post(as_outsider, url, body)
        assert (answer.status_code, answer.json()["code"]) == (409, "name-taken")
        assert "ann" not in answer.content.decode()
    directory = {"name": "repo", "files": {"queries/windy.sql": sql}}
    planned = post(as_outsider, "/api/directory/plan/", directory).json()
    assert planned["refused"] == ["the name windy is taken"]
    assert planned["queries"][0]["sql_before"] is None


@pytest.mark.django_db
def test_a_private_installation_is_read_by_team_and_owner(
    private: World, team: Team, settings: Settings, as_outsider: Client, as_teammate: Client, as_owner: Client
) -> None:
    url = "/api/streams/weather/"
    Team.objects.update(private=None)
    assert as_outsider.get(url).status_code == 200
    settings.MILLRACE_PRIVATE = True
    assert [one.get(url).status_code for one in (as_outsider, as_teammate)] == [404, 200]
    Team.objects.update(private=False)
    assert as_outsider.get(url).status_code == 200, "one team may be open"
    Stream.objects.update(team=None)
    assert [one.get(url).status_code for one in (as_outsider, as_teammate, as_owner)] == [404, 404, 200]


@pytest.mark.django_db
def test_a_query_is_hidden_with_a_stream_or_a_view_that_it_reads(
    streams: dict[str, Stream], team: Team, owner: User, outsider: User
) -> None:
    Team.objects.filter(pk=team.pk).update(private=True)
    base = create_query(owner, "base", TWO_WAY)
    top = create_query(owner, "top", "SELECT b.flight FROM base AS b WHERE b.wind > 3")
    over = create_query(owner, "over", "SELECT t.flight FROM top AS t WHERE t.flight IS NOT NULL")
    other = create_query(owner, "other", "SELECT a.tail FROM arrivals AS a WHERE a.delay > 3")
    Query.objects.filter(pk=base.pk).update(team=team)
    assert hidden_queries(outsider) == {base.pk, top.pk, over.pk}
    assert hidden_queries(owner) == frozenset()
    Query.objects.update(team=None)
    Stream.objects.filter(name="arrivals").update(team=team)
    assert hidden_queries(outsider) == {other.pk}
    add_version(owner, other, "SELECT w.origin FROM weather AS w WHERE w.wind > 1")
    assert hidden_queries(outsider) == {other.pk}, "its older text shows the stream"


@pytest.mark.django_db
def test_an_open_stream_does_not_tell_of_a_private_reader(private: World, as_outsider: Client) -> None:
    Stream.objects.update(team=None)
    private.fill()
    url = "/api/streams/weather/"
    assert as_outsider.get(url).json()["query_count"] == 0
    assert as_outsider.get(f"{url}dead-letters/").json() == {"kept": 0, "letters": []}
    assert as_outsider.get(f"{url}arrivals/").json() == []
    assert as_outsider.get(f"{url}impact/").json() == {"queries": [], "topologies": [], "stores": []}
    stream = Stream.objects.get(name="weather")
    owner = stream.owner
    Stream.objects.update(owner=User.objects.get(username="zoe"))
    for action in ("discard", "redrive"):
        answer = as_outsider.post(f"{url}dead-letters/{action}/", LETTERS, content_type="application/json")
        assert (answer.status_code, answer.json()["code"]) == (409, "no-such-letter")
    refused = as_outsider.delete(url)
    assert refused.json()["detail"] == "queries read weather: it cannot be deleted"
    assert owner.username == "ann"


@pytest.mark.django_db
def test_the_name_of_a_private_team_is_none_to_others(
    private: World, operator: User, as_outsider: Client, as_operator: Client
) -> None:
    for client in (as_outsider, as_operator):
        for name in ("airside", "nowhere"):
            stream = {"name": "notes", "event_time": "at", "columns": [{"name": "at", "type": "timestamp"}]}
            body = {**stream, "team": name}
            answer = client.post("/api/streams/", body, content_type="application/json")
            assert (answer.status_code, answer.json()["code"]) == (409, "no-such-team")


@pytest.mark.django_db
def test_operators_learn_of_no_private_team_among_accounts(
    private: World, operator: User, as_operator: Client, admin_client: Client
) -> None:
    for url in ("/api/persons/", "/api/persons/?team=airside"):
        assert "airside" in admin_client.get(url).content.decode()
        assert "airside" not in as_operator.get(url).content.decode()
    assert as_operator.get("/api/persons/?team=airside").json()["persons"] == []
    Team.objects.get(name="airside").members.add(operator)
    assert "airside" in as_operator.get("/api/persons/?team=airside").content.decode()


@pytest.mark.django_db
def test_an_admin_makes_a_team_private_and_members_see_that(
    team: Team, as_owner: Client, as_outsider: Client, outsider: User
) -> None:
    url = f"/api/teams/{team.pk}/"
    body = {"private": True}
    assert as_outsider.patch(url, body, content_type="application/json").status_code == 404
    refused = as_owner.patch(url, body, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "admins-only")
    outsider.groups.add(Group.objects.get_or_create(name="admins")[0])
    assert as_outsider.patch(url, body, content_type="application/json").json()["is_private"] is True
    noted = AuditEntry.objects.get(kind="team", verb="change")
    assert (noted.account_name, noted.changes) == ("zoe", {"private": [None, True]})
    (shown,) = as_owner.get("/api/teams/").json()
    assert (shown["is_private"], shown["members"], shown["can_edit"]) == (True, ["ann", "bob"], False)


@pytest.mark.django_db
def test_a_team_that_has_something_is_not_deleted(private: World, team: Team, admin_client: Client) -> None:
    url = f"/api/teams/{team.pk}/"
    refused = admin_client.delete(url)
    assert (refused.status_code, refused.json()["code"]) == (409, "has-something")
    with pytest.raises(ProtectedError):
        team.delete()
    Query.objects.update(team=None)
    Stream.objects.update(team=None)
    left = AskedQuery.objects.create(topology=Topology.objects.get(), name="gone", team=team)
    with pytest.raises(ProtectedError):
        team.delete()
    left.delete()
    with pytest.raises(ProtectedError):
        team.delete()
    User.objects.get(username="loader").delete()
    assert admin_client.delete(url).status_code == 204
    assert not Team.objects.filter(pk=team.pk).exists()
