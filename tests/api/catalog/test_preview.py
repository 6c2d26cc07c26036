"""A preview: DuckDB over what Redis holds, bounded, and honest about what it saw."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import redis
from django.test import Client

from backend.catalog import preview
from backend.streams.models import Stream
from jobs.protocol import stream_key
from optimizer.udf import library
from optimizer.udf.reader import SETTING

Post = Callable[..., Any]
SHIPPED = Path(library.__file__).with_name("functions.yaml")
PAIRS = """SELECT d.flight, w.wind, d.at
FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 1 HOUR] AS w WHERE d.origin = w.origin
"""


@pytest.fixture
def filled(as_owner: Client, post: Post, streams: dict[str, Stream]) -> None:
    winds = [("09:00", "JFK", 10), ("10:30", "JFK", 20), ("10:40", "LGA", 30)]
    rows = [{"at": f"2013-01-01T{at}:00Z", "origin": origin, "wind": wind} for at, origin, wind in winds]
    assert post(as_owner, "/api/streams/weather/events/", rows).status_code == 202
    flights = [("10:00", "JFK", "A"), ("11:00", "JFK", "B"), ("11:10", "JFK", "C"), ("11:00", "LGA", None)]
    rows = [{"at": f"2013-01-01T{at}:00Z", "origin": o, "flight": f} for at, o, f in flights]
    assert post(as_owner, "/api/streams/departures/events/", rows).status_code == 202


def test_an_outer_join_over_what_is_retained(as_outsider: Client, post: Post, filled: None) -> None:
    sql = PAIRS.replace(", weather [RANGE 1 HOUR] AS w WHERE", " LEFT JOIN weather [RANGE 5 MINUTES] AS w ON")
    answer = post(as_outsider, "/api/sql/preview/", {"sql": sql}).json()
    rows = sorted((row["flight"] or "", row["wind"] or 0.0) for row in answer["rows"])
    # Of the winds only that of 10:30 is no more than 5 minutes older than a flight.
    assert rows == [("", 0.0), ("A", 20.0), ("B", 0.0), ("C", 0.0)]


def test_the_newest_partner_of_each_newest_first(as_outsider: Client, post: Post, filled: None) -> None:
    sql = """SELECT d.flight, d.at, w.wind FROM departures AS d
        ASOF LEFT JOIN weather [RANGE 1 HOUR] AS w ON d.origin = w.origin AND d.at >= w.at"""
    answer = post(as_outsider, "/api/sql/preview/", {"sql": sql, "limit": 3}).json()
    rows = [(row["flight"], row["wind"]) for row in answer["rows"]]
    assert (rows[0], sorted(rows[1:], key=repr)) == (("C", 20.0), [("B", 20.0), (None, 30.0)])
    assert answer["more"], "of A"


def test_groups_without_an_end_are_a_table(as_outsider: Client, post: Post, filled: None) -> None:
    def rows(sql: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = post(as_outsider, "/api/sql/preview/", {"sql": sql}).json()["rows"]
        return found

    busy = "SELECT origin, COUNT(*) AS n, MAX(flight) AS last FROM departures GROUP BY origin"
    assert rows(f"{busy} HAVING COUNT(*) > 1") == [{"origin": "JFK", "n": 3, "last": "C"}]
    assert rows("SELECT COUNT(*) AS n, SUM(wind) AS s FROM weather WHERE wind > 99") == [{"n": 0, "s": None}]
    assert sorted(row["origin"] for row in rows("SELECT DISTINCT origin FROM departures")) == ["JFK", "LGA"]  # type: ignore[type-var]


def test_results_over_what_is_retained_newest_first(as_outsider: Client, post: Post, filled: None) -> None:
    answer = post(as_outsider, "/api/sql/preview/", {"sql": PAIRS}).json()
    assert answer["columns"] == [
        {"name": "flight", "type": "string"},
        {"name": "wind", "type": "double"},
        {"name": "at", "type": "timestamp"},
    ]
    rows = [(row["flight"], row["wind"], row["at"]) for row in answer["rows"]]
    assert rows[0] == ("C", 20.0, "2013-01-01T11:10:00Z")
    # 09:00 is in the window of 10:00 to the minute; A precedes 10:30 by half an hour.
    assert sorted((flight or "", wind) for flight, wind, _ in rows) == [
        ("", 30.0),
        ("A", 10.0),
        ("A", 20.0),
        ("B", 20.0),
        ("C", 20.0),
    ]
    assert not answer["more"]
    assert answer["complete_from"] is None
    weather = {source["stream"]: source for source in answer["sources"]}["weather"]
    assert (weather["tuples"], weather["unreadable"], weather["whole"]) == (3, 0, True)
    assert (weather["oldest"], weather["newest"]) == ("2013-01-01T09:00:00Z", "2013-01-01T10:40:00Z")
    few = post(as_outsider, "/api/sql/preview/", {"sql": PAIRS, "limit": 2}).json()
    assert few["rows"] == answer["rows"][:2]
    assert few["more"]


def test_it_says_what_it_did_not_see(
    as_owner: Client, post: Post, filled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "MOST_TUPLES", 2)
    answer = post(as_owner, "/api/sql/preview/", {"sql": PAIRS}).json()
    assert [(source["tuples"], source["whole"]) for source in answer["sources"]] == [(2, False), (2, False)]
    # Departures reach back to 11:00, weather to 10:30; an hour later everything is there.
    assert answer["complete_from"] == "2013-01-01T12:00:00Z"


def test_what_cannot_be_read_is_left_out_and_counted(
    as_owner: Client, post: Post, streams: dict[str, Stream], bus: redis.Redis
) -> None:
    moments = pa.array([0, None], pa.timestamp("us", "UTC"))
    table = pa.table({"at": moments, "origin": ["JFK", "JFK"], "wind": pa.array([1, 2], pa.int32())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    key = stream_key("weather")
    bus.xadd(key, {"arrow": sink.getvalue().to_pybytes()})
    for text in ("{", "7", '{"at": 7}', '{"at": "2013-01-01", "more": 1}'):
        bus.xadd(key, {"json": text})
    bus.xadd(key, {"arrow": b"none"})
    answer = post(as_owner, "/api/sql/preview/", {"sql": "SELECT w.at, w.wind FROM weather AS w"}).json()
    assert answer["rows"] == [
        {"at": "2013-01-01T00:00:00Z", "wind": None},
        {"at": "1970-01-01T00:00:00Z", "wind": 1.0},
    ]
    assert [(one["tuples"], one["unreadable"]) for one in answer["sources"]] == [(2, 5)]


def test_a_mistaken_text_is_400(as_owner: Client, post: Post, streams: dict[str, Stream]) -> None:
    answer = post(as_owner, "/api/sql/preview/", {"sql": "SELECT w.wnd FROM weather AS w"})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "unknown-column")


def test_a_preview_is_bounded(
    as_owner: Client, post: Post, streams: dict[str, Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"at": "2013-01-01T00:00:00Z", "origin": "JFK", "wind": n} for n in range(3000)]
    post(as_owner, "/api/streams/weather/events/", rows)
    sql = (
        "SELECT a.wind FROM weather AS a CROSS JOIN weather AS b CROSS JOIN weather AS c "
        "WHERE a.wind + b.wind + c.wind < 0"
    )
    monkeypatch.setattr(preview, "DUCKDB_SECONDS", 0.3)
    long = post(as_owner, "/api/sql/preview/", {"sql": sql})
    assert (long.status_code, long.json()["code"]) == (409, "preview-too-long")
    monkeypatch.setattr(preview, "DUCKDB_SECONDS", 60.0)
    monkeypatch.setattr(preview, "DUCKDB_MEMORY", "1MB")
    large = post(
        as_owner,
        "/api/sql/preview/",
        {"sql": "SELECT a.wind FROM weather AS a, weather AS b WHERE a.wind = b.wind"},
    )
    assert (large.status_code, large.json()["code"]) == (409, "preview-too-large")


def test_a_preview_calls_the_functions_that_the_settings_allow(
    as_owner: Client, post: Post, filled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAIRS.replace("WHERE d.origin = w.origin", "WHERE similarity(d.origin, w.origin) > 0.9")
    refused = post(as_owner, "/api/sql/preview/", {"sql": text})
    assert refused.status_code == 400
    assert "function similarity" in refused.content.decode()
    monkeypatch.setenv(SETTING, str(SHIPPED))
    answer = post(as_owner, "/api/sql/preview/", {"sql": text}).json()
    assert answer["rows"] == post(as_owner, "/api/sql/preview/", {"sql": PAIRS}).json()["rows"]
    html = as_owner.get("/queries/new/").content.decode()
    props = json.loads(unescape(re.findall(r'data-island="editor" data-props="([^"]*)"', html)[0]))
    assert {
        "sql": "similarity",
        "signature": "similarity(string, string) → double, 0.5 µs per pair",
    } in props["functions"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CAST(d.flight AS BIGINT)", [17, None]),
        ("COALESCE(CAST(d.flight AS BIGINT), 0) + 1", [18, 1]),
        ("CAST(d.flight AS TIMESTAMP)", [None, None]),
        ("CAST(d.flight AS DOUBLE)", [17.0, None]),
        ("CAST(d.flight AS BIGINT) * 9223372036854775807", [None, None]),
        ("CASE WHEN CAST(d.flight AS INT) > 1 THEN 'many' ELSE 'none' END", ["many", "none"]),
    ],
)
def test_what_errs_in_duckdb_is_null_as_in_a_running_topology(
    as_owner: Client, post: Post, streams: dict[str, Stream], expression: str, expected: list[Any]
) -> None:
    rows = [
        {"at": f"2013-01-01T1{n}:00:00Z", "origin": "JFK", "flight": f} for n, f in enumerate(("A", "17"))
    ]
    assert post(as_owner, "/api/streams/departures/events/", rows).status_code == 202
    text = f"SELECT {expression} AS found FROM departures AS d"
    answer = post(as_owner, "/api/sql/preview/", {"sql": text})
    assert answer.status_code == 200, answer.content
    assert [row["found"] for row in answer.json()["rows"]] == expected
    joined = (
        "SELECT d.flight FROM departures AS d, departures AS e "
        "WHERE CAST(d.flight AS INT) = CAST(e.flight AS INT)"
    )
    assert post(as_owner, "/api/sql/preview/", {"sql": joined}).json()["rows"] == [{"flight": "17"}]
