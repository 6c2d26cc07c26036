"""A second factor: got, asked for at every way in, guessed, replayed, lost, and compulsory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.core.checks import run_checks
from django.test import Client
from pytest_django import Settings

from backend.audit.models import AuditEntry
from backend.live.sse.admission import Admission, QuerySeen, no_longer_hold
from backend.second_factor.actions import activate
from backend.second_factor.codes import spend
from backend.tokens.actions import create_token

pytestmark = pytest.mark.django_db
PASSWORD = "long-enough-1"
KEY = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
PAGE = "/account/security/"


class Clock:
    """The time by which codes are made and looked at."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def time(self) -> float:
        return self.now

    def code(self, key: str = KEY, steps: int = 0) -> str:
        """What an app shows, so many steps of half a minute from now."""
        return totp.format_hotp_value(totp.hotp_value(key, int(self.now) // 30 + steps))  # type: ignore[no-any-return]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr("allauth.mfa.totp.internal.auth.time", made)
    monkeypatch.setattr("backend.second_factor.codes.time", made)
    yield made
    cache.clear()


@pytest.fixture
def codes(owner: User, clock: Clock) -> list[str]:
    """The owner has a factor; its recovery codes."""
    return activate(owner, KEY, int(clock.now) // 30 - 1)[1]


def password(client: Client, name: str = "ann", **form: str) -> Any:
    return client.post("/login/", {"username": name, "password": PASSWORD, **form})


def give(client: Client, code: str) -> Any:
    return client.post("/login/code/", {"code": code})


def is_in(client: Client) -> bool:
    return client.get("/api/me/").status_code == 200


def signed_in(clock: Clock) -> Client:
    client = Client()
    password(client)
    assert give(client, clock.code())["Location"] == "/"
    return client


def problem_of(answer: Any) -> str:
    found = re.search(r'role="alert">([^<]*)<', answer.content.decode())
    return unescape(found[1]) if found else ""


def test_a_person_activates_it_and_signs_in_by_a_code(owner: User, clock: Clock) -> None:
    client = Client()
    assert password(client)["Location"] == "/", "without a factor the password is enough"
    shown = client.get(PAGE).content.decode()
    assert "data:image/svg+xml;base64," in shown
    found = re.search(r'class="secret">([A-Z2-7 ]+)<', shown)
    assert found is not None
    key = found[1].replace(" ", "")
    form = {"change": "activate", "code": clock.code(key), "confirmation": PASSWORD}
    assert "not the code" in problem_of(client.post(PAGE, {**form, "code": "000000"}))
    assert problem_of(client.post(PAGE, {**form, "confirmation": "no"})) == "wrong password"
    assert not Authenticator.objects.exists()
    made = client.post(PAGE, form)
    recovery = re.findall(r'class="secret">(\d{8})<', made.content.decode())
    assert len(set(recovery)) == 10
    assert 'download="millrace-recovery-codes.txt"' in made.content.decode()
    assert "no-store" in made["Cache-Control"]
    again = client.get(PAGE).content.decode()
    assert "10 recovery codes left" in again
    assert not [code for code in recovery if code in again], "shown once"
    assert is_in(client), "who activates it has proven it"
    for one in Authenticator.objects.all():
        assert key not in str(one.data), "a copy of the database gives it not away"

    other = Client()
    step = password(other, next="/streams/")
    assert step["Location"] == "/login/code/"
    assert not is_in(other)
    assert other.get("/streams/").status_code == 302
    assert WRONG in problem_of(give(other, clock.code(key))), "it was used to activate"
    clock.now += 30
    assert give(other, clock.code(key))["Location"] == "/streams/"
    assert is_in(other)


WRONG = "wrong or used code"


@pytest.mark.parametrize("steps", [-1, 0, 1])
def test_clocks_may_differ_by_a_step(codes: list[str], clock: Clock, steps: int) -> None:
    clock.now += 60
    client = Client()
    password(client)
    assert give(client, clock.code(steps=steps)).status_code == 302


@pytest.mark.parametrize("steps", [-2, 2])
def test_older_and_later_codes_do_not_count(codes: list[str], clock: Clock, steps: int) -> None:
    clock.now += 90
    client = Client()
    password(client)
    assert WRONG in problem_of(give(client, clock.code(steps=steps)))


def test_a_code_signs_in_once(codes: list[str], clock: Clock) -> None:
    """In any web process, and none that is older than it."""
    signed_in(clock)
    cache.clear()
    for steps in (0, -1):
        client = Client()
        password(client)
        assert WRONG in problem_of(give(client, clock.code(steps=steps)))
        assert not is_in(client)


def test_a_recovery_code_signs_in_once(codes: list[str], clock: Clock) -> None:
    for expected in (302, 200):
        client = Client()
        password(client)
        assert give(client, codes[3]).status_code == expected
    assert "9 recovery codes left" in signed_in(clock).get(PAGE).content.decode()


def test_who_guesses_waits_wherever_they_are(
    codes: list[str], owner: User, clock: Clock, settings: Settings
) -> None:
    settings.MILLRACE_LOGIN_FAILURES = 3.0
    for number in range(3):
        client = Client(REMOTE_ADDR=f"192.0.2.{number}")
        password(client)
        assert WRONG in problem_of(give(client, "000000"))
    client = Client(REMOTE_ADDR="192.0.2.99")
    password(client)
    for code in (clock.code(), codes[0]):
        assert "too many wrong codes" in problem_of(give(client, code)), "right ones too"
    assert not is_in(client)
    clock.now += settings.MILLRACE_LOGIN_WAIT_SECONDS + 1
    assert give(client, clock.code()).status_code == 302


def test_the_second_step_has_no_other_door(codes: list[str], owner: User, clock: Clock) -> None:
    User.objects.filter(pk=owner.pk).update(is_staff=True, is_superuser=True)
    client = Client()
    assert give(client, clock.code())["Location"] == "/login/", "not without the password"
    # Half signed in: neither pages nor API.
    half = Client()
    password(half)
    for path in ("/", "/accounts/", PAGE):
        assert half.get(path).status_code == 302, path
    for path in ("/api/me/", "/api/tokens/"):
        assert half.get(path).status_code == 403, path
    basic = Client(headers={"Authorization": "Basic YW5uOmxvbmctZW5vdWdoLTE="})
    assert basic.get("/api/me/").status_code == 403


def test_a_session_without_the_code_ends(owner: User, as_owner: Client, clock: Clock) -> None:
    """One that is older than the factor, or came to be signed in by a way that nobody thought of."""
    assert is_in(as_owner)
    admission = Admission(owner.pk, as_owner.session.session_key, None, QuerySeen(1))
    assert not no_longer_hold({admission})
    activate(owner, KEY, 0)
    assert no_longer_hold({admission}) == {admission}, "its live events end"
    assert as_owner.get("/api/me/").status_code == 403
    assert as_owner.get("/streams/")["Location"].startswith("/login/")
    proven = signed_in(clock)
    assert not no_longer_hold({Admission(owner.pk, proven.session.session_key, None, QuerySeen(1))})


def test_a_planted_session_is_worth_nothing(codes: list[str], clock: Clock) -> None:
    client = Client()
    password(client)
    planted = client.cookies["sessionid"].value
    password(client)
    assert client.cookies["sessionid"].value != planted
    thief = Client()
    thief.cookies["sessionid"] = planted
    assert give(thief, clock.code())["Location"] == "/login/"


def test_tokens_go_on(codes: list[str], owner: User, settings: Settings) -> None:
    settings.MILLRACE_SECOND_FACTOR = "everybody"
    program = Client(headers={"Authorization": f"Bearer {create_token(owner, 'laptop')[1]}"})
    assert is_in(program)


@pytest.mark.parametrize("by", ["password", "code", "recovery"])
def test_changes_ask_who_is_there(codes: list[str], owner: User, clock: Clock, by: str) -> None:
    client = signed_in(clock)
    clock.now += 30
    asked = {"password": PASSWORD, "code": clock.code(), "recovery": codes[0]}[by]
    for wrong in ("", "no", "000000"):
        answer = client.post(PAGE, {"change": "deactivate", "confirmation": wrong})
        assert problem_of(answer), wrong
    assert Authenticator.objects.count() == 2
    assert client.post(PAGE, {"change": "deactivate", "confirmation": asked})["Location"] == PAGE
    assert not Authenticator.objects.exists()
    assert password(Client())["Location"] == "/"


def test_new_recovery_codes_end_the_old_ones(codes: list[str], owner: User, clock: Clock) -> None:
    client = signed_in(clock)
    made = client.post(PAGE, {"change": "renew", "confirmation": PASSWORD}).content.decode()
    new = re.findall(r'class="secret">(\d{8})<', made)
    assert len(new) == 10
    assert spend(owner, codes[1]) is None
    assert spend(owner, new[1]) is not None


def test_the_installation_asks_everybody(owner: User, settings: Settings, clock: Clock) -> None:
    settings.MILLRACE_SECOND_FACTOR = "everybody"
    client = Client()
    password(client)
    assert client.get("/streams/")["Location"] == PAGE
    for path in ("/api/me/", "/api/queries/", "/api/topologies/flights/events/", "/api/tokens/"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (403, "second-factor-required"), path
    assert client.post("/api/tokens/", {"name": "x"}, content_type="application/json").status_code == 403
    shown = client.get(PAGE).content.decode()
    assert "activate one to go on" in shown
    assert 'class="rail"' not in shown
    key = client.session["second_factor_key"]
    form = {"change": "activate", "code": clock.code(key), "confirmation": PASSWORD}
    assert client.post(PAGE, form).status_code == 200
    assert is_in(client)
    assert client.get("/streams/").status_code == 200
    client.post(PAGE, {"change": "deactivate", "confirmation": PASSWORD})
    assert client.get("/streams/")["Location"] == PAGE


def test_the_installation_asks_admins(owner: User, teammate: User, settings: Settings) -> None:
    settings.MILLRACE_SECOND_FACTOR = "admins"
    owner.groups.add(Group.objects.get_or_create(name="admins")[0])
    for name, expected in (("ann", 403), ("bob", 200)):
        client = Client()
        password(client, name)
        assert client.get("/api/me/").status_code == expected
    client = Client()
    password(client)
    assert client.get("/accounts/")["Location"] == PAGE


def test_an_admin_resets_it_and_that_is_told(codes: list[str], owner: User, operator: User) -> None:
    factor = Authenticator.objects.get(type="totp")
    path = f"/api/persons/{owner.pk}/second-factor/"
    as_operator = Client()
    as_operator.force_login(operator)
    assert as_operator.delete(path).status_code == 403
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    listed = root.get("/api/persons/?text=ann")
    assert [one["has_second_factor"] for one in listed.json()["persons"]] == [True]
    assert factor.data["secret"] not in listed.content.decode()
    assert root.delete(path).status_code == 204
    assert not Authenticator.objects.exists()
    assert password(Client())["Location"] == "/"
    told = AuditEntry.objects.filter(kind="second factor", name="ann", verb="reset")
    assert [(one.account_name, one.through) for one in told] == [("root", "page")]
    assert root.delete(path).json()["code"] == "no-second-factor"


def test_another_secret_key_lets_nobody_in(codes: list[str], clock: Clock, settings: Settings) -> None:
    settings.SECRET_KEY = "another"
    client = Client()
    password(client)
    assert "another SECRET_KEY" in problem_of(give(client, clock.code()))
    settings.SECRET_KEY_FALLBACKS = []
    assert not is_in(client)


def test_a_secret_key_may_be_followed_by_another(codes: list[str], clock: Clock, settings: Settings) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [settings.SECRET_KEY]
    assert is_in(signed_in(clock))
    recovered = Client()
    password(recovered)
    give(recovered, codes[0])
    assert is_in(recovered)


@pytest.mark.parametrize(
    ("said", "fault"), [("all", True), ("everybody", False), ("admins", False), ("", False)]
)
def test_a_slip_in_the_setting_is_told(settings: Settings, said: str, fault: bool) -> None:
    settings.MILLRACE_SECOND_FACTOR = said
    assert ("millrace.E032" in {one.id for one in run_checks()}) == fault
