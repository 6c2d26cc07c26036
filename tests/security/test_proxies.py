"""Nobody says from where they come but a proxy that the settings name: for rates, locks and redirections."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from time import monotonic

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from backend.accounts.throttles import AddressRate, SignInRate
from backend.http.proxies import TrustedProxies, client_behind, holder, networks
from backend.run.product import web_command
from backend.run.setting import free_port

ROOT = Path(__file__).resolve().parents[2]
PROXIES = networks(("10.0.0.0/8", "2001:db8::/32"))
HEADERS = (
    "X-Forwarded-For",
    "X-Forwarded-Proto",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "Forwarded",
    "X-Real-IP",
)


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("", "10.0.0.2"),
        ("1.1.1.1", "1.1.1.1"),
        ("6.6.6.6, 1.1.1.1", "1.1.1.1"),
        ("6.6.6.6, 1.1.1.1, 10.0.0.9", "1.1.1.1"),
        ("6.6.6.6,1.1.1.1,2001:db8::7", "1.1.1.1"),
        ("10.1.1.1, 10.2.2.2", "10.1.1.1"),
        ("rubbish", "10.0.0.2"),
        ("1.1.1.1, rubbish", "10.0.0.2"),
        ("6.6.6.6, unknown, 10.0.0.9", "10.0.0.9"),
        ("1.1.1.1,", "10.0.0.2"),
        ("2606:4700::1", "2606:4700::1"),
        ("::ffff:1.1.1.1", "1.1.1.1"),
        ("' OR 1=1 --", "10.0.0.2"),
        ("1.1.1.1:443", "10.0.0.2"),
    ],
)
def test_the_last_address_that_is_no_proxy_counts(forwarded: str, client: str) -> None:
    assert client_behind("10.0.0.2", forwarded, PROXIES) == client


def _seen(peer: str, **headers: str) -> HttpRequest:
    request = HttpRequest()
    request.META = {"REMOTE_ADDR": peer, **headers}
    TrustedProxies(lambda _: HttpResponse())(request)
    return request


@given(
    st.text(alphabet="0123456789abcdef.:, ", max_size=40),
    st.sampled_from(["127.0.0.1", "9.9.9.9", "::1", ""]),
)
def test_whoever_is_no_proxy_says_nothing(forwarded: str, peer: str) -> None:
    told = {f"HTTP_{name.upper().replace('-', '_')}": forwarded or "x" for name in HEADERS}
    found = _seen(peer, **told).META
    assert found == {"REMOTE_ADDR": peer}


def test_a_proxy_is_believed_if_the_settings_name_it(settings: Settings) -> None:
    settings.MILLRACE_TRUSTED_PROXIES = ["10.0.0.0/8"]
    told = {
        "HTTP_X_FORWARDED_FOR": "6.6.6.6, 1.1.1.1",
        "HTTP_X_FORWARDED_PROTO": "https",
        "HTTP_FORWARDED": "x",
    }
    assert _seen("10.0.0.2", **told).META == {"REMOTE_ADDR": "1.1.1.1", "HTTP_X_FORWARDED_PROTO": "https"}
    assert _seen("::ffff:10.0.0.2", **told).META["REMOTE_ADDR"] == "1.1.1.1"
    assert _seen("11.0.0.2", **told).META == {"REMOTE_ADDR": "11.0.0.2"}


def test_an_ipv6_customer_has_one_rate_not_2_to_the_64() -> None:
    assert holder(_seen("2606:4700:1:2:3:4:5:6")) == holder(_seen("2606:4700:1:2::1")) == "2606:4700:1:2::"
    assert holder(_seen("2606:4700:1:3::1")) != holder(_seen("2606:4700:1:2::1"))
    assert holder(_seen("::ffff:1.2.3.4")) == holder(_seen("1.2.3.4")) == "1.2.3.4"


@pytest.mark.django_db
@pytest.mark.parametrize("name", HEADERS)
def test_no_header_gives_another_chance(
    name: str, owner: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    settings.AXES_FAILURE_LIMIT = 3
    monkeypatch.setattr(AddressRate, "THROTTLE_RATES", {"user": "9/min", "anon": "3/min"})
    signed_in, asked = [], []
    for number in range(5):
        spoofed = {name: f"192.0.2.{number}"}
        form = {"username": "ann", "password": f"wrong {number}"}
        signed_in.append(Client(headers=spoofed).post("/login/", form).status_code)
        asked.append(Client(headers=spoofed).get("/api/schema/").status_code)
    assert signed_in == [200, 200, 429, 429, 429]
    assert asked == [200, 200, 200, 429, 429]
    assert {attempt.ip_address for attempt in AccessAttempt.objects.all()} == {"127.0.0.1"}


@pytest.mark.django_db
def test_behind_a_proxy_each_client_has_its_own(owner: User, settings: Settings) -> None:
    cache.clear()
    settings.AXES_FAILURE_LIMIT = 2
    settings.MILLRACE_TRUSTED_PROXIES = ["127.0.0.1"]

    def try_from(address: str) -> int:
        form = {"username": "ann", "password": "wrong"}
        return Client(headers={"X-Forwarded-For": f"6.6.6.6, {address}"}).post("/login/", form).status_code

    assert [try_from("192.0.2.1") for _ in range(3)] == [200, 429, 429]
    assert try_from("192.0.2.2") == 200


@pytest.mark.django_db
def test_nobody_pretends_to_come_over_tls(settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    asked = Client(headers={"X-Forwarded-Proto": "https"})
    assert asked.get("/login/").status_code == 301
    settings.MILLRACE_TRUSTED_PROXIES = ["127.0.0.1"]
    assert asked.get("/login/").status_code == 200


def test_make_run_believes_nobody(redis_url: str, tmp_path: Path) -> None:
    """The real server, asked from loopback: uvicorn would believe that by itself."""
    port = free_port()
    environment = {
        **os.environ,
        "MILLRACE_HOME": str(tmp_path),
        "REDIS_URL": redis_url,
        "MILLRACE_RATE_SIGN_IN": "3/min",
        "DJANGO_SETTINGS_MODULE": "backend.settings",
    }
    environment.pop("DATABASE_URL", None)
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
    with (tmp_path / "web.log").open("wb") as log:
        web = subprocess.Popen(
            web_command("127.0.0.1", port), cwd=ROOT, env=environment, stdout=log, stderr=log
        )
    try:
        url, deadline = f"http://127.0.0.1:{port}", monotonic() + 60
        while _status(f"{url}/healthz") != 200:
            assert monotonic() < deadline, (tmp_path / "web.log").read_text()
        found = [
            _status(f"{url}/login/", f"192.0.2.{number}", b"username=a&password=b") for number in range(5)
        ]
    finally:
        web.terminate()
        web.wait(20)
    # 403: without a cookie there is no password looked at either; then not even that is asked.
    assert found == [403, 403, 403, 429, 429]


def _status(url: str, forwarded: str = "", body: bytes | None = None) -> int:
    try:
        request = urllib.request.Request(url, body, {"X-Forwarded-For": forwarded})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def test_the_throttles_are_ours(settings: Settings) -> None:
    """REST framework's own read X-Forwarded-For."""
    for name in settings.REST_FRAMEWORK["DEFAULT_THROTTLE_CLASSES"]:
        assert name.startswith("backend.accounts.throttles.")
    assert SignInRate.scope in settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]
