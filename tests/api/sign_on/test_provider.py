"""Sign-in by a provider that runs: its pages, its tokens and its claims, over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.test import Client
from oidc_provider_mock import run_server_in_thread
from pytest_django import Settings

from backend.accounts.models import Team
from backend.run.setting import free_port
from backend.second_factor.actions import activate

pytestmark = pytest.mark.django_db
START = "/sign-in/oidc/"


@pytest.fixture
def provider(settings: Settings) -> Iterator[str]:
    with run_server_in_thread() as server:
        url = f"http://localhost:{server.server_port}"
        configure(settings, url)
        yield url


def configure(settings: Settings, url: str) -> None:
    [app] = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]
    known = {"provider_id": "oidc", "name": "the airport", "client_id": "millrace", "secret": "quiet"}
    changed = {**app, **known, "settings": {"server_url": url}}
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [changed]}}
    settings.MILLRACE_OIDC_URL = url
    settings.MILLRACE_OIDC_NAME = "the airport"
    settings.MILLRACE_OIDC_TEAMS = "flight-ops=airside, night-shift=night"


def authorized(provider: str, client: Client, subject: str, path: str = START, **claims: object) -> str:
    """Where the provider sends the browser back to, once somebody has said there who they are."""
    requests.put(f"{provider}/users/{subject}", json=claims, timeout=20).raise_for_status()
    sent = client.get(path)
    assert sent.status_code == 302
    asked = parse_qs(urlsplit(sent["Location"]).query)
    assert (asked["code_challenge_method"], asked["response_type"]) == (["S256"], ["code"])
    said = requests.post(sent["Location"], data={"sub": subject}, allow_redirects=False, timeout=20)
    assert said.status_code == 302, said.text
    back = urlsplit(said.headers["Location"])
    assert back.path == "/sign-in/oidc/callback/"
    return f"{back.path}?{back.query}"


def sign_in(provider: str, subject: str, **claims: object) -> Client:
    client = Client()
    answer = client.get(authorized(provider, client, subject, **claims))
    assert answer.status_code == 302, answer.content
    assert answer["Location"] == "/"
    return client


def me(client: Client) -> dict[str, object]:
    return client.get("/api/me/").json()  # type: ignore[no-any-return]


def test_who_the_provider_knows_has_an_account_and_the_teams_of_its_groups(provider: str) -> None:
    shown = Client().get("/login/?next=/streams/").content.decode()
    assert "Sign in with the airport" in shown
    assert "next=/streams/" in shown
    client = sign_in(provider, "7f3", preferred_username="kim", groups=["flight-ops", "golf"])
    assert me(client)["username"] == "kim"
    assert me(client)["role"] == "author"
    assert me(client)["teams"] == ["airside"]
    account = User.objects.get(username="kim")
    assert not account.has_usable_password()
    assert not account.is_staff
    assert 7.9 * 3600 < client.session.get_expiry_age() <= 8 * 3600


def test_teams_follow_the_groups_at_every_sign_in(provider: str) -> None:
    other = Team.objects.create(name="cargo")
    sign_in(provider, "7f3", preferred_username="kim", groups=["flight-ops"])
    account = User.objects.get(username="kim")
    other.members.add(account)
    client = sign_in(provider, "7f3", preferred_username="kim", groups="night-shift")
    assert sorted(me(client)["teams"]) == ["cargo", "night"]  # type: ignore[call-overload]
    client = sign_in(provider, "7f3", preferred_username="kim")
    assert me(client)["teams"] == ["cargo"], "a team that no group stands for is left alone"
    assert User.objects.count() == 1


def test_neither_a_name_nor_an_address_gets_somebody_elses_account(provider: str) -> None:
    ann = User.objects.create_user("ann", "ann@example.org", "quiet-water-19", is_staff=True)
    client = sign_in(provider, "evil", preferred_username="ann", email="ann@example.org", email_verified=True)
    assert me(client)["username"] != "ann"
    assert SocialAccount.objects.get(uid="evil").user_id != ann.pk
    # And who is called otherwise at the provider tomorrow is the same account here.
    again = sign_in(provider, "evil", preferred_username="root")
    assert me(again)["username"] == me(client)["username"]


def test_nobody_links_their_subject_to_an_account_that_is_signed_in(provider: str) -> None:
    """Who is brought to these pages by another site would give that site's owner their account."""
    ann = User.objects.create_user("ann", password="quiet-water-19")
    client = Client()
    back = authorized(provider, client, "evil", path=f"{START}?process=connect")
    client.force_login(ann)
    answer = client.get(f"{START}?process=connect")
    assert (answer.status_code, answer["Location"]) == (302, "/login/")
    client.get(back)
    assert not SocialAccount.objects.filter(user=ann).exists()


