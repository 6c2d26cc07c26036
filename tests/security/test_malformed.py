"""Whatever arrives, on whatever route and by whatever method: it is refused, and never a fault of ours."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest
from django.conf import settings as product
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from backend.catalog.models import Query
from backend.run.product import web_command
from backend.run.setting import free_port
from tests.security.test_endpoints import ROUTES

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = int(os.environ.get("MILLRACE_FUZZ_EXAMPLES", "150"))
UNKNOWN = (
    "/nope",
    "/nope/",
    "/api/nope/",
    "/api/queries/nope/",
    "/static/nope",
    "/password/nope/",
    "/password/MQ/nope/",
    f"/password/{'9' * 100}/nope/",
    "/queries/nope/",
)
PATHS = sorted({path for route, path in ROUTES if not route.endswith("events/")} | set(UNKNOWN))
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "NONSENSE")
PART = b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n'
BODIES = (
    ("multipart/form-data", b"x"),
    ("multipart/form-data; boundary=", b"--\r\n"),
    ("multipart/form-data; boundary=x", b"--x"),
    ("multipart/form-data; boundary=\xff", b"--\xff\r\n"),
    ("multipart/form-data; boundary=x", PART + b"Content-Transfer-Encoding: base64\r\n\r\n!\r\n--x--"),
    ("multipart/form-data; boundary=x", PART + b"Content-Type: a; charset=nonsense\r\n\r\n\xff\r\n--x--"),
    ("multipart/form-data; boundary=x", PART * 300),
    ("application/x-www-form-urlencoded", b"a=1&" * 2000),
    ("application/x-www-form-urlencoded", b"a=%00&%00=%ff\x00\xff"),
    ("application/x-www-form-urlencoded; charset=nonsense", b"a=\xff"),
    ("application/x-www-form-urlencoded; charset=utf-16", b"csrfmiddlewaretoken=\xff"),
    ("application/json", b"[" * 5000),
    ("application/json", b'{"name": "\\u0000", "sql": "\\ud800"}'),
    ("application/json; charset=utf-7", b"\x00"),
    ("application/x-ndjson", b"{}\n\xff"),
    ("text/plain", b"\x00"),
    ("a/b/c;;;==", b"{}"),
    ("", b"{}"),
    ("\xff", b"\xff"),
)


@pytest.fixture
def browser(operator: User) -> Client:
    """With a session and the cookie against forgery, as a browser has them, and its token in no request."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(operator)
    client.get("/queries/")
    assert {"sessionid", "csrftoken"} <= set(client.cookies)
    return client


@pytest.fixture(autouse=True)
def _no_rate(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    from rest_framework.throttling import SimpleRateThrottle

    monkeypatch.setattr(SimpleRateThrottle, "allow_request", lambda *_: True)


def _faults(client: Client, requests: Iterator[tuple[str, str, str, bytes]], **headers: str) -> list[object]:
    found: list[object] = []
    for method, path, kind, body in requests:
        answer = client.generic(method, path, body, content_type=kind, headers=headers)
        if answer.status_code >= 500 and answer.status_code != 503:
            found.append((method, path, kind, body[:40], answer.status_code))
    return found


@pytest.mark.django_db
@pytest.mark.parametrize("method", METHODS)
def test_no_body_on_any_route_is_a_fault_of_ours(method: str, browser: Client, query: Query) -> None:
    bodies = BODIES if method == "POST" else BODIES[3:12:8]
    requests = ((method, path, kind, body) for path in PATHS for kind, body in bodies)
    assert _faults(browser, requests) == []


@pytest.mark.django_db
def test_nor_with_a_token_that_is_right(browser: Client, query: Query) -> None:
    """So that what is behind the check against forgery is reached."""
    right = {"X-CSRFToken": browser.cookies["csrftoken"].value}
    paths = [path for path in PATHS if "logout" not in path]
    for method in ("POST", "PUT", "PATCH"):
        requests = ((method, path, kind, body) for path in paths for kind, body in BODIES[::5])
        assert _faults(browser, requests, **right) == []


ODD = (
    *("%00", "%2e%2e", "..", "%ff", "%c3%28", "%ed%a0%80", "%2f", "%5c", "%0d%0a", "%u0000", "%", "%%", "é"),
    *(
        "'",
        '"',
        "<script>",
        "{}",
        "[]",
        "0",
        "-1",
        "1" * 400,
        "9" * 20,
        "x" * 4000,
        "NaN",
        "null",
        "%F0%9F%98%80",
    ),
)


@pytest.mark.django_db
@pytest.mark.parametrize("odd", ODD)
def test_no_path_and_no_parameter_is_a_fault_of_ours(odd: str, browser: Client, query: Query) -> None:
    parents = sorted({path.rsplit("/", 2)[0] for path in PATHS})
    paths = [f"{parent}/{odd}/" for parent in parents]
    names = ("q", "limit", "page", "id", "topology", "form", "next", "format", "tail", "plan_id", "lang", odd)
    # Each route with some of them, another one for each oddity.
    shifted = itertools.cycle(names[ODD.index(odd) % len(names) :] + names)
    asked = [f"{path}?{name}={odd}" for path, name in zip(PATHS, shifted, strict=False)]
    assert _faults(browser, (("GET", path, "", b"") for path in [*paths, *asked])) == []


@pytest.mark.django_db
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    method=st.sampled_from(METHODS),
    path=st.sampled_from(PATHS) | st.text(max_size=20).map(lambda text: f"/api/{text}"),
    kind=st.sampled_from([kind for kind, _ in BODIES]) | st.text(alphabet="ab/;= \"'*-_", max_size=20),
    body=st.sampled_from([body for _, body in BODIES]) | st.binary(max_size=60),
)
def test_nothing_made_up_is_a_fault_of_ours(
    method: str, path: str, kind: str, body: bytes, browser: Client
) -> None:
    cache.clear()
    assert _faults(browser, iter([(method, path, kind, body)])) == []


