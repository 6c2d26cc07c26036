"""Streams whose tuples a Kafka topic brings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from backend.streams.models import Stream
from backend.streams.queries import load_catalog
from jobs.sources.kafka.topic import KafkaTopic
from tests.api.streams.test_streams import SENSORS, Post

SCHEMA = json.dumps({"type": "record", "name": "sensors", "fields": []})


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_KAFKA_SERVERS", "127.0.0.1:9092")
    monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", "landing=/srv/landing")


def test_a_topic_is_registered_shown_and_planned_with(as_owner: Client, post: Post) -> None:
    given = {"topic": "sensors-1", "format": "avro", "schema": SCHEMA, "schema_id": 7, "lost": "skip"}
    made = post(as_owner, "/api/streams/", {**SENSORS, "kafka": given})
    assert made.status_code == 201, made.json()
    shown = as_owner.get("/api/streams/sensors/").json()["kafka"]
    assert {name: shown[name] for name in given} == given
    assert shown["start"] == "earliest"
    (stream,) = (stream for stream in load_catalog() if stream.name == "sensors")
    assert stream.source == KafkaTopic("sensors-1", "avro", SCHEMA, 7, lost="skip")


def test_a_topic_comes_and_goes_while_nobody_reads_the_stream(as_owner: Client, post: Post) -> None:
    assert post(as_owner, "/api/streams/", SENSORS).json()["kafka"] is None
    for wanted in ({"topic": "a"}, {"topic": "b"}, None):
        answer = as_owner.patch("/api/streams/sensors/", {"kafka": wanted}, content_type="application/json")
        assert answer.status_code == 200, answer.json()
        kafka = answer.json()["kafka"]
        assert (kafka and kafka["topic"]) == (wanted and wanted["topic"])
    other = as_owner.patch("/api/streams/sensors/", {"lateness_ms": 5}, content_type="application/json")
    assert other.json()["kafka"] is None


@pytest.mark.usefixtures("query")
def test_a_stream_that_queries_read_keeps_where_its_tuples_come_from(as_owner: Client) -> None:
    refused = as_owner.patch(
        "/api/streams/weather/", {"kafka": {"topic": "w"}}, content_type="application/json"
    )
    assert (refused.status_code, refused.json()["code"]) == (409, "stream-in-use")


@pytest.mark.parametrize(
    "topic",
    [
        {"topic": "a b"},
        {"topic": ""},
        {},
        {"topic": "a", "format": "avro"},
        {"topic": "a", "format": "avro", "schema": "{"},
        {"topic": "a", "schema": SCHEMA},
        {"topic": "a", "most_per_batch": 0},
        {"topic": "a", "start": "yesterday"},
    ],
)
def test_a_topic_that_cannot_be_is_400(as_owner: Client, post: Post, topic: dict[str, Any]) -> None:
    answer = post(as_owner, "/api/streams/", {**SENSORS, "kafka": topic})
    assert answer.status_code == 400
    assert list(answer.json()) == ["kafka"]


def test_keys_need_a_column_that_can_hold_them(as_owner: Client, post: Post) -> None:
    answer = post(as_owner, "/api/streams/", {**SENSORS, "kafka": {"topic": "a", "key": "at"}})
    assert answer.status_code == 400
    assert [problem["path"] for problem in answer.json()["errors"]] == ["kafka.key"]


def test_a_deployment_without_a_cluster_says_so(
    as_owner: Client, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MILLRACE_KAFKA_SERVERS")
    (kafka,) = (one for one in as_owner.get("/api/connectors/").json() if one["name"] == "kafka")
    assert "MILLRACE_KAFKA_SERVERS" in kafka["missing"]
    answer = post(as_owner, "/api/streams/", {**SENSORS, "kafka": {"topic": "a"}})
    assert answer.status_code == 400
    assert "MILLRACE_KAFKA_SERVERS" in answer.json()["errors"][0]["message"]


def test_events_for_a_topic_are_refused(as_owner: Client, post: Post) -> None:
    post(as_owner, "/api/streams/", {**SENSORS, "kafka": {"topic": "a"}})
    answer = post(as_owner, "/api/streams/sensors/events/", {"at": "2026-01-01T00:00:00Z"})
    assert (answer.status_code, answer.json()["code"]) == (409, "topic-stream")
    assert Stream.objects.get(name="sensors").source.settings["topic"] == "a"


def test_the_form_of_a_topic_is_made_from_what_the_api_says_of_it(as_outsider: Client) -> None:
    """Every setting has a label and a help text, and none is a secret: they are in plans."""
    for connector in as_outsider.get("/api/connectors/").json():
        assert connector["title"]
        assert connector["missing"] is None
        for field in connector["settings"]["properties"].values():
            assert field["title"]
            assert field["description"]
            assert not field.get("writeOnly")