def test_one_goes_where_one_wanted_to_and_to_no_other_site(provider: str) -> None:
    for wanted, found in (("/streams/", "/streams/"), ("https://example.org/", "/"), ("//example.org", "/")):
        client = Client()
        back = authorized(provider, client, "7f3", path=f"{START}?next={wanted}")
        assert client.get(back)["Location"] == found


def test_who_may_not_come_in_has_no_session(provider: str) -> None:
    client = sign_in(provider, "7f3", preferred_username="kim")
    User.objects.update(is_active=False)
    assert client.get("/api/me/").status_code == 403
    again = Client()
    answer = again.get(authorized(provider, again, "7f3"))
    assert answer.status_code == 302
    assert again.get("/api/me/").status_code == 403


def test_groups_that_cannot_be_read_sign_nobody_in(provider: str) -> None:
    client = Client()
    answer = client.get(authorized(provider, client, "7f3", groups={"flight-ops": True}))
    assert answer.status_code == 403
    assert "claim groups: found dict, expected a text or a list of texts" in answer.content.decode()
    assert not User.objects.exists()
    assert client.get("/api/me/").status_code == 403


def test_a_code_is_for_the_session_that_asked_and_once(provider: str) -> None:
    client = Client()
    back = authorized(provider, client, "7f3")
    assert Client().get(back).status_code == 401, "another browser has no such state"
    assert client.get(back).status_code == 302
    again = Client()
    assert again.get(back).status_code == 401
    assert again.get("/api/me/").status_code == 403


def test_a_provider_that_is_away_is_told(settings: Settings) -> None:
    configure(settings, f"http://localhost:{free_port()}")
    answer = Client().get(START)
    assert answer.status_code == 502
    assert "or was not reached" in answer.content.decode()


def test_without_a_provider_there_is_no_way_to_one() -> None:
    assert "Sign in with" not in Client().get("/login/").content.decode()
    for path in (START, "/sign-in/oidc/callback/?code=1&state=2"):
        answer = Client().get(path)
        assert (answer.status_code, answer["Location"]) == (302, "/login/")


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("MILLRACE_OIDC_URL", "http://sso.example.org", "millrace.E030"),
        ("MILLRACE_OIDC_URL", "sso.example.org", "millrace.E030"),
        ("MILLRACE_OIDC_URL", "https://sso.example.org/realms/a", None),
        ("MILLRACE_OIDC_TEAMS", "flight-ops", "millrace.E031"),
        ("MILLRACE_OIDC_TEAMS", "cn=ops,dc=x=airside", None),
    ],
)
def test_what_is_wrong_in_the_environment_is_told(
    settings: Settings, name: str, value: str, fault: str | None
) -> None:
    setattr(settings, name, value)
    found = {one.id for one in run_checks()} & {"millrace.E030", "millrace.E031"}
    assert found == ({fault} if fault else set())


def test_who_has_a_second_factor_is_asked_for_it_behind_the_provider(provider: str) -> None:
    sign_in(provider, "7f3", preferred_username="kim")
    account = User.objects.get(username="kim")
    now = int(time.time()) // 30
    codes = activate(account, "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", now - 1)[1]
    client = Client()
    answer = client.get(authorized(provider, client, "7f3", groups=["flight-ops"]))
    assert answer["Location"] == "/login/code/"
    assert client.get("/api/me/").status_code == 403
    assert client.get("/streams/")["Location"] == "/login/?next=/streams/"
    assert client.post("/login/code/", {"code": codes[0]})["Location"] == "/"
    assert me(client)["username"] == "kim"