@pytest.mark.django_db
def test_what_is_refused_looks_like_the_rest(anonymous: Client) -> None:
    anonymous.get("/login/")
    answer = anonymous.post("/api/nope/", b"x", content_type="multipart/form-data; boundary=y")
    assert (answer.status_code, answer.json()) == (404, {"detail": "Not found."})
    page = anonymous.get("/nope/")
    assert (page.status_code, page["Content-Type"]) == (404, "text/html; charset=utf-8")


RAW = {
    "no length": b"POST /login/ HTTP/1.1\r\nHost: localhost\r\n\r\nx",
    "too short": b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx",
    "too long": b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nxxxxxxxx",
    "negative": b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "no number": b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    "vast": b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\nx",
    "twice": b"POST /nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    "chunked and length": b"POST /nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "bad chunk": b"POST /nope HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "huge header": b"GET /nope HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
    "many headers": b"GET /nope HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 3000 + b"\r\n",
    "huge cookie": b"GET /queries/ HTTP/1.1\r\nHost: localhost\r\nCookie: sessionid="
    + b"a" * 30_000
    + b"\r\n\r\n",
    "bad cookie": b'GET /queries/ HTTP/1.1\r\nHost: localhost\r\nCookie: sessionid="\\000\xff;;=;\r\n\r\n',
    "nul in a header": b"GET /nope HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
    "nul in a charset": b"GET /nope HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b; charset=\0\r\n\r\n",
    "latin path": b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "nul in a path": b"GET /queries/%00/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "up": b"GET /static/../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "up, quoted": b"GET /static/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "nul in a file": b"GET /static/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "long file": b"GET /static/" + b"a" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "bad utf-8 file": b"GET /static/%ff%fe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no host": b"GET /login/ HTTP/1.0\r\n\r\n",
    "two hosts": b"GET /login/ HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\n\r\n",
    "bad host": b"GET /login/ HTTP/1.1\r\nHost: [::1\r\n\r\n",
    "host with nul": b"GET /login/ HTTP/1.1\r\nHost: \xff\r\n\r\n",
    "no http": b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
    "absolute": b"GET http://evil.test/login/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "asterisk": b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "connect": b"CONNECT evil.test:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "upgrade": b"GET /login/ HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    "bearer": b"GET /api/me/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
    "metrics": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: \xff\xfe\r\n\r\n",
    "charset": b"POST /nope HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b; charset=\xff\r\n"
    b"Content-Length: 1\r\n\r\nx",
    "language": b"GET /login/ HTTP/1.1\r\nHost: localhost\r\nAccept-Language: \xff;q=a\r\n"
    b"Accept: \xff\r\n\r\n",
    "range": b"GET /favicon.ico HTTP/1.1\r\nHost: localhost\r\nRange: bytes=9-1\r\n"
    b"If-Modified-Since: \xff\r\n\r\n",
    "etag": b'GET /api/schema/ HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: W/"\xff\r\n\r\n',
}


@pytest.fixture(scope="module")
def port(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The real server, as `make run` starts it."""
    home, found = tmp_path_factory.mktemp("web"), free_port()
    environment = {**os.environ, "MILLRACE_HOME": str(home), "REDIS_URL": redis_url}
    environment |= {"DJANGO_SETTINGS_MODULE": "backend.settings"}
    environment.pop("DATABASE_URL", None)
    command = [sys.executable, "manage.py", "migrate", "-v0"]
    subprocess.run(command, cwd=product.BASE_DIR, env=environment, check=True)
    with (home / "log").open("wb") as log:
        web = subprocess.Popen(
            web_command("127.0.0.1", found), cwd=ROOT, env=environment, stdout=log, stderr=log
        )
    try:
        deadline = monotonic() + 60
        while b"200" not in _answer(found, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            assert monotonic() < deadline, (home / "log").read_text()
        yield found
        told = (home / "log").read_text()
        assert "Traceback" not in told, told[told.index("Traceback") :][:5000]
    finally:
        web.terminate()
        web.wait(20)


def _answer(port: int, sent: bytes) -> bytes:
    """The first line of the answer; empty if the connection was closed, or nothing came within a second."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(sent)
        connection.settimeout(1.0)
        return connection.recv(65536).split(b"\r\n", 1)[0]
    return b""


@pytest.mark.parametrize("sent", RAW.values(), ids=RAW)
def test_no_bytes_are_a_fault_of_ours(sent: bytes, port: int) -> None:
    line = _answer(port, sent)
    assert not line.startswith(b"HTTP/1.1 5"), line
    # And the server lives.
    assert b"200" in _answer(port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
