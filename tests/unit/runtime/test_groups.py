"""Groups while a topology runs: when they leave, after a crash, under another plan, and for a new query."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import group_wait_us
from optimizer.logical.query import Query
from optimizer.logical.stream import LatePolicy, Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import AggregateRule
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from optimizer.sql.duckdb import to_duckdb
from tests.unit.runtime.in_process import Topology

_COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT), ("x", ColumnType.DOUBLE))
CATALOG = Catalog.of(Stream(name, _COLUMNS, "at") for name in ("a", "b"))
_SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("k", pa.int32()), ("x", pa.float64())])
_NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
COUNTED = "SELECT TUMBLE(at, INTERVAL 10 SECONDS) AS b, k, COUNT(*) AS n FROM a GROUP BY b, k"


def _query(text: str, name: str = "q") -> Query:
    return parse_query(text, name, CATALOG)


def _graph(*texts: str, tasks: int = 1) -> PhysicalGraph:
    queries = [_query(text, f"q{number}") for number, text in enumerate(texts)]
    return plan(queries, CATALOG, method="flat", tasks=tasks).graph


def _rows(*seconds: float, k: int = 1) -> pa.Table:
    return pa.Table.from_pylist(
        [{"at": _NOON + timedelta(seconds=s), "k": k, "x": s} for s in seconds], schema=_SCHEMA
    )


def _counts(topology: Topology, query: str = "q0") -> dict[tuple[int, ...], int]:
    """Per bucket, in seconds after noon, and the other keys: the count. A group is told once."""
    rows = topology.answers(query).rows()
    found = {(int((row[0] - _NOON).total_seconds()), *row[1:-1]): row[-1] for row in rows}
    assert len(found) == len(rows)
    return found


def test_a_group_leaves_once_the_watermark_is_behind_its_bucket(tmp_path: Path) -> None:
    topology = Topology(_graph(COUNTED, tasks=3), tmp_path)
    topology.feed({"a": _rows(1, 2, 9)})
    topology.feed({"a": _rows(9.5, 10)})
    assert _counts(topology) == {}
    topology.feed({"a": _rows(11)})
    assert _counts(topology) == {(0, 1): 4}
    topology.feed({"a": _rows(40)}, ended=["a"])
    topology.feed({})
    assert _counts(topology) == {(0, 1): 4, (10, 1): 2, (40, 1): 1}


def test_a_crash_before_a_commit_counts_nothing_twice(tmp_path: Path) -> None:
    topology = Topology(_graph(COUNTED), tmp_path)
    topology.feed({"a": _rows(1, 2)})
    topology.die_in({"a": _rows(3, 30)})
    topology.feed({"a": _rows(3, 30)})
    topology.feed({"a": _rows(31)})
    assert _counts(topology) == {(0, 1): 3}


def test_another_plan_goes_on_with_what_waits(tmp_path: Path) -> None:
    topology = Topology(_graph(COUNTED), tmp_path)
    topology.feed({"a": _rows(1, 2)})
    topology.change(
        _graph(COUNTED, "SELECT a.at, b.x FROM a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE a.k = b.k")
    )
    topology.feed({"a": _rows(3, 30), "b": _rows(30)})
    topology.feed({"a": _rows(31), "b": _rows(31)})
    assert _counts(topology) == {(0, 1): 3}


@pytest.mark.parametrize("tasks", [(3, 1), (1, 3)])
def test_other_numbers_of_tasks_find_all_that_waits(tmp_path: Path, tasks: tuple[int, int]) -> None:
    topology = Topology(_graph(COUNTED, "SELECT a.at FROM a, b WHERE a.k = b.k", tasks=3), tmp_path)
    topology.change(_graph(COUNTED, tasks=tasks[0]))
    topology.feed({"a": _rows(1, 2, 4, 5), "b": _rows(1)})
    topology.change(_graph(COUNTED, tasks=tasks[1]))
    topology.feed({"a": _rows(5, 6, 30), "b": _rows(30)})
    topology.feed({"a": _rows(31), "b": _rows(31)})
    assert _counts(topology) == {(0, 1): 6}


def test_a_new_query_begins_with_the_first_bucket_that_it_sees_whole(tmp_path: Path) -> None:
    topology = Topology(_graph("SELECT at FROM a"), tmp_path)
    topology.feed({"a": _rows(1, 12)})
    topology.change(_graph("SELECT at FROM a", COUNTED))
    # Nothing says what the buckets of 0 and of 10 had before.
    topology.feed({"a": _rows(13, 21, 29)})
    topology.feed({"a": _rows(35, 50)})
    topology.feed({"a": _rows(51)})
    assert _counts(topology, "q1") == {(20, 1): 2, (30, 1): 1}


def test_a_combination_that_falls_due_with_its_group_is_in_it(tmp_path: Path) -> None:
    # What has no partner is found at its own deadline, in the batch in which its bucket ends.
    text = (
        "SELECT TUMBLE(RESULT_TIME(), INTERVAL 10 SECONDS) AS t, COUNT(*) AS n "
        "FROM a [RANGE 5 SECONDS] LEFT JOIN b ON a.k = b.k AND b.at >= a.at GROUP BY t"
    )
    graph = _graph(text)
    (rule,) = (rule for rule in graph.rules if isinstance(rule, AggregateRule))
    assert rule.direct
    topology = Topology(graph, tmp_path)
    topology.feed({"a": _rows(1, 9, k=7), "b": _rows(2, k=7)})
    topology.feed({"a": _rows(60), "b": _rows(60)})
    topology.feed({"a": _rows(61), "b": _rows(61)})
    assert _counts(topology) == {(0,): 2}
    assert PhysicalGraph.from_json(graph.to_json()) == graph


@pytest.mark.parametrize(
    ("rest", "time", "wait_s"),
    [
        ("a", "a.at", 0),
        ("a [RANGE 5 SECONDS], b [RANGE 1 HOUR] WHERE a.k = b.k", "a.at", 5),
        ("a [RANGE 5 SECONDS], b [RANGE 1 HOUR] WHERE a.k = b.k", "RESULT_TIME()", 0),
        ("a, b WHERE a.k = b.k AND b.at < a.at + INTERVAL 7 SECONDS AND b.at >= a.at", "b.at", 0),
        ("a, b WHERE a.k = b.k AND b.at <= a.at + INTERVAL 7 SECONDS AND b.at >= a.at", "a.at", 7),
        ("a [RANGE 9 SECONDS] LEFT JOIN b ON a.k = b.k AND b.at >= a.at", "RESULT_TIME()", 9),
    ],
)
def test_a_group_waits_for_what_may_still_join(rest: str, time: str, wait_s: int) -> None:
    asked = _query(f"SELECT TUMBLE({time}, INTERVAL 1 HOUR) AS t, COUNT(*) AS n FROM {rest} GROUP BY t")
    assert group_wait_us(asked, CATALOG)[0] == wait_s * 1_000_000


def test_a_key_that_is_a_time_which_may_be_absent_ends_no_group() -> None:
    # It is shorter than the bucket beside it, and combinations without b are in no such group.
    asked = _query(
        "SELECT DISTINCT TUMBLE(RESULT_TIME(), INTERVAL 10 SECONDS) AS t, b.at AS other "
        "FROM a [RANGE 9 SECONDS] LEFT JOIN b [RANGE 9 SECONDS] ON a.k = b.k"
    )
    assert asked.grouping is not None
    assert asked.grouping.bucket is not None
    assert asked.grouping.bucket.aliases == ("a", "b")


@pytest.mark.parametrize("value", [Decimal("999999999999.999999"), Decimal("-999999999999.999999")])
def test_a_number_between_the_greatest_of_a_type_is_one_of_it(value: Decimal, tmp_path: Path) -> None:
    # As doubles both are 10^12, which is DuckDB's answer and has one digit more than its type.
    columns = (("at", ColumnType.TIMESTAMP), ("p", ColumnType.decimal(18, 6)))
    catalog = Catalog.of([Stream("d", columns, "at")])
    text = "SELECT MEDIAN(p) AS m, QUANTILE_CONT(p, 0.3) AS q FROM d GROUP BY TUMBLE(at, INTERVAL 1 HOUR)"
    query = parse_query(text, "q0", catalog)
    topology = Topology(plan([query], catalog, method="flat", tasks=1).graph, tmp_path)
    times = [_NOON, _NOON + timedelta(seconds=1)]
    schema = pa.schema([("at", pa.timestamp("us", "UTC")), ("p", pa.decimal128(18, 6))])
    rows = pa.table({"at": times, "p": [value, value]}, schema=schema)
    topology.feed({"d": rows})
    for days in (1, 2):
        later = {"at": [_NOON + timedelta(days=days)], "p": [None]}
        topology.feed({"d": pa.table(later, schema=schema)})
    assert topology.answers("q0").rows()[:1] == [(value, value)]
    with duckdb.connect() as connection:
        connection.register("d", rows.append_column("@us", rows["at"].cast(pa.int64())))
        assert connection.sql(to_duckdb(query, catalog)).fetchall() == [(value, value)]


def test_a_name_in_order_by_is_an_output_before_it_is_a_column() -> None:
    text = "SELECT a.at, a.k, COUNT(*) AS x FROM a GROUP BY a.at, a.k, a.x ORDER BY x DESC LIMIT 2"
    grouping = _query(text).grouping
    assert grouping is not None
    assert [(order.expression.type, order.descending) for order in grouping.order] == [
        (ColumnType.BIGINT, True)
    ]


def test_count_if_of_nothing_is_null_as_in_duckdb(tmp_path: Path) -> None:
    counts = ", ".join(
        f"COUNT_IF({condition}){where} AS c{number}"
        for number, (condition, where) in enumerate(
            (
                ("k > 1", ""),
                ("k > 1", " FILTER (WHERE x > 2)"),
                ("k > 1", " FILTER (WHERE x > 99)"),
                ("k > 1 OR x > 2", ""),
                ("NULLIF(k, k) = 1", ""),
            )
        )
    )
    text = f"SELECT TUMBLE(at, INTERVAL 10 SECONDS) AS b, {counts} FROM a GROUP BY b"
    topology = Topology(_graph(text, tasks=2), tmp_path)
    rows = pa.concat_tables([_rows(1, 3, k=1), _rows(4, k=2), _rows(11, k=3), _rows(21)])
    for arrived in (rows, _rows(40), _rows(41)):
        topology.feed({"a": arrived})
    found = topology.answers("q0")
    assert found.schema.dtypes()[1:] == [pl.Int64] * 5
    assert sorted(row[1:] for row in found.rows()) == [
        (0, 0, None, 1, None),
        (1, 1, None, 1, None),
        (1, 1, None, 2, None),
    ]
    connection = duckdb.connect()
    connection.register("a", rows)
    theirs = text.replace("TUMBLE(at, INTERVAL 10 SECONDS)", 'TIME_BUCKET(INTERVAL 10 SECONDS, "at")')
    assert sorted(row[1:] for row in connection.sql(theirs).fetchall()) == sorted(
        row[1:] for row in found.rows()
    )


@pytest.mark.parametrize("late", ["join", "drop"])
def test_late_results_of_a_union_are_marked_where_streams_join_them(tmp_path: Path, late: LatePolicy) -> None:
    catalog = Catalog.of(Stream(name, _COLUMNS, "at", late=late) for name in ("a", "b"))
    query = parse_query("SELECT a.k FROM a UNION ALL SELECT b.k FROM b", "q", catalog)
    topology = Topology(plan([query], catalog, method="flat").graph, tmp_path)
    topology.feed({"a": _rows(10), "b": _rows(10)})
    topology.feed({"a": _rows(1, 11, k=2)})
    rows = topology.answers("q").rows()
    joined = [(1, False), (1, False), (2, True), (2, False)]
    assert sorted(rows) == (sorted(joined) if late == "join" else [(1,), (1,), (2,)])


@pytest.mark.parametrize(
    ("keys", "size_us"),
    [
        ("at, TUMBLE(at, INTERVAL 10 SECONDS), k", 10_000_000),
        ("TUMBLE(at, INTERVAL 10 SECONDS), at, k", 10_000_000),
        ("at, k", 1),
    ],
)
def test_limit_is_of_the_bucket_that_is_written(keys: str, size_us: int) -> None:
    """Not of each event time beside it, though a group is over with that."""
    rest = f"{keys}, COUNT(*) AS n FROM a GROUP BY {keys}"
    limited, all_of_them = (_query(f"SELECT {rest}{end}").grouping for end in (" ORDER BY n LIMIT 1", ""))
    assert limited is not None
    assert all_of_them is not None
    assert (limited.bucket.size_us, all_of_them.bucket.size_us) == (size_us, 1)


_ORDERED = (
    "SELECT TUMBLE(at, INTERVAL 10 SECONDS) AS b, k, FIRST(x ORDER BY at DESC) AS newest, "
    "LAST(k ORDER BY x NULLS FIRST) AS of_most, MEDIAN(x) AS middle, MODE(k + x) AS often, "
    "STRING_AGG(CAST(k AS VARCHAR), '+' ORDER BY x DESC) AS joined, BIT_XOR(k) AS bits, CORR(x, k) AS corr "
    "FROM a GROUP BY b, k"
)
_BEST = (
    "SELECT TUMBLE(at, INTERVAL 10 SECONDS) AS b, k, k % 2 AS odd, COUNT(*) AS n FROM a GROUP BY b, k, odd "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY b, odd ORDER BY n DESC, k DESC) <= 1"
)


@pytest.mark.parametrize("tasks", [1, 3])
def test_ordered_aggregates_equal_duckdb_through_a_crash_and_another_plan(tmp_path: Path, tasks: int) -> None:
    batches = [
        pa.concat_tables([_rows(1, 2, 2, k=1), _rows(3, k=3), _rows(1, 4, 4, k=2)]),
        pa.concat_tables([_rows(4, 7, k=1), _rows(7, 6, 9, k=3), _rows(5, 8.5, 9, k=5)]),
        pa.concat_tables([_rows(9, 15, k=2), _rows(19, k=4), _rows(40, k=1)]),
        _rows(41),
    ]
    topology = Topology(_graph(_ORDERED, _BEST, tasks=3), tmp_path)
    topology.feed({"a": batches[0]})
    topology.die_in({"a": batches[1]})
    topology.feed({"a": batches[1]})
    topology.change(_graph(_ORDERED, _BEST, "SELECT a.at FROM a, b WHERE a.k = b.k", tasks=tasks))
    for batch in batches[2:]:
        topology.feed({"a": batch, "b": _rows(50)})
    connection = duckdb.connect()
    connection.register("arrived", pa.concat_tables(batches))
    moments = """SELECT * REPLACE ("at"::TIMESTAMP AS "at") FROM arrived"""
    connection.execute(f"SET TimeZone = 'UTC'; CREATE TABLE a AS {moments}")
    for name, text in (("q0", _ORDERED), ("q1", _BEST)):
        expected = connection.sql(to_duckdb(_query(text), CATALOG)).pl()
        found = topology.answers(name).with_columns(pl.col("b").dt.replace_time_zone(None))
        first = expected.filter(pl.col("b") < (_NOON + timedelta(seconds=40)).replace(tzinfo=None))
        assert found.height
        assert_frame_equal(found, first, check_row_order=False, check_dtypes=False)
