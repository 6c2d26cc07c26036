"""What a table of PostgreSQL has of results: every value, changing columns, one row each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.sinks.connector import BatchResults, KeyedTable, TableChanges
from jobs.sinks.postgres.tables import TableSink
from jobs.sources.connector import Away
from optimizer.udf.arrow import as_uuids
from tests.postgres.conftest import Server

INFINITE = 2**63 - 1
MOMENT = pa.timestamp("us", tz="UTC")


def batch(folder: Path, number: int, table: pa.Table, query: str = "late flights") -> BatchResults:
    file = folder / query.replace(" ", "%20") / f"{number}.parquet"
    file.parent.mkdir(exist_ok=True)
    pq.write_table(table, file)
    return BatchResults(number, (file,), {})


def asked(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, options="-c timezone=UTC") as connection:
        return connection.execute(query).fetchall()


def test_every_value_arrives(postgres: Server, tmp_path: Path) -> None:
    url = postgres.fresh("values")
    sink = TableSink(url, "public", "{query}", "c")
    assert sink.connect() == -1
    columns = {
        "n": pa.array([1, -(2**63), None], pa.int64()),
        "x": pa.array([float("nan"), float("-inf"), -0.0]),
        "text": pa.array(["", "a\0b", None], pa.large_string()),
        "raw": pa.array([b"\0\xff", b"", None], pa.large_binary()),
        "yes": pa.array([True, False, None]),
        "at": pa.array([0, INFINITE, -INFINITE], pa.int64()).cast(MOMENT),
        "day": pa.array([0, 2**31 - 1, -(2**31) + 1], pa.int32()).cast(pa.date32()),
        "wait": pa.array([1_500_000, 0, None], pa.duration("us")),
        "_batch": pa.array(["mine", None, None]),
    }
    sink.publish(batch(tmp_path, 0, pa.table(columns)))
    text = "SELECT n, x::text, text, raw, yes, at::text, day::text, wait::text, _batch_, _batch"
    assert asked(url, f'{text} FROM "late flights" ORDER BY x::text') == [
        (None, "-0", None, None, None, "-infinity", "-infinity", None, None, 0),
        (-(2**63), "-Infinity", "a\ufffdb", b"", False, "infinity", "infinity", "00:00:00", None, 0),
        (1, "NaN", "", b"\0\xff", True, "1970-01-01 00:00:00+00", "1970-01-01", "00:00:01.5", "mine", 0),
    ]


def test_decimals_keep_their_digits(postgres: Server, tmp_path: Path) -> None:
    url = postgres.fresh("decimals")
    sink = TableSink(url, "public", "{query}", "c")
    sink.connect()
    prices = ["-0.01", "9999999999.99", "0.00", None]
    wide = ["-" + "9" * 38, "1" + "0" * 37, "0", None]
    fine = ["0." + "1" * 38, "0." + "0" * 37 + "1", "-0." + "9" * 38, None]
    columns = {
        name: pa.array([None if text is None else Decimal(text) for text in texts], pa.decimal128(*digits))
        for name, digits, texts in (
            ("price", (12, 2), prices),
            ("wide", (38, 0), wide),
            ("fine", (38, 38), fine),
        )
    }
    sink.publish(batch(tmp_path, 0, pa.table(columns), "q"))
    # The same types fit the table that is there.
    sink.publish(batch(tmp_path, 1, pa.table(columns), "q"))
    for number in range(2):
        text = f"SELECT price::text, wide::text, fine::text FROM q WHERE _batch = {number}"
        assert asked(url, text) == list(zip(prices, wide, fine, strict=True))
    kinds = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'q'::regclass"
    assert asked(url, f"{kinds} AND attnum > 0 ORDER BY attnum") == [
        ("numeric(12,2)",),
        ("numeric(38,0)",),
        ("numeric(38,38)",),
        ("bigint",),
    ]


def test_columns_come_and_change(postgres: Server, tmp_path: Path) -> None:
    url = postgres.fresh("columns")
    sink = TableSink(url, "live", "{query}", "c")
    sink.connect()
    sink.publish(batch(tmp_path, 0, pa.table({"n": [1]}), "q"))
    sink.publish(batch(tmp_path, 1, pa.table({"n": [2], "s": ["a"]}), "q"))
    sink.publish(batch(tmp_path, 2, pa.table({"s": ["b"]}), "q"))
    assert asked(url, "SELECT n, s, _batch FROM live.q ORDER BY _batch") == [
        (1, None, 0),
        (2, "a", 1),
        (None, "b", 2),
    ]
    sink.publish(batch(tmp_path, 3, pa.table({"n": ["text"]}), "q"))
    assert asked(url, "SELECT n, _batch FROM live.q") == [("text", 3)]
    assert asked(url, "SELECT count(*) FROM live.q_before_3") == [(3,)]


def _changes(*rows: tuple[object, object, bool]) -> pa.Table:
    kinds = (pa.float64(), pa.int64(), pa.bool_())
    names = ("k", "n", "_deleted")
    columns = {
        name: pa.array([row[n] for row in rows], kind)
        for n, (name, kind) in enumerate(zip(names, kinds, strict=True))
    }
    return pa.table(columns)


def test_rows_of_running_groups_change(postgres: Server, tmp_path: Path) -> None:
    url = postgres.fresh("running")

    made: Counter[int] = Counter()

    def published(sink: TableSink, number: int, begin: int, *rows: tuple[object, object, bool]) -> None:
        made[begin] += len(rows)
        keyed = {"q": KeyedTable(("k",), begin, made[begin])}
        sink.publish(replace(batch(tmp_path, number, _changes(*rows), "q"), tables=keyed))

    nan = float("nan")
    sink = TableSink(url, "public", "{query}", "c")
    sink.connect()
    published(sink, 0, 0, (1.5, 1, False), (None, 1, False), (nan, 1, False), (2.5, 9, False))
    published(sink, 1, 0, (None, 2, False), (nan, None, True), (2.5, None, True), (7.0, None, True))
    told = "SELECT k, n, _batch FROM q ORDER BY k"
    assert asked(url, told) == [(1.5, 1, 0), (None, 2, 1)]
    # One whose process dies behind the commit begins again behind that batch.
    again = TableSink(url, "public", "{query}", "c")
    assert again.connect() == 1
    with pytest.raises(Away):
        published(again, 1, 0, (None, 5, False))
    assert asked(url, told) == [(1.5, 1, 0), (None, 2, 1)]
    published(again, 2, 2, (1.5, 1, False))  # The groups began anew.
    assert asked(url, told) == [(1.5, 1, 2)]
    other = TableSink(url, "public", "{query}", "another checkpoint")
    other.connect()
    published(other, 0, 0, (3.5, 1, False))
    assert asked(url, told) == [(3.5, 1, 0)]
    # The query becomes one whose results stay.
    plain = batch(tmp_path, 1, pa.table({"k": [1.0], "n": [2]}), "q")
    other.publish(plain)
    assert asked(url, "SELECT k, n, _batch FROM q") == [(1.0, 2, 1)]
    assert asked(url, "SELECT k FROM q_before_1") == [(3.5,)]


def test_a_single_row_changes(postgres: Server, tmp_path: Path) -> None:
    url = postgres.fresh("single")
    sink = TableSink(url, "public", "{query}", "c")
    sink.connect()
    for number, n in enumerate((0, 5, 6)):
        changes = pa.table({"n": [n], "_deleted": [False]})
        keyed = {"q": KeyedTable((), 0, number + 1)}
        sink.publish(replace(batch(tmp_path, number, changes, "q"), tables=keyed))
    assert asked(url, "SELECT n, _batch FROM q") == [(6, 2)]


def test_groups_that_begin_anew_leave_nothing(postgres: Server, tmp_path: Path) -> None:
    url = postgres.fresh("anew")
    sink = TableSink(url, "public", "{query}", "c")
    sink.connect()
    old = {"q": KeyedTable(("k",), 0, 1)}
    sink.publish(replace(batch(tmp_path, 0, _changes((1.5, 1, False)), "q"), tables=old))
    # Nothing is found of the new groups yet.
    new = {"q": KeyedTable(("k",), 3, 0), "other": KeyedTable(("k",), 3, 0)}
    sink.publish(BatchResults(3, (), {}, new))
    assert asked(url, "SELECT * FROM q") == []
    later = {"q": KeyedTable(("k",), 3, 1)}
    sink.publish(replace(batch(tmp_path, 4, _changes((2.5, 1, False)), "q"), tables=later))
    assert asked(url, "SELECT k, _batch FROM q") == [(2.5, 4)]
    state = "SELECT name, begin_batch, batch, changes, whole FROM millrace_tables ORDER BY name"
    assert asked(url, state) == [
        ("other", 3, 3, 0, True),
        ("q", 3, 4, 1, True),
    ]


def test_a_job_that_starts_completes_tables(postgres: Server, tmp_path: Path) -> None:
    url = postgres.fresh("restored")
    sink = TableSink(url, "public", "{query}", "c")
    sink.connect()

    def published(number: int, changes: int, *rows: tuple[object, object, bool]) -> None:
        keyed = {"q": KeyedTable(("k",), 0, changes)}
        sink.publish(replace(batch(tmp_path, number, _changes(*rows), "q"), tables=keyed))

    def restored(number: int, changes: int, *rows: tuple[object, object, bool]) -> None:
        table = TableChanges((_changes(*rows),), KeyedTable(("k",), 0, changes), changes, is_all=True)
        sink.restore(number, {"q": table})

    told, state = "SELECT k, n, _batch FROM q ORDER BY k", "SELECT batch, changes, whole FROM millrace_tables"
    published(5, 8, (1.5, 3, False))  # One that is new to the sink: seven changes were before.
    assert asked(url, state) == [(5, 8, False)]
    restored(7, 9, (1.5, 3, False), (2.5, 1, False))
    assert asked(url, told) == [(1.5, 3, 7), (2.5, 1, 7)]
    published(6, 9, (2.5, 0, False))  # It waited in the outbox, and is in the table.
    assert asked(url, told) == [(1.5, 3, 7), (2.5, 1, 7)]
    published(8, 11, (1.5, None, True), (3.5, 1, False))
    assert asked(url, told) == [(2.5, 1, 7), (3.5, 1, 8)]
    assert asked(url, state) == [(8, 11, True)]
    restored(8, 11, (9.5, 9, False))  # What is whole is not written anew.
    restored(7, 9, (9.5, 9, False))  # Nor by a process that was taken for dead.
    assert asked(url, told) == [(2.5, 1, 7), (3.5, 1, 8)]
    published(10, 15, (2.5, 2, False))  # Changes of a batch are missing.
    assert asked(url, state) == [(10, 15, False)]
    restored(10, 15, (2.5, 2, False), (4.5, 1, False))
    assert asked(url, told) == [(2.5, 2, 10), (4.5, 1, 10)]
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE q")
    restored(10, 15, (2.5, 2, False))
    assert asked(url, told) == [(2.5, 2, 10)]


def test_a_process_taken_for_dead_adds_nothing_twice(postgres: Server, tmp_path: Path) -> None:
    url = postgres.fresh("zombie")
    dead, successor = (TableSink(url, "public", "{query}", "c") for _ in range(2))
    assert dead.connect() == -1
    first = batch(tmp_path, 0, pa.table({"n": [1]}), "q")
    assert successor.connect() == -1
    successor.publish(first)
    with pytest.raises(Away, match="another process has published batch 0"):
        dead.publish(first)
    assert dead.connect() == 0
    assert asked(url, "SELECT n FROM q") == [(1,)]


def test_long_names_stay_apart(postgres: Server, tmp_path: Path) -> None:
    url = postgres.fresh("names")
    sink = TableSink(url, "public", "{query}", "c")
    sink.connect()
    long = "ü" * 60
    for number in range(2):
        column = pa.table({f"{long}{number}": [number], f"{long}x": [7]})
        sink.publish(batch(tmp_path, number, column, f"{long}{number}"))
    tables = asked(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    assert len(tables) == 3


def test_a_server_that_is_not_there_is_away() -> None:
    with pytest.raises(Away):
        TableSink("postgresql://127.0.0.1:1/none", "public", "{query}", "c").connect()


def test_uuids_are_uuids(postgres: Server, tmp_path: Path) -> None:
    url = postgres.fresh("uuids")
    sink = TableSink(url, "public", "{query}", "c")
    sink.connect()
    texts = pa.chunked_array([["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None]])
    rows = pa.table({"id": as_uuids(texts)})
    for number in range(2):
        sink.publish(batch(tmp_path, number, rows, "q"))
    found = asked(url, "SELECT id, pg_typeof(id)::text FROM q WHERE _batch = 1 ORDER BY id")
    assert found == [(UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), "uuid"), (None, "uuid")]
