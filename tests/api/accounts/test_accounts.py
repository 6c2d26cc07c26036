"""Sign-in, pages, the demo, health, settings, and the API's own description."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.conf import settings as product
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from backend.catalog.models import Query
from backend.streams.models import Stream
from backend.topologies.models import Topology

PAGES = ("/", "/queries/", "/queries/new/", "/topologies/", "/streams/", "/jobs/")


def test_pages_ask_to_sign_in_and_then_show_their_island(anonymous: Client, owner: User) -> None:
    for url in PAGES:
        answer = anonymous.get(url)
        assert (answer.status_code, answer["Location"]) == (302, f"/login/?next={url}")
    wrong = anonymous.post("/login/", {"username": "ann", "password": "wrong"})
    assert wrong.status_code == 200
    assert 'role="alert"' in wrong.content.decode()
    signed_in = anonymous.post("/login/", {"username": "ann", "password": "long-enough-1", "next": "/jobs/"})
    assert signed_in["Location"] == "/jobs/"
    for url in PAGES:
        assert anonymous.get(url).status_code == 200
    assert anonymous.post("/logout/")["Location"] == "/login/"
    assert anonymous.get("/queries/").status_code == 302


def test_nobody_is_sent_to_another_site(anonymous: Client, owner: User) -> None:
    form = {"username": "ann", "password": "long-enough-1", "next": "https://elsewhere.example/"}
    assert anonymous.post("/login/", form)["Location"] == "/"


def test_the_demo_account_is_named_where_the_demo_runs(anonymous: Client, settings: Settings) -> None:
    def said() -> str:
        return anonymous.get("/login/").content.decode()

    assert "answers SQL queries that join several streams" in said()
    assert "The demo" not in said()
    settings.MILLRACE_DEMO = True
    assert "sign in as <strong>demo</strong> with the password <strong>millrace</strong>." in said()
    settings.MILLRACE_DEMO_PASSWORD = "another-one"
    assert "sign in as <strong>demo</strong>." in said()
    assert "another-one" not in said()


def test_an_island_gets_its_props(as_teammate: Client, query: Query) -> None:
    html = as_teammate.get(f"/queries/{query.pk}/").content.decode()
    (name, props) = re.findall(r'data-island="(\w+)" data-props="([^"]*)"', html)[0]
    assert name == "editor"
    assert json.loads(unescape(props)) == {
        "queryId": query.pk,
        "functions": [],
        "me": {"username": "bob", "is_operator": False, "role": "author"},
    }
    assert as_teammate.get("/topologies/none/").status_code == 404
    assert as_teammate.get("/queries/999/").status_code == 404


def test_writing_needs_the_csrf_token(owner: User, streams: dict[str, Stream]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    client.get("/queries/")
    event = {"at": "2013-01-01"}
    url = "/api/streams/weather/events/"
    assert client.post(url, event, content_type="application/json").status_code == 403
    token = {"X-CSRFToken": client.cookies["csrftoken"].value}
    assert client.post(url, event, content_type="application/json", headers=token).status_code == 202


def test_me(as_operator: Client, anonymous: Client) -> None:
    assert as_operator.get("/api/me/").json() == {
        "username": "olga",
        "is_operator": True,
        "is_service": False,
        "role": "operator",
        "teams": [],
        "quotas": [
            {"resource": name, "used": 0, "limit": None}
            for name in ("topologies", "streams", "queries", "alerts", "tokens")
        ],
    }
    assert anonymous.get("/api/me/").status_code == 403


def test_health_and_schema_are_open(anonymous: Client, db: None, settings: Settings) -> None:
    assert anonymous.get("/healthz").json() == {"database": "ok", "redis": "ok"}
    assert anonymous.get("/api/schema/").status_code == 200
    assert anonymous.get("/api/docs/").status_code == 200
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    sick = anonymous.get("/healthz")
    assert (sick.status_code, sick.json()["redis"]) == (503, "unreachable")


def test_the_schema_is_complete_and_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("spectacular", file=str(tmp_path / "schema.yml"), validate=True, fail_on_warn=True)
    text = (tmp_path / "schema.yml").read_text()
    for component in ("Problem", "Query", "Explanation", "Snapshot", "Topology", "Run"):
        assert f"\n    {component}:\n" in text


def test_the_demo_is_made_once_and_not_undone(db: None) -> None:
    call_command("create_demo")
    names = {file.stem for file in (Path(product.BASE_DIR) / "backend/demo/queries").glob("*.sql")}
    assert set(Query.objects.values_list("name", flat=True)) == names
    assert Topology.objects.get().deployed.count() == len(names)
    assert set(Stream.objects.values_list("name", flat=True)) == {"departures", "arrivals", "weather"}
    demo = User.objects.get(username="demo")
    assert demo.check_password("millrace")
    demo.set_password("another-one")
    demo.save()
    Query.objects.filter(name=min(names)).update(description="mine")
    revision = Topology.objects.get().revision
    call_command("create_demo")
    assert User.objects.get(username="demo").check_password("another-one")
    assert Query.objects.get(name=min(names)).description == "mine"
    assert Topology.objects.get().revision == revision


def test_a_bad_workload_is_one_line(db: None, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no directory"):
        call_command("create_demo", workload=tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("REDIS_URL", "", "millrace.W001"),
        ("REDIS_URL", "http://here", "millrace.E001"),
        ("MILLRACE_PLAN_SECONDS", "soon", "millrace.E002"),
        ("MILLRACE_HEARTBEAT_SECONDS", 0.0, "millrace.E002"),
        ("MILLRACE_HOME", Path("/none"), "millrace.E003"),
    ],
)
def test_a_bad_setting_is_named(settings: Settings, name: str, value: object, code: str) -> None:
    setattr(settings, name, value)
    (fault,) = [one for one in run_checks() if one.id and one.id.startswith("millrace.")]
    assert fault.id == code
    assert name in fault.msg
