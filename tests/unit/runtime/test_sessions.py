"""Sessions while a topology runs: when they leave, after a crash, under another plan, and for a new query."""

from __future__ import annotations

import random
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
from optimizer.sql.binding.groups.finality import finality
from optimizer.sql.duckdb import to_duckdb
from optimizer.sql.grammar.places import SourceText
from tests.unit.runtime.in_process import Topology

_COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT), ("x", ColumnType.DOUBLE))
CATALOG = Catalog.of(Stream(name, _COLUMNS, "at") for name in ("a", "b"))
_LATE = Catalog.of(Stream(name, _COLUMNS, "at", timedelta(seconds=20)) for name in ("a", "b"))
_SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("k", pa.int32()), ("x", pa.float64())])
_NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
COUNTED = "SELECT SESSION(at, INTERVAL 10 SECONDS) AS s, k, COUNT(*) AS n FROM a GROUP BY s, k"
_VALUES = (
    "SELECT SESSION(at, INTERVAL 4 SECONDS) AS s, x AS key, MAX(at) AS until, MEDIAN(k) AS middle, "
    "SUM(x) AS total, "
    "STRING_AGG(CAST(k AS VARCHAR), '+' ORDER BY at) AS ks FROM a GROUP BY s, x HAVING COUNT(*) > 1"
)
_WHOLE = (
    "SELECT SESSION(at, INTERVAL 1 SECOND) AS s, MAX(at) AS until, COUNT(*) AS n, FIRST(x ORDER BY at) AS f "
    "FROM a GROUP BY s"
)
_JOINED = (
    "SELECT SESSION(RESULT_TIME(), INTERVAL 2 SECONDS) AS s, a.k, COUNT(*) AS n, MAX(b.at) AS until "
    "FROM a [RANGE 3 SECONDS], b [RANGE 2 SECONDS] WHERE a.k = b.k GROUP BY s, a.k"
)
_READ = (
    "SELECT SESSION(RESULT_TIME(), INTERVAL 6 SECONDS) AS s, c.k, COUNT(*) AS n, SUM(c.n) AS total "
    "FROM (SELECT TUMBLE(at, INTERVAL 2 SECONDS) AS b, k, COUNT(*) AS n FROM a GROUP BY b, k) AS c "
    "GROUP BY s, c.k"
)
_OUTER = (
    "SELECT SESSION(a.at, INTERVAL 3 SECONDS) AS s, COUNT(*) AS n, COUNT(b.k) AS found "
    "FROM a [RANGE 5 SECONDS] LEFT JOIN b [RANGE 5 SECONDS] ON a.k = b.k AND a.x = b.x GROUP BY s"
)


def _graph(*texts: str, tasks: int = 1, catalog: Catalog = CATALOG) -> PhysicalGraph:
    queries = [parse_query(text, f"q{number}", catalog) for number, text in enumerate(texts)]
    return plan(queries, catalog, method="flat", tasks=tasks).graph


def _rows(*seconds: float, k: int = 1) -> pa.Table:
    return pa.Table.from_pylist(
        [{"at": _NOON + timedelta(seconds=s), "k": k, "x": s} for s in seconds], schema=_SCHEMA
    )


def _counts(topology: Topology, query: str = "q0") -> list[tuple[int, ...]]:
    """Beginning of each session, in seconds after noon, and the rest of the result."""
    rows = topology.answers(query).rows()
    return sorted((int((row[0] - _NOON).total_seconds()), *row[1:]) for row in rows)


def test_a_session_leaves_once_the_watermark_is_a_gap_behind_it(tmp_path: Path) -> None:
    topology = Topology(_graph(COUNTED, tasks=3), tmp_path)
    topology.feed({"a": _rows(1, 2, 9)})
    topology.feed({"a": _rows(19)})  # Just the gap later: of the session.
    topology.feed({"a": _rows(29, k=2)})
    topology.feed({"a": _rows(30, k=2)})
    assert _counts(topology) == []  # The watermark was 29, and the gap ends with 29.
    topology.feed({"a": _rows(31, k=2)})
    assert _counts(topology) == [(1, 1, 4)]
    topology.feed({"a": _rows(90)}, ended=["a"])
    topology.feed({})
    assert _counts(topology) == [(1, 1, 4), (29, 2, 3), (90, 1, 1)]


def test_one_session_lasts_as_long_as_it_goes_on(tmp_path: Path) -> None:
    topology = Topology(_graph(COUNTED), tmp_path)
    for second in range(0, 200, 8):
        topology.feed({"a": _rows(second)})
    assert _counts(topology) == []
    topology.feed({"a": _rows(500)})
    topology.feed({"a": _rows(501)})
    assert _counts(topology) == [(0, 1, 25)]


