"""What admins find in the audit trail: by anything that is known of it, a page at a time, and as a file."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client

from backend.audit.actions import Subject, record
from backend.audit.changes import changed
from backend.audit.models import AuditEntry
from backend.audit.origin import Through, coming
from backend.audit_trail.export import PART
from tests.api.conftest import signed_in

URL = "/api/audit/"
NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


@pytest.fixture
def as_admin(db: None) -> Client:
    client = signed_in(User.objects.create_superuser("root", password="long-enough-1"))
    AuditEntry.objects.all().delete()
    return client


@pytest.fixture
def trail(owner: User, operator: User, as_admin: Client) -> None:
    """Three entries, an hour apart."""
    AuditEntry.objects.all().delete()
    said = changed({}, {"sql": "SELECT 1 -- Zürich"})
    record(owner, "create", Subject("query", "windy", 1, "airside"), changes=said)
    with coming(Through.TOKEN, "ci", owner):
        record(None, "deploy", Subject("query", "windy", 1, "airside"), topology="flights", detail="windy v1")
    record(operator, "stop", Subject("topology", "flights", 1), topology="flights", detail="now")
    for hours, entry in enumerate(AuditEntry.objects.order_by("pk")):
        AuditEntry.objects.filter(pk=entry.pk).update(at=NOON + timedelta(hours=hours))


def _asked(client: Client, **query: object) -> Any:
    answer = client.get(URL, query)
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.parametrize(
    ("query", "verbs"),
    [
        ({}, ["stop", "deploy", "create"]),
        ({"who": "ann"}, ["deploy", "create"]),
        ({"who": "an"}, []),
        ({"through": "token"}, ["deploy"]),
        ({"kind": "topology"}, ["stop"]),
        ({"verb": "create"}, ["create"]),
        ({"team": "airside"}, ["deploy", "create"]),
        ({"topology": "flights", "who": "olga"}, ["stop"]),
        ({"text": "select"}, ["create"]),
        ({"text": "WINDY ci"}, ["deploy"]),
        ({"text": "%"}, []),
        ({"text": "Zürich"}, ["create"]),
        ({"since": "2026-11-27T13:00:00Z"}, ["stop", "deploy"]),
        ({"until": "2026-11-27T13:00:00Z"}, ["create"]),
    ],
)
def test_it_is_narrowed_by_what_is_known(
    trail: None, as_admin: Client, query: dict[str, str], verbs: list[str]
) -> None:
    found = _asked(as_admin, **query)
    assert [one["verb"] for one in found["entries"]] == verbs
    assert found["next"] is None


def test_an_entry_is_told_whole(trail: None, as_admin: Client) -> None:
    _, deployed, created = _asked(as_admin)["entries"]
    assert created["changes"] == [{"field": "sql", "before": None, "after": "SELECT 1 -- Zürich"}]
    del deployed["id"]
    assert deployed == {
        "at": "2026-11-27T13:00:00Z",
        "account": "ann",
        "account_is_service": False,
        "through": "token",
        "through_name": "ci",
        "verb": "deploy",
        "kind": "query",
        "name": "windy",
        "key": "1",
        "team": "airside",
        "topology": "flights",
        "detail": "windy v1",
        "changes": [],
    }
    assert as_admin.get(f"{URL}choices/").json() == {
        "kinds": ["query", "topology"],
        "verbs": ["create", "deploy", "stop"],
    }


def test_pages_meet_though_entries_come_meanwhile(as_admin: Client) -> None:
    for number in range(7):
        record(None, "change", Subject("query", f"q{number}"))
    names: list[str] = []
    before: dict[str, int] = {}
    while True:
        page = _asked(as_admin, limit=3, **before)
        names += [one["name"] for one in page["entries"]]
        record(None, "change", Subject("query", "late"))
        if page["next"] is None:
            break
        before = {"before": page["next"]}
    assert names == [f"q{number}" for number in reversed(range(7))]


def test_a_file_has_all_of_it_in_both_forms(as_admin: Client) -> None:
    for number in range(PART + 3):
        name = '=HYPERLINK("https://example.org")' if number == 0 else f"q{number}"
        record(None, "change", Subject("query", name), changes={"late": [0, number]})
    table, lines = _file(as_admin, "csv"), _file(as_admin, "json")
    rows = list(csv.DictReader(io.StringIO(table)))
    told = [json.loads(line) for line in lines.splitlines()]
    assert [one["name"] for one in told] == [f"q{number}" for number in range(PART + 2, 0, -1)] + [
        '=HYPERLINK("https://example.org")'
    ]
    assert rows[-1]["name"] == "'" + told[-1]["name"], "no text is a formula to a spreadsheet"
    assert [json.loads(row["changes"]) for row in rows] == [one["changes"] for one in told]
    assert _file(as_admin, "csv", kind="stream").count("\n") == 1


def _file(client: Client, form: str, **query: str) -> str:
    answer = client.get(f"{URL}download/", {"form": form, **query})
    assert answer.status_code == 200

    async def text() -> str:
        return b"".join([part async for part in answer]).decode()

    return async_to_sync(text)()


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"through": "magic"}, "through"),
        ({"since": "noon"}, "since"),
        ({"limit": "0"}, "limit"),
        ({"before": "-1"}, "before"),
        ({"before": "9" * 20}, "before"),
        ({"who": "a\0b"}, "who"),
    ],
)
def test_nonsense_is_refused_with_its_place(as_admin: Client, query: dict[str, str], field: str) -> None:
    answer = as_admin.get(URL, query)
    assert answer.status_code == 400
    assert field in answer.json()


def test_only_admins_read_it(
    as_owner: Client, as_operator: Client, as_viewer: Client, as_admin: Client, anonymous: Client
) -> None:
    for client in (as_owner, as_operator, as_viewer):
        for path in (URL, f"{URL}choices/", f"{URL}download/", "/audit/"):
            assert client.get(path).status_code == 403, path
        assert '"/audit/"' not in client.get("/costs/").content.decode()
    assert anonymous.get("/audit/").status_code == 302
    assert as_admin.get("/audit/").status_code == 200
    for page in ("/costs/", "/queries/", "/account/security/"):
        assert 'href="/audit/"' in as_admin.get(page).content.decode(), page
