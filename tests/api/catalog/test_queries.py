"""The catalog over HTTP: versions never change, owners edit, everybody reads and searches."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
import redis
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from backend.accounts.models import Team
from backend.catalog.actions import add_version, create_query
from backend.catalog.models import Query, QueryVersion
from backend.deployments.actions import create_topology, deploy_query
from backend.streams.models import Stream
from jobs.protocol import appended_key, results_key
from jobs.sinks.connector import KeyedTable, TableChanges
from jobs.sinks.redis_table import CurrentTables

TWO_WAY = """SELECT d.flight, w.wind FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 1 HOUR] AS w
WHERE d.origin = w.origin
"""
Post = Callable[..., Any]


def test_a_query_is_written_and_shown(as_owner: Client, post: Post, streams: dict[str, Stream]) -> None:
    made = post(as_owner, "/api/queries/", {"name": "windy", "sql": TWO_WAY, "tags": ["wind"]})
    assert made.status_code == 201, made.content
    document = made.json()
    assert document["streams"] == ["departures", "weather"]
    assert document["inputs"] == [
        {"alias": "d", "stream": "departures", "window_ms": 3_600_000.0},
        {"alias": "w", "stream": "weather", "window_ms": 3_600_000.0},
    ]
    assert document["outputs"] == [{"name": "flight", "type": "string"}, {"name": "wind", "type": "double"}]
    assert (document["version"], document["status"], document["topology"]) == (1, "draft", None)
    assert (document["owner"], document["can_edit"], document["tags"]) == ("ann", True, ["wind"])
    assert as_owner.get(f"/api/queries/{document['id']}/").json() == document
    assert as_owner.get("/api/queries/").json() == [document]


def test_a_version_is_added_and_the_old_one_stays(as_owner: Client, post: Post, query: Query) -> None:
    first = as_owner.get(f"/api/queries/{query.pk}/").json()
    url = f"/api/queries/{query.pk}/versions/"
    assert post(as_owner, url, {"sql": first["sql"]}).status_code == 200
    second = post(as_owner, url, {"sql": TWO_WAY})
    assert (second.status_code, second.json()["version"]) == (201, 2)
    listed = as_owner.get(url).json()
    assert [(one["number"], one["sql"], one["created_by"]) for one in listed] == [
        (2, TWO_WAY, "ann"),
        (1, first["sql"], "ann"),
    ]


def test_a_text_without_meaning_is_refused_with_its_places(
    as_owner: Client, post: Post, query: Query
) -> None:
    sql = "SELECT d.flihgt\nFROM departures [RANGE 1 HOUR] AS d,\n  wether [RANGE 1 HOUR] AS w"
    for url, document in (
        ("/api/queries/", {"name": "bad", "sql": sql}),
        (f"/api/queries/{query.pk}/versions/", {"sql": sql}),
    ):
        answer = post(as_owner, url, document)
        assert answer.status_code == 400
        places = {(error["line"], error["suggestion"]) for error in answer.json()["errors"]}
        assert (3, "weather") in places
    assert not Query.objects.filter(name="bad").exists()
    assert query.versions.count() == 1


def test_a_view_is_pinned_to_the_version_that_was_read(
    as_owner: Client, owner: User, query: Query, streams: dict[str, Stream]
) -> None:
    reader = create_query(owner, "strong", "SELECT v.flight FROM windy AS v WHERE v.wind > 30")
    assert [str(version) for version in reader.versions.get().reads.all()] == ["windy v1"]
    before = as_owner.get(f"/api/queries/{reader.pk}/").json()
    assert before["streams"] == ["arrivals", "departures", "weather"]
    assert add_version(owner, query, TWO_WAY)
    assert as_owner.get(f"/api/queries/{reader.pk}/").json()["streams"] == before["streams"]
    assert as_owner.delete(f"/api/queries/{query.pk}/").json()["code"] == "query-in-use"


def test_a_query_cannot_read_itself(as_owner: Client, post: Post, query: Query) -> None:
    url = f"/api/queries/{query.pk}/versions/"
    answer = post(as_owner, url, {"sql": "SELECT v.flight FROM windy AS v"})
    assert (answer.status_code, answer.json()["errors"][0]["found"]) == (400, "stream windy")


def test_search_narrows(
    as_owner: Client, as_teammate: Client, owner: User, teammate: User, team: Team, query: Query
) -> None:
    create_query(teammate, "calm", TWO_WAY.replace("w.wind", "w.wind AS calm_wind"), "", ["still"])

    def names(search: str) -> list[str]:
        return [one["name"] for one in as_owner.get("/api/queries/", {"search": search}).json()]

    assert names("") == ["calm", "windy"]
    assert names("LATE wind") == ["windy"]
    assert names("calm_wind") == ["calm"]
    assert names("stream:arrivals") == ["windy"]
    assert names("owner:bob stream:weather") == ["calm"]
    assert names("tag:delay") == ["windy"]
    assert names("status:draft still") == ["calm"]
    assert names("status:running") == []
    assert names("d.origin = w.origin") == ["calm", "windy"]
    assert names("%_") == []
    assert names("owner:me") == ["windy"]
    assert names("name:al owner:bob") == ["calm"]
    assert names("team:airside") == []
    Query.objects.filter(name="calm").update(team=team)
    assert names("team:airside") == ["calm"]
    as_teammate.put(f"/api/queries/{query.pk}/favourite/")
    assert names("is:favourite") == []
    as_owner.put(f"/api/queries/{query.pk}/favourite/")
    assert names("is:favourite") == ["windy"]


def test_who_may(
    as_teammate: Client, as_operator: Client, anonymous: Client, post: Post, query: Query
) -> None:
    url = f"/api/queries/{query.pk}/"
    assert as_teammate.get(url).json()["can_edit"] is False
    assert as_operator.get(url).json()["can_edit"] is True
    assert post(as_teammate, f"{url}versions/", {"sql": TWO_WAY}).status_code == 403
    assert post(as_teammate, f"{url}deploy/").status_code == 403
    assert post(as_teammate, f"{url}undeploy/").status_code == 403
    assert as_teammate.patch(url, {"tags": []}, content_type="application/json").status_code == 403
    assert as_teammate.delete(url).status_code == 403
    for path in ("", "versions/", "results/"):
        assert anonymous.get(url + path).status_code == 403
    assert post(anonymous, "/api/queries/", {"name": "x", "sql": TWO_WAY}).status_code == 403
    assert as_operator.delete(url).status_code == 204
    assert not QueryVersion.objects.exists()


@pytest.mark.parametrize("name", ["windy", "last", "result", "results", "appended", "dead", "events"])
def test_a_deleted_query_leaves_no_results_in_redis_and_those_of_others(
    name: str,
    as_owner: Client,
    owner: User,
    streams: object,
    bus: redis.Redis,
    django_capture_on_commit_callbacks: Any,
) -> None:
    deleted = create_query(owner, name, TWO_WAY)
    kept = set()
    for topology in ("flights", "last", "results"):
        create_topology(topology)
        for query in (name, f"{name}-er", "another"):
            tail = results_key(topology, query)
            bus.xadd(tail, {"json": "{}", "batch": 1})
            bus.hset(appended_key(tail), "batch", 1)
            if query != name:
                kept |= {tail, appended_key(tail)}
    with django_capture_on_commit_callbacks(execute=True):
        assert as_owner.delete(f"/api/queries/{deleted.pk}/").status_code == 204
    assert set(bus.keys("millrace:*")) == kept


def test_description_and_tags_change(as_owner: Client, query: Query) -> None:
    url = f"/api/queries/{query.pk}/"
    changed = as_owner.patch(url, {"tags": ["a", "b", "a"]}, content_type="application/json").json()
    assert (changed["tags"], changed["description"], changed["version"]) == (
        ["a", "b"],
        "Late in the wind",
        1,
    )


@pytest.mark.parametrize(
    "name", ["", "Windy", "9lives", "a b", "a" * 64, "é", "a\nb", "../x", None, 7, ["a"]]
)
def test_a_name_is_a_name(as_owner: Client, post: Post, streams: dict[str, Stream], name: object) -> None:
    answer = post(as_owner, "/api/queries/", {"name": name, "sql": TWO_WAY})
    assert (answer.status_code, list(answer.json())) == (400, ["name"])


def test_names_are_taken_once(as_owner: Client, post: Post, query: Query) -> None:
    for name in ("windy", "weather"):
        answer = post(as_owner, "/api/queries/", {"name": name, "sql": TWO_WAY})
        assert (answer.status_code, answer.json()["code"]) == (409, "name-taken")


def test_results_come_from_the_tail_of_the_topology(
    as_owner: Client, owner: User, query: Query, bus: redis.Redis
) -> None:
    url = f"/api/queries/{query.pk}/results/"
    assert as_owner.get(url).json()["rows"] == []
    deploy_query(owner, query, "flights")
    for batch, wind in ((1, 21.0), (2, 30.5)):
        row = {"flight": "UA1", "wind": wind, "delay": None}
        bus.xadd(results_key("flights", "windy"), {"json": json.dumps(row), "batch": batch})
    found = as_owner.get(url, {"limit": 1}).json()
    assert found["rows"] == [{"flight": "UA1", "wind": 30.5, "delay": None}]
    assert (found["batches"], len(found["ids"])) == ([2], 1)
    assert [column["name"] for column in found["columns"]] == ["flight", "wind", "delay"]


def test_rows_of_running_groups_are_their_table(
    as_owner: Client, owner: User, query: Query, bus: redis.Redis
) -> None:
    deploy_query(owner, query, "flights")
    url, tables = f"/api/queries/{query.pk}/results/", CurrentTables(bus, "flights", "c")

    def changes(before: int, *rows: tuple[str | None, float | None, bool], begin: int = 1) -> TableChanges:
        flights, winds, gone = (list(column) for column in zip(*rows, strict=True))
        part = pa.table({"flight": flights, "wind": winds, "delay": [None] * len(rows), "_deleted": gone})
        return TableChanges((part,), KeyedTable(("flight",), begin, before + len(rows)), before)

    def table(**limit: int) -> dict[str, Any]:
        found: dict[str, Any] = as_owner.get(url, limit).json()["table"]
        return found

    first = changes(0, ("UA1", 1.0, False), (None, 2.0, False), ("UA2", 3.0, False))
    tables.change(1, "windy", first)
    tables.change(2, "windy", changes(3, ("UA1", 9.0, False), ("UA2", None, True)))
    tables.change(2, "windy", first)  # A batch that is told again is passed over.
    found = as_owner.get(url).json()
    assert found["rows"] == [
        {"flight": "UA1", "wind": 9.0, "delay": None},
        {"flight": None, "wind": 2.0, "delay": None},
    ]
    assert found["batches"] == [2, 1]
    assert table() == {"rows": 2, "whole": True, "batch": 2, "counted_from": None}
    assert table(limit=1)["rows"] == 2
    told = as_owner.get(f"{url}download/").content.decode().splitlines()
    assert told == ["flight,wind,delay", ",2.0,", "UA1,9.0,"]
    # Of a batch that never arrived nothing is known, until a job starts and tells all of it.
    tables.change(4, "windy", changes(8, ("UA5", 5.0, False)))
    assert table() == {"rows": 3, "whole": False, "batch": 4, "counted_from": None}
    all_rows = replace(changes(8, ("UA7", 7.0, False)), is_all=True, counted_from_us=1_500_000)
    tables.change(4, "windy", all_rows)
    assert table() == {"rows": 1, "whole": True, "batch": 4, "counted_from": "1970-01-01T00:00:01.500000Z"}
    # Groups that begin anew leave nothing of those before, also while nothing is found.
    tables.change(6, "windy", TableChanges((), KeyedTable(("flight",), 6, 0), 0))
    assert (as_owner.get(url).json()["rows"], table()["whole"]) == ([], True)
    tables.change(7, "windy", changes(0, ("UA8", 8.0, False), begin=6))
    assert [row["flight"] for row in as_owner.get(url).json()["rows"]] == ["UA8"]
    assert table() == {"rows": 1, "whole": True, "batch": 7, "counted_from": None}
    tables.forget("windy")
    assert as_owner.get(url).json()["table"] is None


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "9" * 40, "x", "1\x00"])
def test_a_bad_limit_is_400(as_owner: Client, query: Query, limit: str) -> None:
    answer = as_owner.get(f"/api/queries/{query.pk}/results/", {"limit": limit})
    assert (answer.status_code, list(answer.json())) == (400, ["limit"])


@pytest.mark.parametrize("key", ["99999999999999999999", "-1", "0x1", "999999999"])
def test_an_unknown_key_is_404(as_owner: Client, db: None, key: str) -> None:
    assert as_owner.get(f"/api/queries/{key}/").status_code == 404


def test_a_list_costs_a_fixed_number_of_database_queries(as_owner: Client, owner: User, query: Query) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as seen:
            as_owner.get("/api/queries/")
        return len(seen)

    deploy_query(owner, query, "flights")
    one = cost()
    for number in range(5):
        deploy_query(owner, create_query(owner, f"q{number}", TWO_WAY), "flights")
    assert cost() == one
