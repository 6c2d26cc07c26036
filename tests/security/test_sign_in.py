"""Guessing passwords, and asking too often."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from backend.accounts.throttles import AccountRate

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
