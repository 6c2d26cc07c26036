"""Running groups: the table at every commit, after a crash, under another plan, and for a new query."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
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
