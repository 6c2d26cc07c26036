"""Running groups: the table at every commit, after a crash, under another plan, and for a new query."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from jobs.aggregation.changes import current_table
from jobs.storage.partition import CompactionPolicy
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from optimizer.sql.duckdb import to_duckdb
from tests.unit.runtime.in_process import Topology

_COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT), ("x", ColumnType.DOUBLE))
CATALOG = Catalog.of(Stream(name, _COLUMNS, "at", timedelta(seconds=20)) for name in ("a", "b"))
_SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("k", pa.int32()), ("x", pa.float64())])
_NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
COUNTED = "SELECT k, COUNT(*) AS n, SUM(k) AS s FROM a GROUP BY k"
FEW = "SELECT k, COUNT(*) AS n FROM a GROUP BY k HAVING COUNT(*) < 4"
WHOLE = "SELECT COUNT(*) AS n, MAX(x) AS most, AVG(k) AS mean FROM a"
JOINED = (
    "SELECT a.k, COUNT(*) AS n, MIN(b.x) AS least, COUNT(DISTINCT b.x) AS several FROM a [RANGE 9 SECONDS], "
    "b [RANGE 9 SECONDS] WHERE a.k = b.k GROUP BY a.k"
)
VALUES = (
    "SELECT x, MEDIAN(k) AS middle, STRING_AGG(CAST(k AS VARCHAR), '+' ORDER BY k) AS ks, SUM(x) AS total, "
    "FIRST(k ORDER BY at) AS f, COUNT(*) FILTER (WHERE k > 1) AS n FROM a GROUP BY x"
)
DISTINCT = "SELECT DISTINCT a.k, b.x FROM a [RANGE 9 SECONDS], b [RANGE 9 SECONDS] WHERE a.k = b.k"
NOBODY = (
    "SELECT COUNT(*) AS n, SUM(a.k) AS s FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.x = b.x + 100"
)
ENDLESS = (
    "SELECT a.k, COUNT(*) AS n FROM a [RANGE UNBOUNDED], b [RANGE UNBOUNDED] WHERE a.k = b.k GROUP BY a.k"
)
TEXTS = (COUNTED, FEW, WHOLE, JOINED, VALUES, DISTINCT, NOBODY, ENDLESS)


def _graph(*texts: str, tasks: int = 1, method: str = "flat") -> PhysicalGraph:
    queries = [parse_query(text, f"q{number}", CATALOG) for number, text in enumerate(texts)]
    return plan(queries, CATALOG, method=method, tasks=tasks).graph


def _rows(chance: random.Random, second: int) -> pa.Table:
    moments = [second + chance.uniform(0, 4) for _ in range(chance.randrange(8))]
    return pa.Table.from_pylist(
        [
            {
                "at": _NOON + timedelta(seconds=at),
                "k": chance.choice((1, 2, 3, 4, None)),
                "x": chance.choice((0.5, -0.0, 0.0, float("nan"), None)),
            }
            for at in moments
        ],
        schema=_SCHEMA,
    )


def table(topology: Topology, query: str) -> Counter[tuple[object, ...]]:
    """The current table: of every key the last row, unless that says that there is none."""
    rows = topology.answers(query)
    key = next(one.key for one in topology.graph.queries if one.name == query)
    if rows.is_empty():
        return Counter()
    return _bag(rows if key is None else current_table(rows, key))


def _bag(rows: pl.DataFrame) -> Counter[tuple[object, ...]]:
    """Rows to compare: of two zeros DuckDB takes any."""
    return Counter(tuple(repr(v + 0.0 if isinstance(v, float) else v) for v in row) for row in rows.rows())


def reference(text: str, seen: dict[str, pa.Table], also: str = "") -> Counter[tuple[object, ...]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, rows in seen.items():
            connection.register(name, rows)
        query = parse_query(text, "q", CATALOG)
        asked = to_duckdb(query, CATALOG, also=(also,) if also else ())
        found = pl.DataFrame(pl.from_arrow(connection.sql(asked).to_arrow_table()))
        return _bag(found)


@pytest.mark.parametrize(("tasks", "share"), [(1, None), (3, 256 * 1024)])
def test_the_table_is_duckdbs_at_every_commit(tmp_path: Path, tasks: int, share: int | None) -> None:
    chance, seen = random.Random(tasks), {name: _SCHEMA.empty_table() for name in "ab"}
    policy = CompactionPolicy(fan=3, smallest_rows=8)
    topology = Topology(_graph(*TEXTS, tasks=tasks), tmp_path, policy, share)
    for batch in range(14):
        fed = {name: _rows(chance, batch) for name in "ab" if chance.random() < 0.7}
        if chance.random() < 0.3:
            topology.die_in(fed)
        topology.feed(fed)
        seen = {
            name: pa.concat_tables([seen[name], fed[name]]) if name in fed else seen[name] for name in "ab"
        }
        for number, text in enumerate(TEXTS):
            assert table(topology, f"q{number}") == reference(text, seen), (batch, text)


def _some(*pairs: tuple[int, int]) -> pa.Table:
    """Tuples of (second, k)."""
    rows = [{"at": _NOON + timedelta(seconds=s), "k": k, "x": 1.0} for s, k in pairs]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def test_a_batch_says_what_changed_and_what_goes(tmp_path: Path) -> None:
    topology = Topology(_graph(FEW, tasks=3), tmp_path)
    topology.feed({"a": _some((1, 1), (1, 1), (1, 2))})
    topology.feed({"a": _some((2, 2))})
    topology.feed({"a": _some((3, 1), (3, 1))})  # Of four there is none any more,
    topology.feed({"a": _some((4, 1))})  # and of five none either.
    found = topology.answers("q0").rows()
    assert sorted(found[:2]) == [(1, 2, False), (2, 1, False)]
    assert found[2:] == [(2, 2, False), (1, None, True)]


def test_one_row_is_there_from_the_first_batch_on(tmp_path: Path) -> None:
    topology = Topology(_graph(NOBODY, tasks=3), tmp_path)
    assert topology.answers("q0").is_empty()
    topology.feed({})
    topology.feed({"a": _some((1, 1))})
    topology.die_in({"b": _some((1, 1))})
    topology.feed({"b": _some((1, 1))})
    assert topology.answers("q0").rows() == [(0, None, False)]


def test_distinct_rows_stay(tmp_path: Path) -> None:
    topology = Topology(_graph("SELECT DISTINCT k FROM a", tasks=2), tmp_path)
    for second in range(3):
        topology.feed({"a": _some((second, 1), (second, second))})
    assert topology.answers("q0").columns == ["k"]
    assert sorted(topology.answers("q0").rows()) == [(0,), (1,), (2,)]


def test_rows_of_a_group_become_one_when_runs_are_merged(tmp_path: Path) -> None:
    topology = Topology(_graph(COUNTED), tmp_path, CompactionPolicy(fan=2, smallest_rows=100))
    for second in range(40):
        topology.feed({"a": _some((second, 1), (second, 2))})
    assert table(topology, "q0") == Counter({("1", "40", "40"): 1, ("2", "40", "80"): 1})
    assert sum(run.rows for run in topology.runs) <= 8


def test_other_numbers_of_tasks_go_on(tmp_path: Path) -> None:
    chance, seen = random.Random(5), {name: _SCHEMA.empty_table() for name in "ab"}
    texts = (COUNTED, JOINED, WHOLE, VALUES)
    topology = Topology(_graph(*texts, tasks=3), tmp_path)
    for batch, tasks in enumerate((3, 3, 1, 1, 2, 3, 3, 2)):
        topology.change(_graph(*texts, tasks=tasks, method="flat" if batch % 3 else "greedy"))
        fed = {name: _rows(chance, batch) for name in "ab"}
        topology.feed(fed)
        seen = {name: pa.concat_tables([seen[name], fed[name]]) for name in "ab"}
        for number, text in enumerate(texts):
            assert table(topology, f"q{number}") == reference(text, seen), (batch, text)


@pytest.mark.parametrize("text", [COUNTED, JOINED, ENDLESS])
def test_a_new_query_counts_what_came_behind_all_before(tmp_path: Path, text: str) -> None:
    chance, seen = random.Random(7), {name: _SCHEMA.empty_table() for name in "ab"}
    other = "SELECT a.at, b.x FROM a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE a.k = b.k"
    topology = Topology(_graph(other, tasks=2), tmp_path)
    for batch in range(10):
        if batch == 4:
            topology.change(_graph(other, text, tasks=2))
        fed = {name: _rows(chance, batch) for name in "ab"}
        topology.feed(fed)
        seen = {name: pa.concat_tables([seen[name], fed[name]]) for name in "ab"}
        if batch < 4:
            continue
        assert topology.last is not None
        since = topology.last.queries["q1"].complete_since_us
        assert since is not None
        assert topology.last.queries["q1"].table_from == 4
        counted = {COUNTED: "a.at", JOINED: "greatest(a.at, b.at)", ENDLESS: "least(a.at, b.at)"}[text]
        assert table(topology, "q1") == reference(text, seen, f"epoch_us({counted}) >= {since}")


WAITING = (
    "SELECT b.k, COUNT(*) AS n FROM a [RANGE 3 SECONDS] LEFT JOIN b [RANGE 3 SECONDS] ON a.k = b.k "
    "GROUP BY b.k",
    "SELECT a.k, COUNT(*) AS n FROM a WHERE EXISTS (SELECT 1 FROM b [RANGE 3 SECONDS] WHERE a.k = b.k "
    "AND b.at <= a.at + INTERVAL 2 SECONDS) GROUP BY a.k",
    "SELECT COUNT(*) AS n, MAX(a.k) AS k FROM a WHERE NOT EXISTS (SELECT 1 FROM b [RANGE 3 SECONDS] "
    "WHERE a.k = b.k AND b.at <= a.at + INTERVAL 2 SECONDS)",
)


@pytest.mark.parametrize("text", WAITING)
def test_what_waits_is_counted_once_it_is_final(tmp_path: Path, text: str) -> None:
    chance, seen = random.Random(3), {name: _SCHEMA.empty_table() for name in "ab"}
    topology = Topology(_graph(text, tasks=2), tmp_path)
    for batch in range(8):
        fed = {name: _rows(chance, batch) for name in "ab"}
        topology.feed(fed)
        seen = {name: pa.concat_tables([seen[name], fed[name]]) for name in "ab"}
    topology.feed({}, ended=["a", "b"])
    topology.feed({})
    assert table(topology, "q0") == reference(text, seen)


def test_late_tuples_count_where_their_stream_joins_them(tmp_path: Path) -> None:
    streams = [Stream("a", _COLUMNS, "at", timedelta(0), "join"), Stream("b", _COLUMNS, "at", timedelta(0))]
    catalog = Catalog.of(streams)
    # Results of the last one say which of them are late.
    texts = {
        "a": "SELECT COUNT(*) AS n FROM a",
        "b": "SELECT COUNT(*) AS n FROM b",
        "each": "SELECT k FROM a",
    }
    queries = [parse_query(text, name, catalog) for name, text in texts.items()]
    topology = Topology(plan(queries, catalog, method="flat", tasks=2).graph, tmp_path)
    for second in (9, 1, 5, 9):
        topology.feed({name: _some((second, 1)) for name in "ab"})
    assert table(topology, "a") == Counter({("4",): 1})
    assert table(topology, "b") == Counter({("2",): 1})


PAID = (
    "SELECT price, COUNT(*) AS n, SUM(most) AS s FROM paid GROUP BY price HAVING COUNT(*) < 9",
    "SELECT SUM(price) AS s, SUM(most) AS t, MIN(price) AS least, MAX(most) AS most, "
    "COUNT(DISTINCT price) AS several, SUM(price) FILTER (WHERE price > 0.1) AS more FROM paid",
    "SELECT DISTINCT price, most FROM paid",
)


def test_decimals_are_counted_exactly(tmp_path: Path) -> None:
    chance = random.Random(4)
    kinds = {"price": (6, 2), "most": (38, 4)}
    columns = (
        ("at", ColumnType.TIMESTAMP),
        *((name, ColumnType.decimal(*kind)) for name, kind in kinds.items()),
    )
    catalog = Catalog.of([Stream("paid", columns, "at", timedelta(seconds=20))])
    schema = pa.schema([_SCHEMA.field("at"), *((name, pa.decimal128(*kind)) for name, kind in kinds.items())])
    seen = schema.empty_table()

    def graph(tasks: int) -> PhysicalGraph:
        queries = [parse_query(text, f"q{number}", catalog) for number, text in enumerate(PAID)]
        return plan(queries, catalog, method="flat", tasks=tasks).graph

    policy = CompactionPolicy(fan=2, smallest_rows=8)
    topology = Topology(graph(3), tmp_path, policy)
    for batch, tasks in enumerate((3, 2, 2, 3, 1, 2, 2, 3)):
        topology.change(graph(tasks))
        rows = [
            {
                "at": _NOON + timedelta(seconds=batch),
                "price": chance.choice((Decimal("0.10"), Decimal("0.20"), Decimal("9999.99"), None)),
                "most": Decimal(chance.randrange(10**12)).scaleb(-4),
            }
            for _ in range(chance.randrange(9))
        ]
        fed = pa.Table.from_pylist(rows, schema=schema)
        topology.feed({"paid": fed})
        seen = pa.concat_tables([seen, fed])
        for number, text in enumerate(PAID):
            with duckdb.connect() as connection:
                connection.execute("SET TimeZone = 'UTC'")
                connection.register("paid", seen)
                asked = to_duckdb(parse_query(text, "q", catalog), catalog)
                expected = _bag(pl.DataFrame(pl.from_arrow(connection.sql(asked).to_arrow_table())))
            assert table(topology, f"q{number}") == expected, (batch, text)
