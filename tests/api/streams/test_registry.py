"""Streams whose columns come from a schema registry, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from backend.bounded import pool as pools
from backend.bounded.caller import Caller
from backend.bounded.pool import Pool
from backend.bounded.turns import Gone, Turns
from backend.bounded.worker import Limits
from optimizer.logical.source import read_settings
from tests.api.bounded.test_pool import MEMORY, until
from tests.api.streams.test_streams import SENSORS, Post
from tests.registry.stand_in import StandIn

URL = "/api/schema-registry/columns/"
PASSWORD = "a-secret-of-the-registry"
AT = {"type": "long", "logicalType": "timestamp-millis"}
DIRECTORY = {
    "name": "repo",
    "files": {
        "streams.yaml": """
streams:
  sensors:
    columns: {at: timestamp}
    event_time: at
    kafka: {topic: sensors, format: avro, registry: true}
""",
        "queries/sensed.sql": "SELECT s.at FROM sensors s",
    },
}


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    server = StandIn(("millrace", PASSWORD)).start()
    monkeypatch.setenv("MILLRACE_KAFKA_SERVERS", "127.0.0.1:9092")
    monkeypatch.setenv("MILLRACE_SCHEMA_REGISTRY_URL", server.url)
    monkeypatch.setenv("MILLRACE_SCHEMA_REGISTRY_USERNAME", "millrace")
    monkeypatch.setenv("MILLRACE_SCHEMA_REGISTRY_PASSWORD", PASSWORD)
    yield server
    server.stop()


def _avro(**fields: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": "s",
        "fields": [{"name": n, "type": kind} for n, kind in fields.items()],
    }


def _kafka(**settings: Any) -> dict[str, Any]:
    return {**SENSORS, "kafka": {"topic": "sensors", "format": "avro", "registry": True, **settings}}


def test_the_newest_schema_as_columns(as_owner: Client, post: Post, registry: StandIn) -> None:
    registry.register("sensors-value", _avro(at=AT))
    number = registry.register(
        "sensors-value",
        _avro(at=AT, value=["null", "double"], tags={"type": "array", "items": "string"}),
    )
    answer = post(as_owner, URL, {"topic": "sensors", "format": "avro"})
    assert answer.status_code == 200, answer.json()
    assert answer.json() == {
        "subject": "sensors-value",
        "schema_id": number,
        "columns": [
            {"name": "at", "found": "timestamp-millis", "type": "timestamp"},
            {"name": "value", "found": "null or double", "type": "double"},
            {"name": "tags", "found": "array", "type": None},
        ],
    }


@pytest.mark.parametrize(
    ("schema", "kind", "form"),
    [
        (
            'syntax = "proto3"; import "google/protobuf/timestamp.proto"; '
            "message S { google.protobuf.Timestamp at = 1; double value = 2; }",
            "PROTOBUF",
            "protobuf",
        ),
        (
            '{"properties": {"at": {"type": "string", "format": "date-time"}, "value": {"type": "number"}}}',
            "JSON",
            "json",
        ),
    ],
)
def test_the_other_formats(
    as_owner: Client, post: Post, registry: StandIn, schema: str, kind: str, form: str
) -> None:
    registry.register("sensors-value", schema, kind)
    columns = post(as_owner, URL, {"topic": "sensors", "format": form}).json()["columns"]
    assert [(one["name"], one["type"]) for one in columns] == [("at", "timestamp"), ("value", "double")]


def test_what_cannot_be_said_is_said_why(as_owner: Client, post: Post, registry: StandIn) -> None:
    registry.register("sensors-value", _avro(at=AT))

    def refusal(subject: str, form: str) -> tuple[int, str, str]:
        answer = post(as_owner, URL, {"topic": "sensors", "subject": subject, "format": form})
        assert PASSWORD not in answer.content.decode()
        return answer.status_code, answer.json()["code"], answer.json()["detail"]

    assert refusal("other-value", "avro")[:2] == (409, "no-schema")
    status, code, told = refusal("sensors-value", "protobuf")
    assert (status, code) == (409, "unusable-schema")
    assert told.endswith("it is Avro instead of Protobuf")
    registry.login = ("millrace", "another")
    status, code, told = refusal("sensors-value", "avro")
    assert (status, code) == (503, "registry-away")
    assert "answers 401" in told
    registry.stop()
    assert refusal("sensors-value", "avro")[:2] == (503, "registry-away")


def test_a_subject_is_no_path(as_owner: Client, post: Post, registry: StandIn) -> None:
    registry.register("../a/b?c", _avro(at=AT))
    answer = post(as_owner, URL, {"topic": "sensors", "subject": "../a/b?c", "format": "avro"})
    assert answer.status_code == 200, answer.json()
    assert registry.asked == ["/subjects/..%2Fa%2Fb%3Fc/versions/latest"]


def test_viewers_do_not_ask(as_viewer: Client, post: Post) -> None:
    answer = post(as_viewer, URL, {"topic": "sensors", "format": "avro"})
    assert answer.status_code == 403


def test_a_stream_is_registered_with_what_fits(as_owner: Client, post: Post, registry: StandIn) -> None:
    registry.register("sensors-value", _avro(at=AT, value="double"))
    made = post(as_owner, "/api/streams/", _kafka())
    assert made.status_code == 201, made.json()
    assert made.json()["kafka"]["registry"] is True
    assert PASSWORD not in made.content.decode()


def test_what_does_not_fit_is_said_at_once(as_owner: Client, post: Post, registry: StandIn) -> None:
    registry.register("sensors-value", _avro(at="string", value="double"))
    refused = post(as_owner, "/api/streams/", _kafka())
    assert refused.status_code == 400
    (problem,) = refused.json()["errors"]
    assert problem["path"] == "kafka.registry"
    assert "schema 1 of sensors-value, in which at is string, not timestamp" in problem["message"]


def test_a_topic_without_schemas_yet_may_be_registered(as_owner: Client, post: Post) -> None:
    assert post(as_owner, "/api/streams/", _kafka()).status_code == 201


def test_a_registry_that_is_away_is_said(as_owner: Client, post: Post, registry: StandIn) -> None:
    registry.stop()
    refused = post(as_owner, "/api/streams/", _kafka())
    assert refused.status_code == 400
    assert "does not answer" in refused.json()["errors"][0]["message"]


def test_a_deployment_without_a_registry_says_so(
    as_owner: Client, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MILLRACE_SCHEMA_REGISTRY_URL")
    refused = post(as_owner, "/api/streams/", _kafka())
    assert refused.status_code == 400
    assert "MILLRACE_SCHEMA_REGISTRY_URL" in refused.json()["errors"][0]["message"]
    assert post(as_owner, URL, {"topic": "a", "format": "avro"}).json()["code"] == "no-registry"


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "protobuf", "registry": False},
        {"schema": "{}"},
        {"schema_id": 3},
        {"registry": "yes please"},
    ],
)
def test_settings_that_cannot_be_are_400(as_owner: Client, post: Post, wrong: dict[str, Any]) -> None:
    answer = post(as_owner, "/api/streams/", _kafka(**wrong))
    assert answer.status_code == 400
    assert list(answer.json()) == ["kafka"]


def test_an_answer_without_an_end_ends(
    as_owner: Client, post: Post, registry: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No read of it times out, so the client's own bound never ends it."""
    pool = Pool(Turns(1, 1, 8, 30.0), Limits(20.0, 600.0, MEMORY), waits=True)
    monkeypatch.setattr(pools, "asking", lambda: pool)
    monkeypatch.setattr(pools, "_hard_at", {})
    registry.register("sensors-value", _avro(at=AT))
    asked = {"topic": "sensors", "format": "avro"}
    assert post(as_owner, URL, asked).status_code == 200
    # Its worker has the library now, which takes a while on a busy machine: the bound is the answer's alone.
    pool.limits = Limits(20.0, 5.0, MEMORY)
    registry.endless = True
    answer = post(as_owner, URL, asked)
    assert (answer.status_code, answer.json()["code"]) == (503, "registry-away")
    assert registry.asked == ["/subjects/sensors-value/versions/latest"] * 2
    assert (pool.turns.in_use, pool.pids) == ((0, 0), [])
    # It was no hard work: the account's plans are made where they were.
    assert pools._hard_at == {}
    refused = post(as_owner, "/api/streams/", _kafka())
    assert (refused.status_code, refused.json()["code"]) == (503, "source-away")
    assert refused.json()["detail"] == "the topic sensors does not answer within 10 s"
    assert as_owner.get("/api/streams/sensors/").status_code == 404
    applied = post(as_owner, "/api/directory/apply/", DIRECTORY)
    assert (applied.status_code, applied.json()["code"]) == (503, "source-away")
    assert as_owner.get("/api/streams/sensors/").status_code == 404


def test_who_waits_for_the_registry_holds_nobody_up(
    as_owner: Client,
    owner: User,
    as_teammate: Client,
    post: Post,
    registry: StandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = Pool(Turns(2, 1, 8, 30.0), Limits(20.0, 600.0, MEMORY), waits=True)
    monkeypatch.setattr(pools, "asking", lambda: pool)
    registry.register("sensors-value", _avro(at=AT))
    asked = {"topic": "sensors", "format": "avro"}
    source = read_settings("kafka", {**asked, "registry": True})
    caller = Caller(owner.pk)
    registry.endless = True
    with ThreadPoolExecutor(1) as people:
        waiting = people.submit(pools.ask, caller, source.offer, None)
        try:
            until(lambda: registry.asked, 60.0)
            registry.endless = False
            assert post(as_teammate, URL, asked).status_code == 200
            refused = post(as_owner, URL, asked)
            assert (refused.status_code, refused.json()["code"]) == (429, "too-many-at-once")
            assert refused.headers["Retry-After"] == "1"
            assert not waiting.done()
        finally:
            caller.gone.set()
        with pytest.raises(Gone):
            waiting.result()
    assert post(as_owner, URL, asked).status_code == 200
    pool.close()
