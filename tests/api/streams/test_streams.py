"""The stream registry over HTTP: what is shown, who may change it, what is refused and how."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
import redis
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from backend.accounts.models import Team
from backend.catalog.models import Query
from backend.streams.actions import StreamSpec, create_stream, give_stream
from backend.streams.models import Stream
from backend.streams.queries import to_domain
from jobs.protocol import stream_key
from optimizer.algebra.types import ColumnType
from optimizer.logical.source import CONNECTORS

SENSORS = {
    "name": "sensors",
    "event_time": "at",
    "lateness_ms": 5000,
    "columns": [{"name": "at", "type": "timestamp"}, {"name": "level", "type": "int"}],
}
Post = Callable[..., Any]


def test_a_stream_is_made_shown_changed_and_deleted(as_owner: Client, post: Post) -> None:
    made = post(as_owner, "/api/streams/", SENSORS)
    assert made.status_code == 201
    assert made.json() == {
        **SENSORS,
        "description": "",
        "max_ahead_ms": 86_400_000,
        "late": "drop",
        "kind": "stream",
        "key": [],
        "deleted": None,
        "parallelism": None,
        "tuples_per_second": None,
        **dict.fromkeys(CONNECTORS),
        "entries": 0,
        "query_count": 0,
        "owner": "ann",
        "owner_is_service": False,
        "team": None,
        "can_edit": True,
        "created_at": made.json()["created_at"],
    }
    columns = [*SENSORS["columns"], {"name": "ok", "type": "boolean"}]
    changed = as_owner.patch("/api/streams/sensors/", {"columns": columns}, content_type="application/json")
    assert changed.json()["columns"] == columns
    assert changed.json()["lateness_ms"] == 5000
    assert as_owner.delete("/api/streams/sensors/").status_code == 204
    assert as_owner.get("/api/streams/sensors/").status_code == 404


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"event_time": "level"}, "event_time"),
        ({"columns": [{"name": "at", "type": "timestamp"}, {"name": "AT", "type": "int"}]}, "columns.1.name"),
        ({"kind": "table"}, "key"),
        ({"kind": "table", "key": ["levle"]}, "key"),
        ({"kind": "table", "key": ["at"]}, "key"),
        ({"kind": "table", "key": ["level", "level"]}, "key"),
        ({"kind": "table", "key": ["level"], "deleted": "level"}, "deleted"),
        ({"kind": "table", "key": ["level"]}, "lateness_ms"),
        ({"kind": "table", "key": ["level"], "lateness_ms": 0, "late": "join"}, "late"),
        ({"key": ["level"]}, "key"),
        ({"deleted": "level"}, "deleted"),
    ],
)
def test_a_bad_definition_names_its_place(
    as_owner: Client, post: Post, change: dict[str, Any], path: str
) -> None:
    answer = post(as_owner, "/api/streams/", {**SENSORS, **change})
    assert answer.status_code == 400
    assert [problem["path"] for problem in answer.json()["errors"]] == [path]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Sensors!"},
        {"name": "a\x00"},
        {"columns": []},
        {"columns": [{"name": "at", "type": "interval"}]},
        {"lateness_ms": -1},
        {"lateness_ms": 10**30},
        {"max_ahead_ms": -1},
        {"max_ahead_ms": 2**53},
        {"parallelism": 0},
        {"kind": "view"},
        {"key": "level"},
        {"key": [1.5, None]},
        {"tuples_per_second": "many"},
    ],
)
def test_a_bad_form_is_400(as_owner: Client, post: Post, change: dict[str, Any]) -> None:
    answer = post(as_owner, "/api/streams/", {**SENSORS, **change})
    assert answer.status_code == 400
    assert list(answer.json()) == list(change)


def test_columns_of_a_stream_in_use_are_fixed(as_owner: Client, query: Query) -> None:
    shorter = {"columns": [{"name": "at", "type": "timestamp"}]}
    refused = as_owner.patch("/api/streams/weather/", shorter, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (409, "stream-in-use")
    assert "windy" in refused.json()["detail"]
    assert as_owner.delete("/api/streams/weather/").status_code == 409
    later = as_owner.patch("/api/streams/weather/", {"lateness_ms": 1000}, content_type="application/json")
    assert later.json()["lateness_ms"] == 1000
    assert later.json()["query_count"] == 1


PLANES = {
    "name": "planes",
    "event_time": "at",
    "kind": "table",
    "key": ["tail"],
    "deleted": "gone",
    "columns": [
        {"name": "at", "type": "timestamp"},
        {"name": "tail", "type": "string"},
        {"name": "gone", "type": "boolean"},
    ],
}


def test_a_stream_may_be_a_table(as_owner: Client, post: Post) -> None:
    made = post(as_owner, "/api/streams/", PLANES)
    assert made.status_code == 201
    assert {name: made.json()[name] for name in PLANES} == PLANES
    table = to_domain(Stream.objects.get(name="planes"))
    assert (table.is_table, table.key, table.deleted) == (True, ("tail",), "gone")
    row = {"at": "2013-01-01T10:00:00Z", "tail": "N1", "gone": None}
    assert post(as_owner, "/api/streams/planes/events/", [row]).json()["accepted"] == 1
    changed = as_owner.patch("/api/streams/planes/", {"deleted": None}, content_type="application/json")
    assert (changed.json()["key"], changed.json()["deleted"]) == (["tail"], None)
    plain = {"kind": "stream", "key": []}
    changed = as_owner.patch("/api/streams/planes/", plain, content_type="application/json")
    assert (changed.json()["kind"], changed.json()["key"]) == ("stream", [])


def test_what_is_read_as_a_stream_does_not_become_a_table(as_owner: Client, query: Query) -> None:
    change = {"kind": "table", "key": ["origin"]}
    refused = as_owner.patch("/api/streams/weather/", change, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (409, "stream-in-use")


def test_names_are_taken_once(as_owner: Client, post: Post, query: Query) -> None:
    for name in ("weather", "windy"):
        answer = post(as_owner, "/api/streams/", {**SENSORS, "name": name})
        assert (answer.status_code, answer.json()["code"]) == (409, "name-taken")


def test_who_may(
    as_teammate: Client, anonymous: Client, as_operator: Client, streams: dict[str, Stream]
) -> None:
    change = {"lateness_ms": 1}
    assert as_teammate.get("/api/streams/weather/").status_code == 200
    assert (
        as_teammate.patch("/api/streams/weather/", change, content_type="application/json").status_code == 403
    )
    assert as_teammate.delete("/api/streams/weather/").status_code == 403
    assert (
        as_operator.patch("/api/streams/weather/", change, content_type="application/json").status_code == 200
    )
    for url in ("/api/streams/", "/api/streams/weather/", "/api/streams/weather/sample/"):
        assert anonymous.get(url).status_code == 403
    assert (
        anonymous.post("/api/streams/weather/events/", {}, content_type="application/json").status_code == 403
    )


def test_events_come_back_as_a_sample_newest_first(
    as_owner: Client, post: Post, streams: dict[str, Stream], bus: redis.Redis
) -> None:
    one = {"at": "2013-01-01T10:00:00+02:00", "origin": "JFK", "wind": 12}
    answer = post(as_owner, "/api/streams/weather/events/", one)
    assert (answer.status_code, answer.json()["accepted"]) == (202, 1)
    lines = '{"at": "2013-01-01T09:00:00", "origin": "LGA"}\n\n{"at": "2013-01-01T10:00:00Z"}\n'
    answer = as_owner.post("/api/streams/weather/events/", lines, content_type="application/x-ndjson")
    assert answer.json()["accepted"] == 2
    assert answer.json()["last_id"] == bus.xrevrange(stream_key("weather"), count=1)[0][0]
    sample = as_owner.get("/api/streams/weather/sample/?limit=3").json()
    assert sample["columns"][0] == {"name": "at", "type": "timestamp"}
    assert sample["rows"] == [
        {"at": "2013-01-01T10:00:00Z", "origin": None, "wind": None},
        {"at": "2013-01-01T09:00:00Z", "origin": "LGA", "wind": None},
        {"at": "2013-01-01T08:00:00Z", "origin": "JFK", "wind": 12.0},
    ]
    assert as_owner.get("/api/streams/weather/").json()["entries"] == 3


def test_a_sample_shows_arrow_entries_too_and_leaves_rubbish_out(
    as_owner: Client, streams: dict[str, Stream], bus: redis.Redis
) -> None:
    table = pa.table({"origin": ["JFK", "LGA"], "wind": [1.5, float("nan")]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    bus.xadd(stream_key("weather"), {"arrow": sink.getvalue().to_pybytes()})
    bus.xadd(stream_key("weather"), {"json": "{"})
    bus.xadd(stream_key("weather"), {"arrow": b"none"})
    rows = as_owner.get("/api/streams/weather/sample/").json()["rows"]
    assert [(row["origin"], row["wind"]) for row in rows] == [("LGA", "nan"), ("JFK", 1.5)]


@pytest.mark.parametrize(
    ("events", "path", "code"),
    [
        ({"at": "yesterday"}, "at", "bad-value"),
        ({"origin": "JFK"}, "at", "no-event-time"),
        ({"at": "2013-01-01", "wnd": 1}, "wnd", "unknown-column"),
        ([{"at": "2013-01-01"}, {"at": "2013-01-01", "wind": "strong"}], "1.wind", "bad-value"),
        ([{"at": "2013-01-01"}, 7], "1", "bad-event"),
        ([{"at": "2013-01-01", "wind": 10**400}], "0.wind", "bad-value"),
    ],
)
def test_one_bad_event_refuses_all_and_names_its_place(
    as_owner: Client,
    post: Post,
    streams: dict[str, Stream],
    bus: redis.Redis,
    events: object,
    path: str,
    code: str,
) -> None:
    answer = post(as_owner, "/api/streams/weather/events/", events)
    assert answer.status_code == 400
    problem = answer.json()["errors"][0]
    assert (problem["path"], problem["code"]) == (path, code)
    assert bus.xlen(stream_key("weather")) == 0


@pytest.mark.parametrize(
    "body", ["{", "[" * 100_000, '{"at": NaN}', "9" * 5000, '{"\\ud800": "\\ud800"}', b"\xff"]
)
def test_no_body_is_a_server_error(as_owner: Client, streams: dict[str, Stream], body: str | bytes) -> None:
    for kind in ("application/json", "application/x-ndjson"):
        answer = as_owner.post("/api/streams/weather/events/", body, content_type=kind)
        assert answer.status_code == 400, kind


def test_a_body_has_a_limit(as_owner: Client, streams: dict[str, Stream], settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    body = json.dumps([{"at": "2013-01-01"}] * 10)
    assert (
        as_owner.post("/api/streams/weather/events/", body, content_type="application/json").status_code
        == 413
    )


def test_a_stream_keeps_so_many_events(
    as_owner: Client, streams: dict[str, Stream], bus: redis.Redis, settings: Any
) -> None:
    settings.MILLRACE_STREAM_ENTRIES = 500.0
    for hour in range(10):
        lines = "\n".join(f'{{"at": "2013-01-01T{hour:02d}:00:00Z", "wind": {n}}}' for n in range(200))
        answer = as_owner.post("/api/streams/weather/events/", lines, content_type="application/x-ndjson")
        assert answer.json()["accepted"] == 200
    # Redis drops whole nodes of a hundred entries.
    assert 500 <= bus.xlen(stream_key("weather")) < 700
    newest = bus.xrevrange(stream_key("weather"), count=1)[0][1]["json"]
    assert '"wind":199.0' in newest or '"wind":199' in newest


def test_a_list_costs_a_fixed_number_of_database_queries(
    as_teammate: Client, owner: User, team: Team, streams: dict[str, Stream]
) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert as_teammate.get("/api/streams/").status_code == 200
        return len(seen)

    one = cost()
    for number in range(5):
        spec = StreamSpec(f"s{number}", (("ts", ColumnType.TIMESTAMP),), "ts")
        give_stream(owner, create_stream(owner, spec), team.name)
    assert cost() == one
