"""Accounts of persons: who makes, changes and deletes them, and how they come by a password."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import combinations
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.models import Team
from backend.accounts.queries import GROUPS, persons, role_of
from backend.audit.models import AuditEntry
from backend.catalog.models import Query
from backend.tokens.actions import create_token
from tests.api.conftest import signed_in

pytestmark = pytest.mark.django_db
JSON = "application/json"
PASSWORD = "quiet-water-19"


@pytest.fixture
def admin() -> User:
    account = User.objects.create_user("root", password=PASSWORD)
    account.groups.add(Group.objects.get_or_create(name="admins")[0])
    return account


@pytest.fixture
def as_admin(admin: User) -> Client:
    return signed_in(admin)


def make(client: Client, name: str, **fields: object) -> Any:
    return client.post("/api/persons/", {"username": name, **fields}, content_type=JSON)


def change(client: Client, account: User, **fields: object) -> Any:
    return client.patch(f"/api/persons/{account.pk}/", fields, content_type=JSON)


def sign_in(name: str, password: str) -> Client | None:
    client = Client()
    client.post("/login/", {"username": name, "password": password})
    return client if client.get("/api/me/").status_code == 200 else None


def choose(path: str, password: str, again: str | None = None) -> Any:
    """What a browser does with a link: follow it, and fill in the form."""
    browser = Client()
    led = browser.get(path)
    if led.status_code != 302:
        return led
    form = {"new_password1": password, "new_password2": password if again is None else again}
    return browser.post(led["Location"], form)


def test_the_role_in_the_database_is_the_role(db: None) -> None:
    groups = {name: Group.objects.get_or_create(name=name)[0] for name in (*GROUPS, "others")}
    for size in range(len(groups) + 1):
        for names in combinations(groups, size):
            for is_superuser in (False, True):
                account = User.objects.create(
                    username=f"{'-'.join(names)}{is_superuser}", is_superuser=is_superuser
                )
                account.groups.set([groups[name] for name in names])
    found = list(persons())
    assert len(found) == 64
    assert {one.username: one.role for one in found} == {one.username: role_of(one) for one in found}


def test_an_account_is_made_and_its_owner_chooses_a_password(as_admin: Client) -> None:
    answer = make(as_admin, "kim", email="kim@example.org", role="operator")
    assert answer.status_code == 201
    person, link = answer.json()["person"], answer.json()["link"]
    assert (person["role"], person["email"], person["teams"]) == ("operator", "kim@example.org", [])
    assert (person["signed_in_at"], person["has_second_factor"]) == (None, False)
    assert sign_in("kim", "") is None
    assert "errors" not in (page := choose(link["path"], PASSWORD, "another")).content.decode()
    assert "password fields" in page.content.decode()
    assert "at least 8" in choose(link["path"], "short").content.decode()
    assert choose(link["path"], PASSWORD)["Location"] == "/login/"
    client = sign_in("kim", PASSWORD)
    assert client is not None
    assert client.get("/api/me/").json()["role"] == "operator"
    # It is good once.
    assert "no longer" in choose(link["path"], "somebody-else-1").content.decode()
    assert sign_in("kim", PASSWORD) is not None
    told = [(one.verb, one.account_name) for one in AuditEntry.objects.filter(name="kim").order_by("pk")]
    assert told[:4] == [
        ("create", "root"),
        ("add roles", "root"),
        ("make password link", "root"),
        ("change", "kim"),
    ]


def test_a_link_is_good_for_some_days_and_for_an_account_that_is_as_it_was(
    as_admin: Client, owner: User, settings: Settings
) -> None:
    def link() -> str:
        path: str = as_admin.post(f"/api/persons/{owner.pk}/password-link/").json()["path"]
        return path

    first, second = link(), link()
    assert sign_in("ann", "long-enough-1") is not None, "the old password counts until then"
    assert "no longer" in choose(first, PASSWORD).content.decode(), "she knows it: she has signed in"
    assert "no longer" in choose(second, PASSWORD).content.decode()
    third = link()
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "no longer" in choose(third, PASSWORD).content.decode()
    settings.PASSWORD_RESET_TIMEOUT = 3600
    for wrong in ("/password/MQ/x/", "/password/nope/set-password/", third.replace("/", "/x", 1)):
        assert Client().get(wrong).status_code in (200, 404)
    mine = sign_in("ann", "long-enough-1")
    assert mine is not None
    assert choose(link(), PASSWORD)["Location"] == "/login/"
    assert mine.get("/api/me/").status_code == 403, "sessions of the old password are over"
    unused = link()
    assert change(as_admin, owner, is_active=False).status_code == 200
    assert "no longer" in choose(unused, "another-long-1").content.decode()
    refused = as_admin.post(f"/api/persons/{owner.pk}/password-link/")
    assert (refused.status_code, refused.json()["code"]) == (409, "disabled")


def test_who_comes_by_the_provider_gets_no_password(as_admin: Client) -> None:
    account = User.objects.create_user("kim")
    SocialAccount.objects.create(user=account, provider="oidc", uid="7")
    refused = as_admin.post(f"/api/persons/{account.pk}/password-link/")
    assert (refused.status_code, refused.json()["code"]) == (409, "by-provider")
    (shown,) = as_admin.get("/api/persons/?text=kim").json()["persons"]
    assert shown["by_provider"] is True


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "x" * 151, "<b>"])
def test_names_are_plain(as_admin: Client, name: str) -> None:
    assert list(make(as_admin, name).json()) == ["username"]


def test_a_name_is_one_accounts(as_admin: Client, owner: User) -> None:
    refused = make(as_admin, "Ann")
    assert (refused.status_code, refused.json()["code"]) == (409, "name-taken")
    assert list(make(as_admin, "kim", role="king").json()) == ["role"]
    assert list(make(as_admin, "kim", email="nowhere").json()) == ["email"]
    assert not User.objects.filter(username="kim").exists()


def test_a_role_counts_at_once(as_admin: Client, owner: User, as_owner: Client) -> None:
    for role in ("operator", "viewer", "admin", "author"):
        assert change(as_admin, owner, role=role).json()["role"] == role
        assert as_owner.get("/api/me/").json()["role"] == role
    changed = AuditEntry.objects.filter(name="ann", verb__in=("add roles", "remove roles"))
    assert {one.account_name for one in changed} == {"root"}
    root = User.objects.create_superuser("zero")
    assert change(as_admin, root, role="author").json()["role"] == "author"
    assert role_of(User.objects.get(pk=root.pk)) == "author"


def test_a_disabled_account_has_no_way_in(as_admin: Client, owner: User, as_owner: Client) -> None:
    secret = create_token(owner, "laptop")[1]
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    assert change(as_admin, owner, is_active=False).json()["is_active"] is False
    assert {one.get("/api/me/").status_code for one in (as_owner, program)} == {403}
    assert sign_in("ann", "long-enough-1") is None
    change(as_admin, owner, is_active=True)
    assert program.get("/api/me/").status_code == 200


def test_there_is_always_an_admin(as_admin: Client, admin: User, owner: User) -> None:
    for refused in (
        change(as_admin, admin, role="operator"),
        change(as_admin, admin, is_active=False),
        as_admin.delete(f"/api/persons/{admin.pk}/"),
    ):
        assert (refused.status_code, refused.json()["code"]) == (409, "last-admin")
    assert role_of(User.objects.get(pk=admin.pk)) == "admin", "nothing is half done"
    # One that is disabled does not count.
    change(as_admin, owner, role="admin", is_active=False)
    assert change(as_admin, admin, role="viewer").status_code == 409
    change(as_admin, owner, is_active=True)
    assert change(as_admin, admin, role="viewer").json()["role"] == "viewer"
    assert as_admin.get("/api/persons/").status_code == 403


def test_who_has_something_is_not_deleted(
    as_admin: Client, query: Query, owner: User, outsider: User
) -> None:
    refused = as_admin.delete(f"/api/persons/{owner.pk}/")
    assert (refused.status_code, refused.json()["code"]) == (409, "owns-something")
    assert "arrivals" in refused.json()["detail"]
    create_token(outsider, "laptop")
    assert as_admin.delete(f"/api/persons/{outsider.pk}/").status_code == 204
    assert not User.objects.filter(username="zoe").exists()
    assert AuditEntry.objects.get(verb="delete", name="zoe").account_name == "root"


def test_accounts_are_found_a_page_at_a_time(as_admin: Client, owner: User, team: Team) -> None:
    User.objects.bulk_create(User(username=f"p{n:03}", email=f"p{n}@example.org") for n in range(25))
    User.objects.filter(username="p007").update(is_active=False)
    team.members.add(User.objects.get(username="p003"))

    def found(query: str) -> list[str]:
        names: list[str] = []
        after = ""
        while True:
            page = as_admin.get(f"/api/persons/?{query}&limit=10&after={after}").json()
            names += [one["username"] for one in page["persons"]]
            if page["next"] is None:
                return names
            after = page["next"]

    everybody = found("")
    assert everybody == sorted(User.objects.values_list("username", flat=True))
    assert found("text=p01+example") == [f"p{n:03}" for n in range(10, 20)]
    assert found("active=false") == ["p007"]
    assert found("role=admin") == ["root"]
    assert "p003" in found("team=airside")
    assert found("team=nowhere") == []
    assert as_admin.get("/api/persons/?limit=0&role=king").status_code == 400


def test_the_page_of_accounts_asks_the_database_as_often_for_many(
    as_admin: Client, django_assert_max_num_queries: Any
) -> None:
    User.objects.bulk_create(User(username=f"p{n:03}") for n in range(80))
    with django_assert_max_num_queries(16):
        assert len(as_admin.get("/api/persons/").json()["persons"]) > 80


def test_sign_ins_are_told_and_ended(as_admin: Client, owner: User, settings: Settings) -> None:
    url = f"/api/persons/{owner.pk}/sign-ins/"
    assert as_admin.get(url).json() == {"sessions": [], "locks": []}
    browser = Client(headers={"User-Agent": "Chromium"})
    browser.post("/login/", {"username": "ann", "password": "long-enough-1"})
    other = sign_in("ann", "long-enough-1")
    assert other is not None
    shown = as_admin.get(url).json()["sessions"]
    assert [one["browser"] for one in shown][1:] == ["Chromium"]
    assert {one["address"] for one in shown} == {"127.0.0.1"}
    browser.post("/logout/")
    assert len(as_admin.get(url).json()["sessions"]) == 1, "what is over is not told"
    for _ in range(settings.AXES_FAILURE_LIMIT):
        sign_in("ann", "wrong-1")
    assert sign_in("ann", "long-enough-1") is None
    (lock,) = as_admin.get(url).json()["locks"]
    assert lock["address"] == "127.0.0.1"
    soon = timezone.now() + timedelta(seconds=settings.MILLRACE_LOGIN_WAIT_SECONDS)
    assert lock["until"] <= soon.isoformat()
    assert as_admin.delete(url).status_code == 204
    assert other.get("/api/me/").status_code == 403
    assert as_admin.get(url).json() == {"sessions": [], "locks": []}
    assert sign_in("ann", "long-enough-1") is not None
    verbs = AuditEntry.objects.filter(name="ann", account_name="root").values_list("verb", flat=True)
    assert {*verbs} >= {"end sessions", "unlock"}


def test_the_page_is_operators(as_admin: Client, as_operator: Client, as_owner: Client) -> None:
    for client, status in ((as_admin, 200), (as_operator, 200), (as_owner, 403)):
        assert client.get("/accounts/").status_code == status
    assert re.search(r'href="/accounts/"', as_operator.get("/").content.decode())
    assert 'href="/accounts/"' not in as_owner.get("/").content.decode()


def test_no_token_manages_accounts(admin: User, owner: User) -> None:
    program = Client(headers={"Authorization": f"Bearer {create_token(admin, 'laptop')[1]}"})
    assert program.get("/api/me/").json()["role"] == "admin"
    assert program.get("/api/persons/").status_code == 403
    assert make(program, "kim").status_code == 403
    assert program.post(f"/api/persons/{owner.pk}/password-link/").status_code == 403


def test_teams_are_made_changed_and_deleted(as_admin: Client, as_operator: Client, team: Team) -> None:
    def post(client: Client, name: object) -> Any:
        return client.post("/api/teams/", {"name": name}, content_type=JSON)

    assert post(as_operator, "night").status_code == 403
    made = post(as_admin, "Night shift").json()
    assert (made["name"], made["members"], made["max_state_tuples"]) == ("Night shift", [], None)
    for name in ("", " ", "a/b", "-x", "x" * 64, None):
        assert list(post(as_admin, name).json()) == ["name"], name
    assert post(as_admin, "night SHIFT").json()["code"] == "name-taken"
    url = f"/api/teams/{made['id']}/"

    def patch(**fields: object) -> Any:
        return as_admin.patch(url, fields, content_type=JSON)

    assert patch(name="airside").json()["code"] == "name-taken"
    assert patch(name="NIGHT").json()["name"] == "NIGHT"
    assert patch(name="night").json()["name"] == "night", "only the case differs"
    limits = {"max_state_tuples": 1e6, "max_tuple_rate": 5, "max_state_bytes": 1e9, "max_result_rate": None}
    shown = patch(**limits).json()
    assert {name: shown[name] for name in limits} == limits
    assert list(patch(max_state_tuples=0).json()) == ["max_state_tuples"]
    members = as_admin.patch(f"{url}members/", {"add": ["ann", "zed"]}, content_type=JSON)
    assert (members.status_code, members.json()["code"]) == (409, "no-account")
    assert as_admin.get("/api/teams/").json()[-1]["members"] == []
    members = as_admin.patch(f"{url}members/", {"add": ["ann", "bob"]}, content_type=JSON)
    assert members.json()["members"] == ["ann", "bob"]
    members = as_admin.patch(f"{url}members/", {"remove": ["bob"]}, content_type=JSON)
    assert members.json()["members"] == ["ann"]
    assert as_admin.delete(url).status_code == 204
    assert User.objects.filter(username="ann").exists()
