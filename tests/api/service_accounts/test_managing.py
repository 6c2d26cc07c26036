"""Who makes service accounts and their tokens, and what ends them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.models import Quota, ServiceAccount, Team
from backend.alerts.models import AlertRule
from backend.audit.models import AuditEntry
from backend.catalog.models import Query
from backend.errors import Forbidden
from backend.service_accounts import actions
from backend.streams.models import Stream
from backend.tokens.actions import create_token
from backend.tokens.models import Token
from tests.api.conftest import THREE_WAY, TWO_WAY, signed_in

pytestmark = pytest.mark.django_db
Post = Callable[..., Any]
JSON = "application/json"
EVENT = {"at": "2026-01-01T00:00:00Z", "origin": "JFK", "wind": 21.5}
STREAM = {"name": "gates", "event_time": "at", "columns": [{"name": "at", "type": "timestamp"}]}


def with_token(secret: str) -> Client:
    return Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {secret}"})


def url_of(team: Team, service: ServiceAccount | None = None, rest: str = "") -> str:
    one = "" if service is None else f"{service.pk}/"
    return f"/api/teams/{team.pk}/service-accounts/{one}{rest}"


@pytest.fixture
def as_admin_member(admin: User, team: Team) -> Client:
    team.members.add(admin)
    return signed_in(admin)


def test_an_admin_makes_one_with_a_token_that_acts_for_the_team(
    as_admin: Client, team: Team, streams: dict[str, Stream], query: Query, post: Post
) -> None:
    Query.objects.update(team=team)
    made = post(as_admin, url_of(team), {"name": "loader"})
    assert made.status_code == 201
    service = ServiceAccount.objects.get()
    shown = made.json()
    assert (shown["id"], shown["name"], shown["enabled"]) == (service.pk, "loader", True)
    assert as_admin.get(url_of(team)).json() == [shown]
    token = post(as_admin, url_of(team, service, "tokens/"), {"name": "nightly"}).json()
    (listed,) = as_admin.get(url_of(team, service, "tokens/")).json()
    assert listed == {key: value for key, value in token.items() if key != "secret"}
    program = with_token(token["secret"])
    me = program.get("/api/me/").json()
    assert (me["username"], me["role"], me["teams"]) == ("loader", "author", ["airside"])
    body = {"description": "by night"}
    assert program.patch(f"/api/queries/{query.pk}/", body, content_type=JSON).status_code == 200
    assert program.post("/api/streams/", STREAM, content_type=JSON).status_code == 201
    assert Stream.objects.get(name="gates").owner == service.account
    assert program.delete("/api/streams/weather/").status_code == 403, "ann's, and no team's"
    assert program.post("/api/topologies/flights/stop/", content_type=JSON).status_code in (403, 404)


def test_a_token_goes_as_far_as_the_service_account_and_ends(
    as_admin: Client, team: Team, service: ServiceAccount, streams: dict[str, Stream], post: Post
) -> None:
    tokens = url_of(team, service, "tokens/")
    refused = post(as_admin, tokens, {"name": "station", "stream": "weather"})
    assert refused.status_code == 403, "an admin may write there, the service account may not"
    Stream.objects.update(team=team)
    end = timezone.now() + timedelta(days=1)
    body = {"name": "station", "stream": "weather", "expires_at": end.isoformat()}
    program = with_token(post(as_admin, tokens, body).json()["secret"])
    assert program.post("/api/streams/weather/events/", EVENT, content_type=JSON).status_code == 202
    assert program.get("/api/me/").status_code == 403
    past = {"name": "old", "expires_at": (timezone.now() - timedelta(days=1)).isoformat()}
    assert post(as_admin, tokens, past).status_code == 400
    Token.objects.update(expires_at=timezone.now())
    assert program.post("/api/streams/weather/events/", EVENT, content_type=JSON).status_code == 403


def test_nobody_else_manages_it(
    team: Team,
    service: ServiceAccount,
    as_owner: Client,
    as_outsider: Client,
    as_viewer: Client,
    viewer: User,
    as_operator: Client,
    anonymous: Client,
) -> None:
    """Members see it, whatever their role; who is not in the team does not, operators included."""
    record, _ = create_token(service.account, "nightly")
    one, tokens = url_of(team, service), url_of(team, service, "tokens/")
    asked: list[tuple[str, str, object]] = [
        ("post", url_of(team), {"name": "other"}),
        ("put", one, {"enabled": False}),
        ("delete", one, None),
        ("get", tokens, None),
        ("post", tokens, {"name": "mine"}),
        ("delete", f"{tokens}{record.pk}/", None),
    ]

    def all_are(client: Client, status: int) -> None:
        for method, url, body in asked:
            answer = getattr(client, method)(url, body, content_type=JSON)
            assert answer.status_code == status, (method, url, answer.content)

    for client in (as_outsider, as_viewer, as_operator):
        all_are(client, 404)
        assert client.get(url_of(team)).status_code == 404
    all_are(anonymous, 403)
    team.members.add(viewer)
    Team.objects.create(name="cargo").members.add(User.objects.get(username="zoe"))
    for client in (as_owner, as_viewer):
        all_are(client, 403)
        assert [shown["name"] for shown in client.get(url_of(team)).json()] == ["loader"]
    all_are(as_outsider, 404)
    assert list(Token.objects.all()) == [record]
    assert User.objects.get(pk=service.pk).is_active


def test_no_token_manages_it(admin: User, team: Team, service: ServiceAccount, as_admin: Client) -> None:
    service.account.groups.add(Group.objects.get(name="admins"))
    record, own = create_token(service.account, "nightly")
    for secret in (own, create_token(admin, "laptop")[1]):
        program = with_token(secret)
        tokens = url_of(team, service, "tokens/")
        answers = [
            program.get(url_of(team)),
            program.post(url_of(team), {"name": "more"}, content_type=JSON),
            program.put(url_of(team, service), {"enabled": True}, content_type=JSON),
            program.delete(url_of(team, service)),
            program.get(tokens),
            program.post(tokens, {"name": "more"}, content_type=JSON),
            program.delete(f"{tokens}{record.pk}/"),
            program.post("/api/tokens/", {"name": "more"}, content_type=JSON),
            program.delete(f"/api/tokens/{record.pk}/"),
            program.patch(f"/api/teams/{team.pk}/", {"private": False}, content_type=JSON),
        ]
        wanted = [403] * 9 + [403 if secret == own else 200]
        assert [answer.status_code for answer in answers] == wanted
    assert ServiceAccount.objects.count() == 1
    assert Token.objects.count() == 2


def test_it_is_not_found_by_another_teams_address(
    as_admin: Client, team: Team, service: ServiceAccount, owner: User
) -> None:
    record, _ = create_token(owner, "laptop")
    other = Team.objects.create(name="cargo")
    person = f"/api/teams/{team.pk}/service-accounts/{owner.pk}/"
    for url in (url_of(other, service), person):
        assert as_admin.put(url, {"enabled": False}, content_type=JSON).status_code == 404
        assert as_admin.delete(url).status_code == 404
        assert as_admin.get(f"{url}tokens/").status_code == 404
    assert as_admin.delete(url_of(team, service, f"tokens/{record.pk}/")).status_code == 404
    assert User.objects.get(pk=owner.pk).is_active
    assert Token.objects.get() == record


@pytest.mark.parametrize("name", ["", "Loader", "9to5", "a b", "a" * 64, "löader", "a\nb"])
def test_names_are_plain(as_admin: Client, team: Team, post: Post, name: str) -> None:
    assert post(as_admin, url_of(team), {"name": name}).status_code == 400


def test_a_name_is_one_accounts(as_admin: Client, team: Team, service: ServiceAccount, post: Post) -> None:
    User.objects.create_user("Kim")
    for name in ("loader", "kim", "ann"):
        answer = post(as_admin, url_of(team), {"name": name})
        assert (answer.status_code, answer.json()["code"]) == (409, "name-taken"), name
    assert ServiceAccount.objects.count() == 1


def test_a_team_has_so_many(as_admin: Client, team: Team, settings: Settings, post: Post) -> None:
    settings.MILLRACE_SERVICE_ACCOUNTS = 2.0
    for name in ("one", "two"):
        assert post(as_admin, url_of(team), {"name": name}).status_code == 201
    refused = post(as_admin, url_of(team), {"name": "three"})
    assert (refused.status_code, refused.json()["code"]) == (409, "too-many-service-accounts")
    assert "airside has 2 of 2 service accounts" in refused.json()["detail"]
    assert not User.objects.filter(username="three").exists()
    other = Team.objects.create(name="cargo")
    assert post(as_admin, url_of(other), {"name": "three"}).status_code == 201
    assert (
        as_admin.delete(url_of(team, ServiceAccount.objects.get(account__username="one"))).status_code == 204
    )
    assert post(as_admin, url_of(team), {"name": "four"}).status_code == 201


def test_quotas_hold_as_for_persons(
    as_admin: Client, team: Team, service: ServiceAccount, streams: object, post: Post
) -> None:
    Quota.objects.create(account=service.account, queries=1, tokens=1)
    tokens = url_of(team, service, "tokens/")
    program = with_token(post(as_admin, tokens, {"name": "nightly"}).json()["secret"])
    refused = post(as_admin, tokens, {"name": "more"})
    assert (refused.status_code, refused.json()["code"]) == (409, "too-many-tokens")
    assert not AuditEntry.objects.filter(name="more").exists()
    first, second = ({"name": name, "sql": TWO_WAY} for name in ("first", "second"))
    assert program.post("/api/queries/", first, content_type=JSON).status_code == 201
    assert program.post("/api/queries/", second, content_type=JSON).json()["code"] == "too-many-queries"


def test_while_it_is_disabled_no_token_counts(
    as_admin: Client, team: Team, service: ServiceAccount, post: Post
) -> None:
    record, secret = create_token(service.account, "nightly")
    program = with_token(secret)
    assert program.get("/api/me/").status_code == 200
    shown = as_admin.put(url_of(team, service), {"enabled": False}, content_type=JSON).json()
    assert shown["enabled"] is False
    assert program.get("/api/me/").status_code == 403
    refused = post(as_admin, url_of(team, service, "tokens/"), {"name": "more"})
    assert (refused.status_code, refused.json()["code"]) == (409, "disabled")
    as_admin.put(url_of(team, service), {"enabled": True}, content_type=JSON)
    assert program.get("/api/me/").status_code == 200
    assert as_admin.delete(url_of(team, service, f"tokens/{record.pk}/")).status_code == 204
    assert program.get("/api/me/").status_code == 403


def test_once_it_is_deleted_no_token_counts(
    as_admin: Client, team: Team, service: ServiceAccount, streams: object
) -> None:
    program = with_token(create_token(service.account, "nightly")[1])
    assert program.get("/api/me/").status_code == 200
    rule = {"name": "night", "channel": "webhook", "target": "https://example.org/hook"}
    assert program.post("/api/alerts/", rule, content_type=JSON).status_code == 201
    assert as_admin.delete(url_of(team, service)).status_code == 204
    assert program.get("/api/me/").status_code == 403
    assert not User.objects.filter(username="loader").exists()
    assert not AlertRule.objects.exists()


def test_who_owns_something_is_not_deleted(
    as_admin: Client, team: Team, service: ServiceAccount, streams: dict[str, Stream]
) -> None:
    program = with_token(create_token(service.account, "nightly")[1])
    made = program.post("/api/queries/", {"name": "late", "sql": THREE_WAY}, content_type=JSON).json()
    url = url_of(team, service)
    refused = as_admin.delete(url)
    assert (refused.status_code, refused.json()["code"]) == (409, "owns-something")
    assert "loader owns or wrote late" in refused.json()["detail"]
    assert Token.objects.count() == 1
    assert not AuditEntry.objects.filter(verb="delete").exists()
    handed = as_admin.post(
        f"/api/queries/{made['id']}/transfer/", {"owner": "ann", "team": "airside"}, content_type=JSON
    )
    assert handed.status_code == 200
    assert as_admin.delete(url).status_code == 409, "its versions say who wrote them"
    assert as_admin.delete(f"/api/queries/{made['id']}/").status_code == 204
    assert as_admin.delete(url).status_code == 204


def test_it_stays_when_who_made_it_leaves(
    as_admin_member: Client, admin: User, team: Team, streams: object, post: Post
) -> None:
    post(as_admin_member, url_of(team), {"name": "loader"})
    service = ServiceAccount.objects.get()
    secret = post(as_admin_member, url_of(team, service, "tokens/"), {"name": "nightly"}).json()["secret"]
    program = with_token(secret)
    assert (
        program.post("/api/queries/", {"name": "late", "sql": THREE_WAY}, content_type=JSON).status_code
        == 201
    )
    team.members.remove(admin)
    User.objects.filter(pk=admin.pk).update(is_active=False)
    assert program.get("/api/me/").json()["teams"] == ["airside"]
    admin.delete()
    assert program.get("/api/me/").json()["teams"] == ["airside"]
    assert Query.objects.get(name="late").owner == service.account


def test_the_audit_trail_has_each_change(as_admin: Client, admin: User, team: Team, post: Post) -> None:
    service_url = url_of(team) + f"{post(as_admin, url_of(team), {'name': 'loader'}).json()['id']}/"
    made = post(as_admin, f"{service_url}tokens/", {"name": "nightly"}).json()
    as_admin.delete(f"{service_url}tokens/{made['id']}/")
    for enabled in (False, True):
        as_admin.put(service_url, {"enabled": enabled}, content_type=JSON)
    as_admin.delete(service_url)
    entries = AuditEntry.objects.filter(account=admin).exclude(kind="account").order_by("pk")
    assert [(one.verb, one.kind, one.name, one.team) for one in entries] == [
        ("create", "service account", "loader", "airside"),
        ("create", "token", "nightly", ""),
        ("revoke", "token", "nightly", ""),
        ("disable", "service account", "loader", "airside"),
        ("enable", "service account", "loader", "airside"),
        ("delete", "service account", "loader", "airside"),
    ]
    assert entries[1].changes["owner"] == [None, "loader"]
    of_loader = AuditEntry.objects.filter(kind="account", name="loader")
    assert not of_loader.exists(), "each change is told once"


def test_actions_ask_themselves(team: Team, service: ServiceAccount, owner: User) -> None:
    record, _ = create_token(service.account, "nightly")
    attempts: list[Callable[[], object]] = [
        lambda: actions.create_service_account(owner, team, "other"),
        lambda: actions.set_enabled(owner, service, False),
        lambda: actions.delete_service_account(owner, service),
        lambda: actions.create_service_token(owner, service, "mine", None, None),
        lambda: actions.revoke_service_token(owner, service, record),
    ]
    for attempt in attempts:
        with pytest.raises(Forbidden):
            attempt()
    assert Token.objects.get() == record
