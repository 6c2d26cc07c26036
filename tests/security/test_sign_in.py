"""Guessing passwords, and asking too often."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

import pytest
from django.conf import global_settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from backend.accounts.throttles import AccountRate, SignInRate

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nobody_waits() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def _sign_in(password: str, name: str = "ann", address: str = "192.0.2.1") -> int:
    form = {"username": name, "password": password}
    return Client().post("/login/", form, REMOTE_ADDR=address).status_code


def test_who_guesses_waits_and_nobody_else(owner: User, teammate: User, settings: Settings) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    assert [_sign_in(f"wrong {n}") for n in range(3)] == [200, 200, 429]
    assert _sign_in("long-enough-1") == 429
    assert _sign_in("long-enough-1", address="192.0.2.2") == 302
    assert _sign_in("long-enough-1", name="bob") == 302


def test_a_right_password_ends_the_count(owner: User, settings: Settings) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    assert [_sign_in(word) for word in ("no", "no", "long-enough-1", "no", "no")] == [200, 200, 302, 200, 200]


def test_an_account_has_a_rate(
    as_owner: Client, as_teammate: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AccountRate, "THROTTLE_RATES", {"user": "3/min", "anon": "3/min"})
    answers = [as_owner.get("/api/me/") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert int(answers[-1]["Retry-After"]) <= 60
    assert as_teammate.get("/api/me/").status_code == 200


def test_an_unknown_account_takes_as_long_as_a_wrong_password(owner: User, settings: Settings) -> None:
    """Also one that is closed, and one without a password: nobody finds out by a clock who there is."""
    settings.AXES_FAILURE_LIMIT = 1000
    # As slow as the product's, beside which nothing else counts.
    settings.PASSWORD_HASHERS = global_settings.PASSWORD_HASHERS
    owner.set_password("long-enough-1")
    owner.save()
    User.objects.create_user("gone", password="long-enough-1", is_active=False)
    User.objects.create_user("robot")

    def spent(name: str) -> float:
        began = time.thread_time()
        assert _sign_in("wrong", name) == 200
        return time.thread_time() - began

    times = {name: median(spent(name) for _ in range(5)) for name in ("ann", "nobody", "gone", "robot")}
    assert max(times.values()) < 1.5 * min(times.values()), times


def test_the_answers_are_the_same_too(owner: User) -> None:
    User.objects.create_user("gone", password="long-enough-1", is_active=False)
    pages = set()
    for name, password in (("ann", "wrong"), ("nobody", "wrong"), ("gone", "long-enough-1")):
        client = Client()
        client.cookies["csrftoken"] = "a" * 32
        page = client.post("/login/", {"username": name, "password": password})
        shown = page.content.decode().replace(f'value="{name}"', "")
        pages.add((page.status_code, len(shown), "alert" in shown))
    assert len(pages) == 1, pages


def test_a_session_that_somebody_planted_is_worth_nothing(owner: User) -> None:
    """Neither one that the server does not know, nor one that was there before somebody signed in."""
    planted = "a" * 32
    client = Client()
    client.cookies["sessionid"] = planted
    form = {"username": "ann", "password": "long-enough-1"}
    assert client.post("/login/", form).status_code == 302
    assert client.cookies["sessionid"].value != planted
    before = client.cookies["sessionid"].value
    other = Client()
    other.cookies["sessionid"] = planted
    assert other.get("/api/me/").status_code == 403
    # Whoever signs in again gets another one, and the one before ends.
    client.post("/logout/")
    client.post("/login/", form)
    assert client.cookies["sessionid"].value != before
    other.cookies["sessionid"] = before
    assert other.get("/api/me/").status_code == 403


@pytest.mark.parametrize("path", ["/login/", "/logout/"])
def test_nobody_signs_somebody_in_or_out_from_another_site(path: str, owner: User) -> None:
    client = Client(enforce_csrf_checks=True)
    form = {"username": "ann", "password": "long-enough-1"}
    assert client.post(path, form).status_code == 403
    client.get("/login/")
    assert client.post(path, form).status_code == 403
    assert "sessionid" not in client.cookies


def test_the_cookies_are_not_for_scripts_or_other_sites(owner: User) -> None:
    client = Client()
    client.post("/login/", {"username": "ann", "password": "long-enough-1"})
    session = client.cookies["sessionid"]
    assert session["httponly"]
    assert session["samesite"] == "Lax"
    assert client.cookies["csrftoken"]["samesite"] == "Lax"


@pytest.mark.parametrize("path", ["/login/"])
def test_an_address_has_a_rate_for_passwords(
    path: str, owner: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever's they are, and before any of them is looked at."""
    monkeypatch.setattr(SignInRate, "THROTTLE_RATES", {"sign_in": "3/min"})

    def ask(number: int, address: str) -> int:
        form = {"username": f"somebody{number}", "password": "wrong"}
        return Client().post(path, form, REMOTE_ADDR=address).status_code

    assert [ask(number, "192.0.2.7") for number in range(5)] == [200, 200, 200, 429, 429]
    client = Client()
    # A client's first request lists the files of all pages, which is not what is measured.
    client.get(path)
    began = time.thread_time()
    refused = client.post(path, {}, REMOTE_ADDR="192.0.2.7")
    assert time.thread_time() - began < 0.05
    assert int(refused["Retry-After"]) <= 60
    assert ask(9, "192.0.2.8") == 200
    assert Client().get(path, REMOTE_ADDR="192.0.2.7").status_code == 200
