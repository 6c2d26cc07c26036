"""Streams that are the files of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from backend.streams.queries import load_catalog
from jobs.sources.folder.files import FolderFiles
from tests.api.streams.test_streams import SENSORS, Post

FILES = {"folder": "landing/sensors", "format": "csv", "pattern": "*.csv", "most_per_batch": 1000}


@pytest.fixture(autouse=True)
def landing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "landing"
    (folder / "sensors").mkdir(parents=True)
    (folder / "sensors" / "a.csv").write_text("at,level\n2026-01-01T00:00:00Z,1\n")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.csv").write_text("at,level\n2026-01-01T00:00:00Z,1\n")
    (folder / "linked").symlink_to(tmp_path / "secret")
    monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", f"landing={folder}")
    return folder


def test_a_folder_is_registered_shown_and_planned_with(as_owner: Client, post: Post) -> None:
    made = post(as_owner, "/api/streams/", {**SENSORS, "files": FILES})
    assert made.status_code == 201, made.json()
    assert made.json()["files"] == {**FILES, "faulty": "fail"}
    (stream,) = (stream for stream in load_catalog() if stream.name == "sensors")
    assert stream.source == FolderFiles("landing/sensors", "*.csv", "csv", most_per_batch=1000)


@pytest.mark.parametrize(
    "folder", ["/etc", "../secret", "landing/../../secret", "landing/../secret", "landing/./sensors", "", 7]
)
def test_a_folder_that_leads_out_is_400(as_owner: Client, post: Post, folder: Any) -> None:
    answer = post(as_owner, "/api/streams/", {**SENSORS, "files": {**FILES, "folder": folder}})
    assert answer.status_code == 400
    assert list(answer.json()) == ["files"]
    assert list(answer.json()["files"]) == ["folder"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"folder": "landing/linked"}, "files.folder"),
        ({"folder": "landing/none"}, "files.folder"),
        ({"folder": "secret"}, "files.folder"),
        ({"pattern": "*.json"}, "files.pattern"),
        ({"format": "parquet"}, "files.format"),
        ({"format": "json"}, "files.format"),
    ],
)
def test_what_a_look_into_the_folder_finds_wrong_is_400_with_its_place(
    as_owner: Client, post: Post, change: dict[str, str], path: str
) -> None:
    answer = post(as_owner, "/api/streams/", {**SENSORS, "files": {**FILES, **change}})
    assert answer.status_code == 400, answer.json()
    assert [problem["path"] for problem in answer.json()["errors"]] == [path]


def test_files_without_the_columns_are_400(as_owner: Client, post: Post) -> None:
    columns = [*SENSORS["columns"], {"name": "place", "type": "string"}]  # type: ignore[misc]
    answer = post(as_owner, "/api/streams/", {**SENSORS, "columns": columns, "files": FILES})
    assert answer.status_code == 400
    (problem,) = answer.json()["errors"]
    assert problem["path"] == "files.folder"
    assert "a column place of type string" in problem["message"]


def test_only_who_may_change_a_stream_gives_it_a_folder(
    as_owner: Client, as_outsider: Client, post: Post, landing: Path
) -> None:
    post(as_owner, "/api/streams/", SENSORS)
    for client, status in ((as_outsider, 403), (as_owner, 200)):
        answer = client.patch("/api/streams/sensors/", {"files": FILES}, content_type="application/json")
        assert answer.status_code == status, answer.json()
    refused = post(as_owner, "/api/streams/sensors/events/", {"at": "2026-01-01T00:00:00Z"})
    assert (refused.status_code, "the folder landing/sensors" in refused.json()["detail"]) == (409, True)
    # What else changes needs no look at a folder that is away for a while.
    (landing / "sensors").rename(landing / "away")
    later = as_owner.patch("/api/streams/sensors/", {"lateness_ms": 7}, content_type="application/json")
    assert (later.status_code, later.json()["files"]["folder"]) == (200, "landing/sensors")


def test_a_deployment_without_directories_says_so(
    as_owner: Client, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MILLRACE_FILES_DIRECTORIES")
    answer = post(as_owner, "/api/streams/", {**SENSORS, "files": FILES})
    assert answer.status_code == 400
    assert "MILLRACE_FILES_DIRECTORIES" in answer.json()["errors"][0]["message"]
    (files,) = (one for one in as_owner.get("/api/connectors/").json() if one["name"] == "files")
    assert "MILLRACE_FILES_DIRECTORIES" in files["missing"]
