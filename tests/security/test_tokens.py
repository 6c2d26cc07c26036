"""Tokens: who makes them, how far they go, and that nobody reads them twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from backend.client.connection import Connection
from backend.client.errors import ClientError
from backend.streams.models import Stream
from backend.tokens.actions import create_token
from backend.tokens.models import Token

pytestmark = pytest.mark.django_db
Post = Callable[..., Any]
EVENT = {"at": "2026-01-01T00:00:00Z", "origin": "JFK", "wind": 21.5}


def _with(secret: str) -> Client:
    return Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {secret}"})


def test_a_token_acts_for_its_owner_without_cookies(as_owner: Client, post: Post, streams: object) -> None:
    made = post(as_owner, "/api/tokens/", {"name": "laptop"}).json()
    program = _with(made["secret"])
    assert program.get("/api/me/").json()["username"] == "ann"
    answer = program.post("/api/streams/weather/events/", EVENT, content_type="application/json")
    assert answer.status_code == 202
    listed = as_owner.get("/api/tokens/").json()
    assert [one["name"] for one in listed] == ["laptop"]
    assert listed[0]["used_at"] is not None


def test_a_secret_is_shown_once_and_not_stored(as_owner: Client, post: Post, db: None) -> None:
    secret = post(as_owner, "/api/tokens/", {"name": "laptop"}).json()["secret"]
    assert secret not in as_owner.get("/api/tokens/").content.decode()
    row = Token.objects.values().get()
    assert secret not in str(row)
    assert len(row["digest"]) == 64


def test_a_stream_token_ingests_there_and_nothing_else(owner: User, streams: dict[str, Stream]) -> None:
    _, secret = create_token(owner, "station", streams["weather"])
    program = _with(secret)

    def send(stream: str) -> int:
        url = f"/api/streams/{stream}/events/"
        return program.post(url, EVENT, content_type="application/json").status_code

    assert send("weather") == 202
    assert send("departures") == 403
    for path in ("/api/me/", "/api/queries/", "/api/streams/weather/", "/api/streams/weather/sample/"):
        assert program.get(path).status_code == 403
    assert program.delete("/api/streams/weather/").status_code == 403


def test_a_token_makes_no_token(owner: User, as_owner: Client) -> None:
    record, secret = create_token(owner, "laptop")
    program = _with(secret)
    assert program.get("/api/tokens/").status_code == 403
    assert program.post("/api/tokens/", {"name": "x"}, content_type="application/json").status_code == 403
    assert program.delete(f"/api/tokens/{record.pk}/").status_code == 403


def test_what_ends_a_token(owner: User, as_owner: Client, as_teammate: Client) -> None:
    _, expired = create_token(owner, "old", expires_at=timezone.now() - timedelta(seconds=1))
    record, revoked = create_token(owner, "lost")
    assert as_teammate.delete(f"/api/tokens/{record.pk}/").status_code == 404
    assert as_owner.delete(f"/api/tokens/{record.pk}/").status_code == 204
    _, orphaned = create_token(owner, "laptop")
    assert _with(orphaned).get("/api/me/").status_code == 200
    User.objects.filter(pk=owner.pk).update(is_active=False)
    for secret in (expired, revoked, orphaned, "millrace_guess", ""):
        assert _with(secret).get("/api/me/").status_code == 403


def test_pages_take_no_token(owner: User) -> None:
    program = _with(create_token(owner, "laptop")[1])
    for page in ("/queries/", "/accounts/"):
        assert program.get(page).status_code == 302


def test_live_events_take_a_token(owner: User, streams: dict[str, Stream]) -> None:
    _, secret = create_token(owner, "laptop")
    _, narrow = create_token(owner, "station", streams["weather"])

    def status(token: str) -> int:
        return _with(token).get("/api/topologies/none/events/").status_code

    # 404: it came as far as looking for the topology.
    assert [status(token) for token in (secret, narrow, "millrace_guess")] == [404, 403, 403]


def test_the_command_takes_its_token_to_no_other_address() -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.raises(ClientError):
                Connection(f"http://127.0.0.1:{server.server_port}", "secret").get("/api/me/")
        finally:
            server.shutdown()
            thread.join()
    assert asked == ["/api/me/"]
