"""As-of joins while a topology runs: when they leave, after a crash, under another plan, for a new query."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.unit.runtime.in_process import Topology

_COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT), ("x", ColumnType.DOUBLE))
CATALOG = Catalog.of(Stream(name, _COLUMNS, "at") for name in ("a", "b", "c"))
_SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("k", pa.int32()), ("x", pa.float64())])
_NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
PRICED = "SELECT a.x AS ax, b.x AS bx FROM a ASOF JOIN b [RANGE 1 MINUTE] ON a.k = b.k AND a.at >= b.at"
OPTIONAL = PRICED.replace("ASOF", "ASOF LEFT")
BESIDE = "SELECT a.at, c.x FROM a [RANGE 1 HOUR], c [RANGE 1 HOUR] WHERE a.k = c.k"
Rows = list[tuple[float | None, ...]]


def _graph(*texts: str, tasks: int = 1, method: str = "flat") -> PhysicalGraph:
    queries = [parse_query(text, f"q{number}", CATALOG) for number, text in enumerate(texts)]
    return plan(queries, CATALOG, method=method, tasks=tasks).graph


def _rows(*seconds: float, k: int = 1, x: float | None = None) -> pa.Table:
    """Tuples whose x is when they are, in seconds after noon, unless it is given."""
    return pa.Table.from_pylist(
        [{"at": _NOON + timedelta(seconds=s), "k": k, "x": s if x is None else x} for s in seconds],
        schema=_SCHEMA,
    )


def _answers(topology: Topology, query: str = "q0") -> Rows:
    return sorted(topology.answers(query).rows(), key=repr)


def _end(topology: Topology, *streams: str) -> None:
    topology.feed({}, ended=streams or ("a", "b"))
    topology.feed({})


def test_a_tuple_waits_until_the_watermark_is_behind_it(tmp_path: Path) -> None:
    topology = Topology(_graph(PRICED, tasks=3), tmp_path)
    topology.feed({"a": _rows(10), "b": _rows(3, 12)})
    topology.feed({"b": _rows(14)})
    # The watermark is that of a, which may still bring what is as old as 10 seconds; and so may b's be late.
    assert _answers(topology) == []
    topology.feed({"a": _rows(11), "b": _rows(15)})
    topology.feed({"a": _rows(13)})
    assert _answers(topology) == [(10.0, 3.0)]
    _end(topology)
    assert _answers(topology) == [(10.0, 3.0), (11.0, 3.0), (13.0, 12.0)]


@pytest.mark.parametrize(("sign", "partner"), [(">=", 10.0), (">", 3.0)])
def test_a_partner_of_the_same_time_is_one_unless_excluded(tmp_path: Path, sign: str, partner: float) -> None:
    topology = Topology(_graph(PRICED.replace(">=", sign)), tmp_path)
    topology.feed({"a": _rows(10), "b": _rows(3)})
    topology.feed({"b": _rows(10)})
    _end(topology)
    assert _answers(topology) == [(10.0, partner)]


def test_beyond_the_window_there_is_no_partner(tmp_path: Path) -> None:
    topology = Topology(_graph(PRICED, OPTIONAL, tasks=2), tmp_path)
    topology.feed({"a": _rows(1, 62, 63), "b": _rows(2)})
    _end(topology)
    assert _answers(topology) == [(62.0, 2.0)]
    assert _answers(topology, "q1") == [(1.0, None), (62.0, 2.0), (63.0, None)]


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_of_partners_of_one_time_the_greatest_is_taken(tmp_path: Path, tasks: int, reverse: bool) -> None:
    # By the columns that are read, whichever came first and wherever they lie.
    topology = Topology(_graph(PRICED.replace("a.k = b.k AND", ""), tasks=tasks), tmp_path)
    values = [-0.0, 0.0, -7.0, None]
    for value in reversed(values) if reverse else values:
        rows = _rows(5).set_column(2, "x", pa.array([value], pa.float64()))
        topology.feed({"b": rows, "a": _rows(1)})
    topology.feed({"a": _rows(9)})
    _end(topology)
    assert str(_answers(topology)[-1]) == "(9.0, 0.0)"


def test_a_late_partner_is_none(tmp_path: Path) -> None:
    topology = Topology(_graph(PRICED), tmp_path)
    topology.feed({"a": _rows(20), "b": _rows(3, 15)})
    topology.feed({"b": _rows(14)})
    _end(topology)
    assert _answers(topology) == [(20.0, 15.0)]


@pytest.mark.parametrize("text", [PRICED, OPTIONAL])
def test_a_crash_before_a_commit_repeats_nothing(tmp_path: Path, text: str) -> None:
    topology = Topology(_graph(text, tasks=2), tmp_path)
    topology.feed({"a": _rows(1, 5), "b": _rows(2, 4)})
    topology.die_in({"a": _rows(8, 30), "b": _rows(7, 29)})
    topology.feed({"a": _rows(8, 30), "b": _rows(7, 29)})
    topology.die_in({"a": _rows(31), "b": _rows(31)})
    topology.feed({"a": _rows(31), "b": _rows(31)})
    _end(topology)
    none = [] if text == PRICED else [(1.0, None)]
    assert _answers(topology) == sorted([*none, (5.0, 4.0), (8.0, 7.0), (30.0, 29.0), (31.0, 31.0)], key=repr)


@pytest.mark.parametrize("after", [{"tasks": 1}, {"tasks": 4}, {"method": "greedy"}])
def test_another_plan_goes_on_with_what_waits(tmp_path: Path, after: dict[str, object]) -> None:
    topology = Topology(_graph(PRICED, OPTIONAL, tasks=4), tmp_path)
    topology.feed({"a": _rows(9, 10), "b": _rows(2)})
    topology.change(_graph(PRICED, OPTIONAL, BESIDE, **after))  # type: ignore[arg-type]
    topology.feed({"a": _rows(11), "b": _rows(8)})
    topology.change(_graph(PRICED, OPTIONAL, tasks=3))
    topology.feed({"b": _rows(9.5)})
    _end(topology)
    found = [(10.0, 9.5), (11.0, 9.5), (9.0, 8.0)]
    assert _answers(topology) == found
    assert _answers(topology, "q1") == found


def test_a_new_query_begins_where_it_knows_all_partners(tmp_path: Path) -> None:
    topology = Topology(_graph("SELECT at FROM a", "SELECT at FROM b"), tmp_path)
    topology.feed({"a": _rows(1, 12), "b": _rows(5, 12)})
    topology.change(_graph("SELECT at FROM a", "SELECT at FROM b", PRICED))
    # Nothing says what b had in the minute before.
    topology.feed({"a": _rows(20, 71, 73), "b": _rows(13, 70)})
    _end(topology)
    assert _answers(topology, "q2") == [(73.0, 70.0)]


def test_a_join_of_streams_on_the_left_and_another_behind(tmp_path: Path) -> None:
    text = (
        "SELECT a.x AS ax, b.x AS bx, c.x AS cx FROM a [RANGE 10 SECONDS] "
        "JOIN c [RANGE 10 SECONDS] ON a.k = c.k "
        "ASOF LEFT JOIN b [RANGE 1 MINUTE] ON a.k = b.k AND c.at >= b.at "
        "WHERE b.x IS NULL OR b.x <> a.x"
    )
    topology = Topology(_graph(text, tasks=2), tmp_path)
    topology.feed({"a": _rows(10, 11, 40), "b": _rows(9, 11, 30), "c": _rows(8, 12)})
    _end(topology, "a", "b", "c")
    assert _answers(topology) == [(10.0, 11.0, 12.0), (10.0, None, 8.0), (11.0, None, 8.0)]


def test_groups_of_what_is_found(tmp_path: Path) -> None:
    text = (
        "SELECT TUMBLE(RESULT_TIME(), INTERVAL 10 SECONDS) AS t, SUM(b.k) AS n, COUNT(*) AS c, MAX(b.x) AS x "
        "FROM a ASOF LEFT JOIN b [RANGE 1 MINUTE] ON a.k = b.k AND a.at >= b.at GROUP BY t"
    )
    topology = Topology(_graph(text, tasks=2), tmp_path)
    topology.feed({"a": _rows(1, 9), "b": _rows(2, 8)})
    topology.feed({"a": _rows(12), "b": _rows(10)})
    topology.feed({"a": _rows(13), "b": _rows(13)})
    assert [row[1:] for row in topology.answers("q0").rows()] == [(1, 2, 8.0)]
    _end(topology)
    assert sorted(row[1:] for row in topology.answers("q0").rows()) == [(1, 2, 8.0), (2, 2, 13.0)]


@pytest.mark.parametrize("kind", ["ASOF", "ASOF LEFT"])
@pytest.mark.parametrize(
    "conditions", ["a.at > b.at", "a.k = b.k AND a.at >= b.at", "b.at <= a.at AND b.x <> 4"]
)
def test_duckdb_s_own_join_finds_the_same(tmp_path: Path, kind: str, conditions: str) -> None:
    rows = {"a": _rows(1, 4, 5, 8), "b": _rows(2, 4, 7)}
    text = f"SELECT a.x AS ax, b.x AS bx FROM a {kind} JOIN b {{}} ON {conditions}"
    topology = Topology(_graph(text.format("[RANGE UNBOUNDED]"), tasks=2), tmp_path)
    topology.feed({name: table.slice(0, 2) for name, table in rows.items()})
    topology.feed({name: table.slice(2) for name, table in rows.items()}, ended=("a", "b"))
    topology.feed({})
    with duckdb.connect() as connection:
        for name, table in rows.items():
            connection.register(name, table)
        expected = connection.sql(text.format("")).fetchall()
    assert _answers(topology) == sorted(expected, key=repr)