def test_a_crash_before_a_commit_counts_nothing_twice(tmp_path: Path) -> None:
    topology = Topology(_graph(COUNTED), tmp_path)
    topology.feed({"a": _rows(1, 2)})
    topology.feed({"a": _rows(11)})
    topology.die_in({"a": _rows(18, 30)})
    topology.feed({"a": _rows(18, 30)})
    topology.die_in({"a": _rows(31)})
    topology.feed({"a": _rows(31)})
    assert _counts(topology) == [(1, 1, 4)]


@pytest.mark.parametrize("tasks", [(3, 1), (1, 3)])
def test_another_plan_goes_on_with_what_is_open(tmp_path: Path, tasks: tuple[int, int]) -> None:
    joined = "SELECT a.at, b.x FROM a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE a.k = b.k"
    topology = Topology(_graph(COUNTED, joined, tasks=3), tmp_path)
    topology.change(_graph(COUNTED, joined, tasks=tasks[0]))
    topology.feed({"a": _rows(1, 2, 8), "b": _rows(8)})
    topology.feed({"a": _rows(9, 12), "b": _rows(12)})
    topology.change(_graph(COUNTED, tasks=tasks[1]))
    topology.feed({"a": _rows(13, 20)})
    topology.feed({"a": _rows(50)})
    topology.feed({"a": _rows(51)})
    assert _counts(topology) == [(1, 1, 7)]


def test_a_new_query_begins_with_the_first_session_that_it_sees_whole(tmp_path: Path) -> None:
    topology = Topology(_graph("SELECT at FROM a"), tmp_path)
    topology.feed({"a": _rows(1, 12)})
    topology.change(_graph("SELECT at FROM a", COUNTED))
    # It may have begun with 12, and goes on for longer than the gap behind that.
    topology.feed({"a": _rows(20, 29)})
    topology.feed({"a": _rows(38, 50)})
    topology.feed({"a": _rows(80)})
    topology.feed({"a": _rows(81)})
    assert _counts(topology, "q1") == [(50, 1, 1)]


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_sessions_are_those_of_duckdb(tmp_path: Path, seed: int, tasks: int) -> None:
    texts = (COUNTED, _VALUES, _WHOLE, _JOINED, _READ, _OUTER)
    chance = random.Random(seed)
    topology = Topology(_graph(*texts, tasks=tasks, catalog=_LATE), tmp_path)
    fed: dict[str, list[pa.Table]] = {"a": [], "b": []}
    moment = 0.0
    for _ in range(12):
        tables = {}
        for name, parts in fed.items():
            rows = [
                {
                    "at": _NOON
                    + timedelta(seconds=round(moment + chance.random() * 15, chance.choice((0, 1)))),
                    "k": chance.choice((None, 1, 2, 3)),
                    "x": chance.choice((0.0, -0.0, 1.5, None, float("nan"))),
                }
                for _ in range(chance.randrange(1, 9))
            ]
            tables[name] = pa.Table.from_pylist(rows, schema=_SCHEMA)
            parts.append(tables[name])
        topology.feed(tables)
        moment += chance.choice((1, 4, 5, 30))
    topology.feed({}, ended=["a", "b"])
    for _ in range(3):
        topology.feed({})
    assert not topology.dead
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, parts in fed.items():
            connection.register(name, pa.concat_tables(parts))
        for number, text in enumerate(texts):
            wanted = connection.sql(to_duckdb(parse_query(text, "q", _LATE), _LATE)).pl().rows()
            found = topology.answers(f"q{number}").rows()
            assert wanted
            assert sorted(map(_alike, found)) == sorted(map(_alike, wanted)), text


def _alike(row: tuple[object, ...]) -> str:
    """What equal rows have in common; there are two zeros."""
    return repr([value + 0.0 if isinstance(value, float) else value for value in row])


def test_the_editor_says_when_a_session_is_final() -> None:
    text = (
        "SELECT SESSION(b.at, INTERVAL 30 MINUTES) AS s, COUNT(*) AS n "
        "FROM a [RANGE 5 SECONDS], b [RANGE 1 HOUR] WHERE a.k = b.k GROUP BY s"
    )
    (hint,) = finality(SourceText(text, "q"), parse_query(text, "q", CATALOG), CATALOG)
    assert hint.code == "deadline"
    assert hint.expected == "30 minutes after the last event time of the session, and 1 hour for a"
