"""Streams that have a history in files before they go live."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from backend.streams.queries import load_catalog
from jobs.sources.history.settings import FolderHistory
from jobs.sources.kafka.topic import KafkaTopic
from tests.api.streams.test_streams import SENSORS, Post

HISTORY = {"folder": "landing/sensors", "format": "csv", "pattern": "*.csv"}
EVENT = {"at": "2026-01-01T00:00:00Z", "level": 1}


@pytest.fixture(autouse=True)
def landing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "landing"
    (folder / "sensors").mkdir(parents=True)
    (folder / "sensors" / "a.csv").write_text("at,level\n2026-01-01T00:00:00Z,1\n")
    monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", f"landing={folder}")
    monkeypatch.setenv("MILLRACE_KAFKA_SERVERS", "127.0.0.1:9092")
    return folder


def registered() -> Any:
    (stream,) = (stream for stream in load_catalog() if stream.name == "sensors")
    return stream.source


def test_a_history_before_what_is_sent_is_registered_shown_and_sent_to(as_owner: Client, post: Post) -> None:
    given = {**HISTORY, "start": "1767225600000-0"}
    made = post(as_owner, "/api/streams/", {**SENSORS, "history": given})
    assert made.status_code == 201, made.json()
    assert made.json()["history"] == {**given, "faulty": "fail", "most_per_batch": None}
    assert (made.json()["kafka"], made.json()["files"]) == (None, None)
    assert registered() == FolderHistory("landing/sensors", "*.csv", "csv", start="1767225600000-0")
    sent = post(as_owner, "/api/streams/sensors/events/", EVENT)
    assert sent.status_code in (200, 201, 202), sent.json()


def test_a_history_before_a_topic_has_the_settings_of_both(as_owner: Client, post: Post) -> None:
    history = {**HISTORY, "start": "0: 1200, 1: 1180"}
    made = post(as_owner, "/api/streams/", {**SENSORS, "history": history, "kafka": {"topic": "s"}})
    assert made.status_code == 201, made.json()
    assert (made.json()["history"]["start"], made.json()["kafka"]["topic"]) == ("0: 1200, 1: 1180", "s")
    first = FolderHistory("landing/sensors", "*.csv", "csv", start="0: 1200, 1: 1180")
    assert registered() == first.followed_by(KafkaTopic("s"))
    refused = post(as_owner, "/api/streams/sensors/events/", EVENT)
    assert (refused.status_code, refused.json()["code"]) == (409, "topic-stream")
    assert "the folder landing/sensors, then the topic s" in refused.json()["detail"]


def test_parts_come_and_go_by_themselves(as_owner: Client, post: Post) -> None:
    post(as_owner, "/api/streams/", {**SENSORS, "history": HISTORY})
    steps: list[tuple[dict[str, Any], set[str]]] = [
        ({"kafka": {"topic": "s"}}, {"history", "kafka"}),
        ({"lateness_ms": 5}, {"history", "kafka"}),
        ({"history": None}, {"kafka"}),
        ({"history": HISTORY}, {"history", "kafka"}),
        ({"kafka": None}, {"history"}),
        ({"files": HISTORY}, {"files"}),
        ({"history": HISTORY}, {"history"}),
        ({"history": None}, set()),
    ]
    for change, expected in steps:
        answer = as_owner.patch("/api/streams/sensors/", change, content_type="application/json")
        assert answer.status_code == 200, answer.json()
        shown = {name for name in ("files", "history", "kafka") if answer.json()[name] is not None}
        assert shown == expected, change


@pytest.mark.parametrize(
    ("document", "connector", "setting"),
    [
        ({"history": {**HISTORY, "start": "now"}}, "history", "start"),
        ({"history": {**HISTORY, "start": "2026-01-01T00:00:00"}}, "history", "start"),
        ({"history": {**HISTORY, "start": "0: 5"}}, "history", "start"),
        ({"history": {**HISTORY, "start": "5-0"}, "kafka": {"topic": "s"}}, "history", "start"),
        ({"history": HISTORY, "kafka": {"topic": "s", "start": "latest"}}, "history", "start"),
        ({"history": {**HISTORY, "folder": "landing/../etc"}}, "history", "folder"),
        ({"history": {"format": "csv"}}, "history", None),
        ({"history": HISTORY, "files": HISTORY}, "history", None),
        ({"kafka": {"topic": "s"}, "files": HISTORY}, "files", None),
    ],
)
def test_a_history_that_cannot_be_is_400(
    as_owner: Client, post: Post, document: dict[str, Any], connector: str, setting: str | None
) -> None:
    answer = post(as_owner, "/api/streams/", {**SENSORS, **document})
    assert answer.status_code == 400, answer.json()
    assert list(answer.json()) == [connector]
    if setting is not None:
        assert list(answer.json()[connector]) == [setting]


def test_a_start_that_does_not_fit_what_is_left_is_400(as_owner: Client, post: Post) -> None:
    history = {**HISTORY, "start": "0: 5"}
    post(as_owner, "/api/streams/", {**SENSORS, "history": history, "kafka": {"topic": "s"}})
    answer = as_owner.patch("/api/streams/sensors/", {"kafka": None}, content_type="application/json")
    assert (answer.status_code, list(answer.json())) == (400, ["history"])


def test_the_first_file_is_looked_at_and_told_of_by_its_setting(as_owner: Client, post: Post) -> None:
    columns = [*SENSORS["columns"], {"name": "place", "type": "string"}]  # type: ignore[misc]
    answer = post(as_owner, "/api/streams/", {**SENSORS, "columns": columns, "history": HISTORY})
    assert answer.status_code == 400
    (problem,) = answer.json()["errors"]
    assert problem["path"] == "history.folder"
    assert "a column place of type string" in problem["message"]


def test_what_is_missing_for_either_part_is_said(
    as_owner: Client, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MILLRACE_FILES_DIRECTORIES")
    monkeypatch.delenv("MILLRACE_KAFKA_SERVERS")
    answer = post(as_owner, "/api/streams/", {**SENSORS, "history": HISTORY, "kafka": {"topic": "s"}})
    assert answer.status_code == 400
    assert [problem["path"] for problem in answer.json()["errors"]] == ["history", "kafka"]


def test_the_form_knows_before_what_a_history_may_stand(as_outsider: Client) -> None:
    found = {one["name"]: one["precedes"] for one in as_outsider.get("/api/connectors/").json()}
    assert found == {"files": None, "history": ["kafka"], "kafka": None}
