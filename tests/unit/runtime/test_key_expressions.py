"""Joins on computed keys: explicit casts of every kind, and arithmetic, whatever a batch holds."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from optimizer.algebra.expression import Call
from optimizer.algebra.functions import FUNCTIONS
from optimizer.algebra.render import to_duckdb_sql
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.validate import validate
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.unit.runtime.in_process import Topology

T = ColumnType
COLUMNS = (
    *(("at", T.TIMESTAMP), ("i", T.INT), ("b", T.BIGINT), ("d", T.DOUBLE), ("s", T.STRING), ("day", T.DATE)),
    *(("x", T.DOUBLE), ("y", T.DOUBLE)),
)
CATALOG = Catalog.of(Stream(name, COLUMNS, "at") for name in ("r", "t"))
CASTS = (
    *(
        "CAST(r.d AS INT) = t.i",
        "CAST(r.d AS BIGINT) = t.b",
        "CAST(r.b AS INT) = t.i",
        "CAST(r.s AS INT) = t.i",
    ),
    *("CAST(r.b AS DOUBLE) = t.b", "CAST(r.b AS DOUBLE) = CAST(t.b AS DOUBLE)", "CAST(r.at AS DATE) = t.day"),
    *("CAST(r.d AS STRING) = t.s", "CAST(r.i AS STRING) = t.s", "CAST(r.s AS DOUBLE) = t.d"),
    *(
        "CAST(r.i AS BOOLEAN) = CAST(t.d AS BOOLEAN)",
        "CAST(r.s AS DATE) = t.day",
        "CAST(r.s AS TIMESTAMP) = t.at",
    ),
    *("CAST(r.d AS INT) = t.b", "CAST(CAST(r.d AS INT) AS DOUBLE) = t.d", "r.i = CAST(t.s AS BIGINT)"),
    *("r.d = CAST(t.i AS DOUBLE)", "CAST(r.i AS BIGINT) = t.d"),
)
NUMBERS = (
    "r.x / 10 = t.y",
    "t.y = r.x / 10",
    "round(r.x / 10, 1) = t.y",
    "r.x % 3 = t.x",
    "power(r.x, 3) = power(t.x, 3)",
)
CALLS = (
    "left(r.s, 1) = t.s",
    "levenshtein(r.s, t.s) = 1",
    "regexp_extract(r.s, '[0-9]+') = CAST(t.i AS STRING)",
    "(r.s ~ '^[0-9]$') = (t.i & 1 = 1)",
    "json_extract_string('[' || r.i || ']', '$[0]') = t.s",
    "strftime(r.at, '%H') = lpad(CAST(t.i AS STRING), 2, '0')",
    "time_bucket(INTERVAL 5 HOURS, r.at) = time_bucket(INTERVAL 5 HOURS, t.at)",
    "date_diff('hour', r.at, t.at) = 3",
    "epoch_ms(r.at) // 3600000 = t.i",
    "gcd(r.i, t.i) = 2",
    "log(2, r.x) = t.d",
)
LINES = """
SELECT make_timestamp(n * 3600000000) AS at, (n % 5)::INT AS i, make_timestamp(n * 3600000000)::DATE AS day,
    [0, 1, 9007199254740992, 9007199254740993, 3][n % 5 + 1]::BIGINT AS b,
    [0.4, 1.5, 2.5, 9007199254740992.0, 3.0][n % 5 + 1]::DOUBLE AS d,
    ['1', '2.5', '1970-01-01', '3', '0.4'][n % 5 + 1] AS s, n::DOUBLE AS x, n::DOUBLE / 10 AS y
FROM range(40) AS of(n)
"""


def tried(call: Call, text: str) -> str:
    raising = call.function in ("cast", "modulo") or FUNCTIONS[call.function].rule == "signature"
    return f"TRY({text})" if raising else text


@pytest.mark.parametrize(("rows", "tuples"), [(1, 12), (2, 20), (40, 40)])
@pytest.mark.parametrize("key", [*CASTS, *NUMBERS, *CALLS])
def test_a_computed_key_finds_what_duckdb_finds(key: str, rows: int, tuples: int, tmp_path: Path) -> None:
    query = parse_query(f"SELECT r.at AS a, t.at AS b FROM r, t WHERE {key}", "q", CATALOG)
    graph = plan([query], CATALOG, method="greedy", tasks=3).graph
    validate(graph)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    lines = connection.sql(LINES).to_arrow_table().slice(0, tuples)
    connection.register("r", lines)
    connection.register("t", lines)
    (predicate,) = query.predicates
    expected = connection.sql(
        f"SELECT r.at, t.at FROM r, t WHERE {to_duckdb_sql(predicate, tried)}"
    ).fetchall()

    at = CATALOG["r"].columns.index(("at", T.TIMESTAMP))
    typed = lines.set_column(at, "at", lines["at"].cast(pa.timestamp("us", "UTC")))
    topology = Topology(graph, str(tmp_path))
    for start in range(0, tuples, rows):
        part = typed.slice(start, rows)
        topology.feed({"r": part, "t": part})

    found = [(a.replace(tzinfo=None), b.replace(tzinfo=None)) for a, b in topology.answers("q").rows()]
    assert sorted(found) == sorted(expected)
    assert expected
