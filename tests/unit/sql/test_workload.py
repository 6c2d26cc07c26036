"""Workload directories: what a good one gives, and the line that each broken one is answered with."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType as T
from optimizer.logical.source import CONNECTORS
from optimizer.logical.window import sliding
from optimizer.sql import to_sql
from optimizer.workload import load_workload, parse_queries, read_streams

STREAMS = """
streams:
  departures:
    event_time: AT
    lateness: 5 minutes
    late: join
    parallelism: 4
    rate: 120.0
    columns: {at: timestamp, flight: string, origin: string, delay: double, on: boolean}
  weather:
    event_time: at
    columns:
      at: timestamp
      origin: STRING
      wind: double
selectivities:
  - {predicate: "weather.origin = departures.origin", value: 1e-3}
  - predicate: departures.delay > weather.wind
    value: 0.5
"""
QUERIES = {
    "b_join": "SELECT d.flight, w.wind FROM departures [RANGE 1 HOUR] d, weather w WHERE d.origin = w.origin",
    "a_over": "SELECT v.flight FROM c_over v WHERE v.wind > 5",
    "c_over": "SELECT * FROM b_join [RANGE 30 MINUTES]\nWHERE wind > 3;\n",
}


def write(directory: Path, streams: str = STREAMS, queries: dict[str, str] | None = None) -> Path:
    (directory / "queries").mkdir()
    (directory / "streams.yaml").write_text(streams, "utf-8")
    for name, text in (QUERIES if queries is None else queries).items():
        (directory / "queries" / f"{name}.sql").write_text(text, "utf-8")
    return directory


def test_workload(tmp_path: Path) -> None:
    (write(tmp_path) / "queries" / "notes.txt").write_text("not a query")
    workload = load_workload(tmp_path)
    departures = workload.catalog["departures"]
    assert departures.event_time == "at"
    assert departures.lateness == timedelta(minutes=5)
    assert departures.late == "join"
    assert departures.parallelism == 4
    assert departures.tuples_per_second == 120.0
    assert departures.columns[-1] == ("on", T.BOOLEAN)
    assert workload.catalog["weather"].lateness == timedelta(0)
    assert workload.catalog["weather"].tuples_per_second is None
    assert [q.name for q in workload.queries] == ["a_over", "b_join", "c_over"]
    assert [name for name, _ in workload.sql] == ["a_over", "b_join", "c_over"]
    over = workload.queries[0]
    assert {i.stream: i.window for i in over.inputs} == {
        "departures": sliding(timedelta(minutes=30)),
        "weather": sliding(timedelta(minutes=30)),
    }
    assert [(to_sql(s.predicate), s.value) for s in workload.selectivities] == [
        ("departures.origin = weather.origin", 0.001),
        ("departures.delay > weather.wind", 0.5),
    ]


def test_tables() -> None:
    columns = "{at: timestamp, Tail: string, seats: int, gone: boolean}"
    text = f"streams: {{p: {{event_time: at, kind: TABLE, key: [tail], deleted: gone, columns: {columns}}}}}"
    planes = read_streams(text, "streams.yaml")[0]["p"]
    assert (planes.is_table, planes.key, planes.deleted) == (True, ("Tail",), "gone")
    single = read_streams(text.replace("[tail]", "seats"), "streams.yaml")[0]["p"]
    assert single.key == ("seats",)
    assert not read_streams(STREAMS, "streams.yaml")[0]["weather"].is_table


def error_of(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_workload(path)
    line = str(caught.value)
    assert "\n" not in line
    return line.replace(f"{path}/", "")


def test_missing_directory(tmp_path: Path) -> None:
    assert error_of(tmp_path / "nope").endswith(
        "nope: found no directory, expected a directory with streams.yaml and queries/"
    )


def test_missing_streams(tmp_path: Path) -> None:
    assert error_of(tmp_path) == "streams.yaml: found no such file, expected a file streams.yaml"


def test_no_queries(tmp_path: Path) -> None:
    assert (
        error_of(write(tmp_path, queries={}))
        == "queries: found no query, expected at least one file NAME.sql"
    )


def test_not_utf8(tmp_path: Path) -> None:
    (write(tmp_path) / "queries" / "b_join.sql").write_bytes(b"SELECT '\xff'")
    assert error_of(tmp_path) == "queries/b_join.sql: found byte 0xff at offset 8, expected UTF-8 text"
    (tmp_path / "streams.yaml").write_bytes(b"\xfe\xff")
    assert error_of(tmp_path) == "streams.yaml: found byte 0xfe at offset 0, expected UTF-8 text"


def test_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    (write(tmp_path) / "queries" / "b_join.sql").write_text(QUERIES["b_join"], "utf-8-sig")
    assert len(load_workload(tmp_path).queries) == 3


def test_directory_instead_of_file(tmp_path: Path) -> None:
    (write(tmp_path) / "queries" / "d.sql").mkdir()
    assert error_of(tmp_path).startswith("queries/d.sql: found Is a directory, expected a readable file")


def test_query_error_names_file_and_place(tmp_path: Path) -> None:
    write(tmp_path, queries={"q": "SELECT d.flight\nFROM departures d\nWHERE d.delai > 5"})
    assert error_of(tmp_path) == (
        "queries/q.sql:3:7: found column d.delai, expected a column of departures; did you mean d.delay?"
    )


def test_views_in_a_circle(tmp_path: Path) -> None:
    write(tmp_path, queries={"a": "SELECT x FROM b", "b": "SELECT x FROM c", "c": "SELECT x FROM a"})
    assert error_of(tmp_path) == (
        "queries/a.sql: found a reads b reads c reads a, "
        "expected queries that do not read each other in a circle"
    )


def test_query_that_reads_itself(tmp_path: Path) -> None:
    write(tmp_path, queries={"a": "SELECT x FROM A"})
    assert "found a reads a" in error_of(tmp_path)


def test_stream_wins_over_a_query_of_its_name() -> None:
    catalog, _ = read_streams(STREAMS, "streams.yaml")
    queries = parse_queries({"weather": "SELECT wind FROM weather WHERE wind > 1"}, catalog)
    assert queries["weather"].inputs[0].stream == "weather"


def test_queries_whose_names_differ_in_case() -> None:
    catalog, _ = read_streams(STREAMS, "streams.yaml")
    with pytest.raises(InputError, match="found query Q beside q, expected names that differ"):
        parse_queries({"q": "SELECT wind FROM weather", "Q": "SELECT wind FROM weather"}, catalog)


ONE = "streams: {r: {event_time: at, columns: {at: timestamp, a: int}%s}}"
BROKEN = {
    "": "streams.yaml: found nothing, expected streams: with at least one stream",
    "streams: [": "streams.yaml:1:11: "
    "found expected the node content, but found '<stream end>', expected YAML",
    "a: 1\n---\nb: 2": "streams.yaml:2:1: found but found another document, expected YAML",
    "- streams": "streams.yaml:1:1: found a list, expected key: value entries",
    "stream: {}": "streams.yaml:1:1: stream: found key stream, expected one of streams, selectivities; "
    "did you mean streams?",
    "selectivities: []": "streams.yaml:1:1: found no streams, expected streams: with at least one stream",
    "streams: {}": "streams.yaml:1:10: streams: found no stream, expected at least one stream",
    "streams: r": "streams.yaml:1:10: streams: found r, expected key: value entries",
    "streams: {r: }": "streams.yaml:1:13: streams.r: found nothing, expected key: value entries",
    "streams: {r: {columns: {at: timestamp}}}": "streams.yaml:1:14: streams.r: found no event_time, "
    "expected event_time: a timestamp column",
    "streams: {r: {event_time: at}}": "streams.yaml:1:14: streams.r: found no columns, "
    "expected columns: {at: timestamp, ...}",
    "streams: {r: {event_time: at, columns: {}}}": "streams.yaml:1:40: streams.r.columns: found no column, "
    "expected at least one column",
    "streams: {r: {event_time: att, columns: {at: timestamp}}}": "streams.yaml:1:27: streams.r.event_time: "
    "found column att, expected one of the stream's timestamp columns; did you mean at?",
    "streams: {r: {event_time: a, columns: {a: int}}}": "streams.yaml:1:27: streams.r.event_time: "
    "found int column a, expected a timestamp column",
    "streams: {r: {event_time: at, columns: {at: timestmp}}}": "streams.yaml:1:45: streams.r.columns.at: "
    "found type timestmp, expected one of bigint, int, double, string, boolean, timestamp, date, "
    "binary, uuid, time, decimal(digits, digits behind the point); "
    "did you mean timestamp?",
    "streams: {r: {event_time: at, columns: [at]}}": "streams.yaml:1:40: streams.r.columns: found a list, "
    "expected key: value entries",
    "streams: {r: {event_time: at, columns: {at: timestamp, AT: int}}}": "streams.yaml:1:56: "
    "streams.r.columns.AT: found column AT beside at, expected names that differ",
    "streams:\n  r: {event_time: at, columns: {at: timestamp}}\n  R: {event_time: x, columns: {x: int}}": (
        "streams.yaml:3:3: streams.R: found stream R beside r, expected names that differ"
    ),
    "streams:\n  r: {}\n  r: {}": "streams.yaml:3:3: streams.r: found r twice, expected each name once",
    "streams: {a/b: {event_time: at, columns: {at: timestamp}}}": "streams.yaml:1:11: streams.a/b: "
    "found stream name 'a/b', expected a printable name without / and leading dot",
    ONE % ", lateness: 5": "streams.yaml:1:75: streams.r.lateness: found 5, "
    "expected a duration with its unit, such as 5 minutes or 30s",
    ONE % ", lateness: 5 parsecs": "streams.yaml:1:75: streams.r.lateness: found 5 parsecs, "
    "expected a duration with its unit, such as 5 minutes or 30s",
    ONE % ", lateness: -5 minutes": "streams.yaml:1:75: streams.r.lateness: found -5 minutes, "
    "expected a duration that is not negative",
    ONE % ", late: dorp": "streams.yaml:1:71: streams.r.late: found dorp, "
    "expected drop or join; did you mean drop?",
    ONE % ", parallelism: 0": "streams.yaml:1:78: streams.r.parallelism: found 0, "
    "expected a whole number of tasks, 1 or more",
    ONE % ", parallelism: 1.5": "streams.yaml:1:78: streams.r.parallelism: found 1.5, "
    "expected a whole number of tasks, 1 or more",
    ONE % ", rate: -1": "streams.yaml:1:71: streams.r.rate: found -1, "
    "expected a rate in tuples per second, 0 or more",
    ONE % ", rate: fast": "streams.yaml:1:71: streams.r.rate: found fast, "
    "expected a rate in tuples per second, 0 or more",
    ONE % ", rate: .inf": "streams.yaml:1:71: streams.r.rate: found .inf, "
    "expected a rate in tuples per second, 0 or more",
    ONE % ", kafka: {topic: a b}": "streams.yaml:1:80: streams.r.kafka.topic: found 'a b', "
    "expected letters, digits, . _ and -, at most 249",
    ONE % ", kafka: {start: now}": "streams.yaml:1:72: streams.r.kafka: found no topic, "
    "expected topic: the name of a topic",
    ONE % ", kafka: {topic: a, start: now}": "streams.yaml:1:90: streams.r.kafka.start: found 'now', "
    "expected one of earliest, latest",
    ONE % ", kafka: {topic: a, format: avro}": "streams.yaml:1:72: streams.r.kafka.schema: found none, "
    "expected an Avro schema, or registry: true, which format avro needs",
    ONE % ", kafka: {topic: a, key: ts}": "streams.yaml:1:88: streams.r.kafka.key: found ts, "
    "expected one of the string and binary columns: there is none yet",
    ONE % ", rates: 1": "streams.yaml:1:65: streams.r.rates: found key rates, "
    "expected one of event_time, columns, lateness, late, parallelism, rate, "
    f"{', '.join(CONNECTORS)}, top_share, max_ahead, kind, key, deleted, description; "
    "did you mean rate?",
    ONE % ", kind: tabel": "streams.yaml:1:71: streams.r.kind: found tabel, "
    "expected stream or table; did you mean table?",
    ONE % ", kind: table": "streams.yaml:1:14: streams.r.key: found a table without a key, expected one of a",
    ONE % ", kind: table, key: [b]": "streams.yaml:1:83: streams.r.key: found column b, expected one of a",
    ONE % ", kind: table, key: at": "streams.yaml:1:83: streams.r.key: found the event time at, "
    "expected one of a; did you mean a?",
    ONE % ", kind: table, key: [a, A]": "streams.yaml:1:83: streams.r.key: found column a twice, "
    "expected each column once",
    ONE % ", kind: table, key: [a], deleted: a": "streams.yaml:1:97: streams.r.deleted: found column a, "
    "expected one of the boolean columns outside the key: there is none yet",
    ONE % ", kind: table, key: [a], lateness: 5s": "streams.yaml:1:98: streams.r.lateness: "
    "found lateness of a table, expected none: the watermark of the streams decides",
    ONE % ", kind: table, key: [a], late: join": "streams.yaml:1:94: streams.r.late: "
    "found late of a table, expected none: the watermark of the streams decides",
    ONE % ", key: [a]": "streams.yaml:1:70: streams.r.key: found columns of versions, "
    "expected kind: table beside them",
    "streams: {r: {event_time: at, columns: {at: timestamp, d: double}, kind: table, key: [d]}}": (
        "streams.yaml:1:86: streams.r.key: found double column d, "
        "expected a column beside the event time, no double"
    ),
    ONE % "" + "\nselectivities: {}": "streams.yaml:2:16: selectivities: found key: value entries, "
    "expected a list: - {predicate: ..., value: ...}",
    ONE % "" + "\nselectivities: [{value: 1}]": "streams.yaml:2:17: selectivities.0: found no predicate, "
    'expected predicate: "r.a = s.a"',
    ONE % "" + "\nselectivities: [{predicate: r.a = r.aa, value: 1}]": "streams.yaml:2:29: "
    "selectivities.0.predicate: found column r.aa, expected a column of r; did you mean r.a?",
    ONE % "" + "\nselectivities: [{predicate: r.a > 1 AND r.a < 5, value: 1}]": "streams.yaml:2:29: "
    "selectivities.0.predicate: found 2 predicates, expected one predicate, such as r.a = s.a",
    ONE % "" + "\nselectivities: [{predicate: r.a > 1, value: 1.5}]": "streams.yaml:2:45: "
    "selectivities.0.value: found 1.5, expected a fraction from 0 to 1",
}  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_broken_streams(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_streams(text, "streams.yaml")
    assert str(caught.value) == BROKEN[text]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5 minutes", 300),
        ("30s", 30),
        ("1.5 hours", 5400),
        ("1 hour 30 minutes", 5400),
        ("250 ms", 0.25),
        ("0", 0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    catalog, _ = read_streams(ONE % f", lateness: {text}", "streams.yaml")
    assert catalog["r"].lateness == timedelta(seconds=seconds)


def test_empty_options_are_the_defaults() -> None:
    catalog, selectivities = read_streams(
        ONE % ", rate: , lateness: ~" + "\nselectivities:\n", "streams.yaml"
    )
    assert catalog["r"].tuples_per_second is None
    assert catalog["r"].lateness == timedelta(0)
    assert selectivities == ()
