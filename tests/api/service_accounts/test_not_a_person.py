"""A service account has its team's rights and no more, and signs in by nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import authenticate, get_user
from django.contrib.auth.models import Group, User
from django.db.models import ProtectedError
from django.http import HttpRequest
from django.test import Client
from pytest_django import Settings

from backend.accounts.actions import create_operator
from backend.accounts.models import ServiceAccount, Team
from backend.accounts.queries import is_service, may_edit, operators, role_of
from backend.catalog.models import Query
from backend.second_factor.queries import is_required_of
from backend.service_accounts.sign_in import PersonBackend
from backend.tokens.actions import create_token
from tests.api.conftest import signed_in
from tests.api.sign_on.test_provider import authorized, provider  # noqa: F401

pytestmark = pytest.mark.django_db
PASSWORD = "long-enough-1"


def test_it_is_a_service_account_and_persons_are_none(service: ServiceAccount, owner: User) -> None:
    assert is_service(service.account)
    assert not is_service(owner)
    assert not service.account.has_usable_password()


def test_it_changes_what_its_team_has(service: ServiceAccount, query: Query, team: Team) -> None:
    Query.objects.update(team=team)
    assert role_of(service.account) == "author"
    assert may_edit(service.account, query.owner_id, team.pk)
    other = Team.objects.create(name="cargo")
    assert not may_edit(service.account, query.owner_id, other.pk)


@pytest.mark.parametrize("group", ["operators", "admins"])
def test_no_group_makes_it_an_operator_or_admin(service: ServiceAccount, group: str) -> None:
    service.account.groups.add(Group.objects.get_or_create(name=group)[0])
    User.objects.update(is_superuser=True, is_staff=True)
    account = User.objects.get(pk=service.pk)
    assert role_of(account) == "author"
    assert account not in operators()
    assert create_operator("loader", PASSWORD) == account
    assert role_of(User.objects.get(pk=service.pk)) == "author"
    secret = create_token(account, "nightly")[1]
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    assert program.get("/api/me/").json()["role"] == "author"
    assert program.get("/accounts/").status_code == 302


def test_it_may_be_made_to_read_alone(service: ServiceAccount) -> None:
    service.account.groups.add(Group.objects.get_or_create(name="viewers")[0])
    assert role_of(service.account) == "viewer"


def test_no_password_signs_it_in(service: ServiceAccount, owner: User) -> None:
    for password in ("", "!", service.account.password):
        answer = Client().post("/login/", {"username": "loader", "password": password})
        assert answer.status_code == 200, "the form again"
    # A command could give it one.
    service.account.set_password(PASSWORD)
    service.account.is_superuser = service.account.is_staff = True
    service.account.save()
    request = HttpRequest()
    assert authenticate(request, username="ann", password=PASSWORD) == owner
    assert authenticate(request, username="loader", password=PASSWORD) is None
    client = Client()
    form = {"username": "loader", "password": PASSWORD}
    assert client.post("/login/", form).status_code == 200
    assert client.get("/api/me/").status_code == 403
    assert client.get("/accounts/")["Location"].startswith("/login/")


def test_no_session_is_its_own(service: ServiceAccount, as_owner: Client) -> None:
    client = signed_in(service.account)
    for path in ("/api/me/", "/api/queries/", "/api/topologies/flights/events/"):
        assert client.get(path).status_code == 403, path
    assert client.get("/queries/").status_code == 302
    request = HttpRequest()
    request.session = client.session
    assert not get_user(request).is_authenticated
    request.session = as_owner.session
    assert get_user(request).is_authenticated


@pytest.mark.django_db(transaction=True)
def test_no_asynchronous_session_either(service: ServiceAccount, owner: User) -> None:
    backend = PersonBackend()
    assert asyncio.run(backend.aget_user(owner.pk)) == owner
    assert asyncio.run(backend.aget_user(service.pk)) is None


def test_the_provider_does_not_sign_it_in(provider: str, service: ServiceAccount, team: Team) -> None:  # noqa: F811
    SocialAccount.objects.create(user=service.account, provider="oidc", uid="bot")
    client = Client()
    answer = client.get(authorized(provider, client, "bot", groups=["night-shift"]))
    assert answer.status_code == 403
    assert "loader is a service account, which cannot sign in" in answer.content.decode()
    assert client.get("/api/me/").status_code == 403
    assert list(service.account.teams.all()) == [team], "no group has moved it"
    # Nor does somebody get it by its name.
    other = Client()
    other.get(authorized(provider, other, "kim", preferred_username="loader"))
    assert other.get("/api/me/").json()["username"] != "loader"


@pytest.mark.parametrize("wanted", ["admins", "everybody"])
def test_no_second_factor_is_asked_of_it(
    service: ServiceAccount, owner: User, settings: Settings, wanted: str
) -> None:
    settings.MILLRACE_SECOND_FACTOR = wanted
    User.objects.update(is_superuser=True)
    service, owner = ServiceAccount.objects.get(), User.objects.get(pk=owner.pk)
    assert is_required_of(owner)
    assert not is_required_of(service.account)
    program = Client(headers={"Authorization": f"Bearer {create_token(service.account, 'nightly')[1]}"})
    assert program.get("/api/queries/").status_code == 200


def test_its_team_is_not_deleted(service: ServiceAccount, team: Team, admin_client: Client) -> None:
    url = f"/api/teams/{team.pk}/"
    refused = admin_client.delete(url)
    assert (refused.status_code, refused.json()["code"]) == (409, "has-something")
    assert "loader" in refused.json()["detail"]
    with pytest.raises(ProtectedError):
        team.delete()
    service.account.delete()
    assert not ServiceAccount.objects.exists()
    assert admin_client.delete(url).status_code == 204
    assert not Team.objects.exists()


def test_admins_leave_it_in_its_team(
    service: ServiceAccount, team: Team, owner: User, outsider: User, admin_client: Client
) -> None:
    def change(whose: Team, **names: list[str]) -> Any:
        return admin_client.patch(f"/api/teams/{whose.pk}/members/", names, content_type="application/json")

    everybody = [one.username for one in team.members.filter(service_account=None)]
    assert change(team, add=["zoe"], remove=everybody).status_code == 200
    assert set(team.members.all()) == {outsider, service.account}
    other = Team.objects.create(name="cargo")
    for refused in (change(team, remove=["loader"]), change(other, add=["zoe", "loader"])):
        assert (refused.status_code, refused.json()["code"]) == (409, "service-account")
    assert service.account in team.members.all()
    assert not other.members.exists(), "all of it, or nothing"
    # Nor is it among the accounts of persons.
    for answer in (
        admin_client.patch(f"/api/persons/{service.pk}/", {"role": "admin"}, content_type="application/json"),
        admin_client.post(f"/api/persons/{service.pk}/password-link/"),
    ):
        assert answer.status_code == 404
    assert "loader" not in admin_client.get("/api/persons/").content.decode()
