"""Random join queries over TPC-H, as the dissertation builds them (section 7.3.1).

"Select a random relation, then randomly add joins until the desired size is reached", over joins of
primary and foreign keys and of columns whose types and values agree. No filter, full history: every
window is unbounded. A query is drawn again when it has no result, or when its result grows faster
than the data: such a query measures how fast results are written and nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import duckdb

from tests.bench.tpch.tables import PREFIXES, Table

Projection = Literal["all", "keys"]
"""What a query selects: every column, as the dissertation's joined tuples have, or primary keys."""
SIZES = (3, 4, 5)
"""Relations per query; drawn with equal chances."""
MOST_GROWTH = 2.5
"""A result that is that many times larger for twice the data grows faster than the data."""
JOINS: tuple[tuple[tuple[str, str], ...], ...] = (
    # Primary and foreign keys
    (("n_regionkey", "r_regionkey"),),
    (("s_nationkey", "n_nationkey"),),
    (("c_nationkey", "n_nationkey"),),
    (("ps_partkey", "p_partkey"),),
    (("ps_suppkey", "s_suppkey"),),
    (("o_custkey", "c_custkey"),),
    (("l_orderkey", "o_orderkey"),),
    (("l_partkey", "p_partkey"),),
    (("l_suppkey", "s_suppkey"),),
    (("l_partkey", "ps_partkey"), ("l_suppkey", "ps_suppkey")),
    # Types and values that agree
    (("l_linestatus", "o_orderstatus"),),
    (("c_nationkey", "s_nationkey"),),
    (("c_custkey", "n_nationkey"),),
    (("s_suppkey", "n_nationkey"),),
    (("s_suppkey", "c_custkey"),),
    (("p_partkey", "c_custkey"),),
    (("p_size", "n_nationkey"),),
    (("o_orderkey", "p_partkey"),),
    (("ps_availqty", "o_custkey"),),
)
KEYS: dict[str, tuple[str, ...]] = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "supplier": ("s_suppkey",),
    "customer": ("c_custkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}
"""Primary keys."""
_TABLES = {prefix: table for table, prefix in PREFIXES.items()}


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """A tree of joins over distinct tables."""

    name: str
    tables: tuple[str, ...]
    """Sorted."""
    conditions: tuple[tuple[str, str], ...]
    """Pairs of columns that are equal, sorted."""

    def sql(self, projection: Projection) -> str:
        """The query; the same text means the same to Millrace and to DuckDB."""
        keys = ", ".join(key for table in self.tables for key in KEYS[table])
        selected = "*" if projection == "all" else keys
        return f"SELECT {selected}\nFROM {', '.join(self.tables)}\nWHERE {self._where}\n"

    def count(self, connection: duckdb.DuckDBPyConnection) -> int:
        """The number of results over the tables of a connection."""
        text = f"SELECT count(*) FROM {', '.join(self.tables)} WHERE {self._where}"
        row = connection.execute(text).fetchone()
        assert row is not None
        return int(row[0])

    @property
    def _where(self) -> str:
        return " AND ".join(f"{left} = {right}" for left, right in self.conditions)


def draw(count: int, seed: int, small: Sequence[Table], twice: Sequence[Table]) -> tuple[JoinQuery, ...]:
    """`count` different queries; the first ones are those that a smaller count draws.

    Args:
        seed: the same seed gives the same queries.
        small: the tables at some scale factor; they judge a query and decide nothing else.
        twice: the tables at twice that scale factor.
    """
    generator = random.Random(seed)
    drawn: dict[tuple[tuple[str, str], ...], JoinQuery] = {}
    with connect(small) as one, connect(twice) as two:
        while len(drawn) < count:
            query = _draw_one(generator, f"q{len(drawn) + 1:02d}")
            if query.conditions not in drawn and 0 < query.count(two) <= MOST_GROWTH * query.count(one):
                drawn[query.conditions] = query
    return tuple(drawn.values())


def connect(tables: Sequence[Table]) -> duckdb.DuckDBPyConnection:
    """A DuckDB that has these tables."""
    connection = duckdb.connect()
    for table in tables:
        connection.register(table.name, table.rows.to_arrow())
    return connection


def table_of(column: str) -> str:
    """The table whose prefix a column has.

    >>> table_of("ps_partkey")
    'partsupp'
    """
    return _TABLES[column.split("_", 1)[0]]


def _draw_one(generator: random.Random, name: str) -> JoinQuery:
    size = generator.choice(SIZES)
    tables = {generator.choice(tuple(PREFIXES))}
    conditions: list[tuple[str, str]] = []
    while len(tables) < size:
        # Exactly one side is new: no cycle, no self-join.
        possible = [join for join in JOINS if sum(table_of(c) in tables for c in join[0]) == 1]
        chosen = generator.choice(possible)
        conditions += chosen
        tables |= {table_of(column) for column in chosen[0]}
    return JoinQuery(name, tuple(sorted(tables)), tuple(sorted(conditions)))
