"""Random streams and queries, as SQL text, for properties that hold for every workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

import duckdb
import pyarrow as pa
from hypothesis import strategies as st

from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.physical.fanout import fanout
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import SourceRule
from optimizer.sql import parse_query, to_duckdb

COLUMNS = (
    ("at", ColumnType.TIMESTAMP),
    ("i", ColumnType.INT),
    ("j", ColumnType.BIGINT),
    ("x", ColumnType.DOUBLE),
    ("s", ColumnType.STRING),
)
ARROW = pa.schema(
    [
        ("at", pa.timestamp("us")),
        ("i", pa.int32()),
        ("j", pa.int64()),
        ("x", pa.float64()),
        ("s", pa.string()),
    ]
)
STREAMS = ("p", "q", "r", "t")
CATALOG = Catalog(tuple(Stream(name, COLUMNS, "at", tuples_per_second=10.0) for name in STREAMS))
START = datetime(2013, 1, 1, tzinfo=UTC).replace(tzinfo=None)
EQUALITIES = (("i", "i"), ("i", "j"), ("j", "j"), ("s", "s"), ("i", "x"), ("x", "x"), ("j", "x"))
TIMES = (
    *("{a}.at < {b}.at", "{a}.at <= {b}.at", "{a}.at = {b}.at", "{b}.at >= {a}.at + INTERVAL 1 SECOND"),
    "{b}.at BETWEEN {a}.at - INTERVAL 1 SECOND AND {a}.at + INTERVAL 2 SECONDS",
    "{a}.at < {b}.at + INTERVAL 1500 MILLISECONDS AND {b}.at - {a}.at < INTERVAL 2 SECONDS",
    "DATE_TRUNC('second', {a}.at) = DATE_TRUNC('second', {b}.at)",
    "DATE_TRUNC('second', {a}.at) < DATE_TRUNC('second', {b}.at + INTERVAL 1 SECOND)",
    "CAST({a}.at AS DATE) = DATE_TRUNC('day', {b}.at) AND {b}.at - INTERVAL 2 SECONDS <= {a}.at",
)
"""Conditions on event times that bound how long tuples are needed."""
THETAS = ("{a}.i < {b}.i", *TIMES, "abs({a}.x - {b}.x) < 1", "{a}.s LIKE {b}.s", "{a}.i <> {b}.j")
FILTERS = ("{a}.i > 1", "{a}.s = 'a'", "{a}.x IS NOT NULL", "{a}.i > 1 OR {a}.j = 0", "{a}.j <= 1")
WINDOWS = ("", " [RANGE 2 SECONDS]", " [RANGE 5 SECONDS]", " [RANGE 0 SECONDS]", " [RANGE 1500 MILLISECONDS]")


@dataclass(frozen=True)
class Case:
    """Queries with the batches that feed them."""

    queries: tuple[Query, ...]
    batches: tuple[dict[str, pa.Table], ...]

    def expected(self, query: Query) -> list[tuple[object, ...]]:
        """DuckDB's answer over all tuples at once: the oracle."""
        with duckdb.connect(config={"threads": 1}) as connection:
            for name in STREAMS:
                parts = [batch[name] for batch in self.batches if name in batch]
                connection.register(name, pa.concat_tables([ARROW.empty_table(), *parts]))
            return connection.execute(to_duckdb(query, CATALOG)).fetchall()


@st.composite
def query_texts(draw: st.DrawFn, streams: Sequence[str] = STREAMS, most: int = 4) -> str:
    """A connected query over one to `most` aliases, self-joins included."""
    count = draw(st.integers(1, most))
    aliases = [f"a{n}" for n in range(count)]
    inputs = [(alias, draw(st.sampled_from(streams))) for alias in aliases]
    conditions = []
    for position in range(1, count):
        other = aliases[draw(st.integers(0, position - 1))]
        here = aliases[position]
        if draw(st.integers(0, 3)):
            left, right = draw(st.sampled_from(EQUALITIES))
            conditions.append(f"{here}.{left} = {other}.{right}")
        else:
            conditions.append(draw(st.sampled_from(THETAS)).format(a=here, b=other))
    if count >= 2 and draw(st.booleans()):
        a, b = draw(st.permutations(aliases))[:2]
        conditions.append(draw(st.sampled_from(("{a}.i = {b}.j", *THETAS))).format(a=a, b=b))
    if count >= 3 and draw(st.booleans()):
        a, b, c = draw(st.permutations(aliases))[:3]
        conditions.append(f"{a}.i + {b}.i >= {c}.j")
    for alias in aliases:
        if draw(st.integers(0, 2)) == 0:
            conditions.append("(" + draw(st.sampled_from(FILTERS)).format(a=alias) + ")")
    # Mostly one window for all: queries with equal windows are those that share most.
    common = draw(st.sampled_from(WINDOWS))
    windows = [draw(st.sampled_from((common, common, common, *WINDOWS))) for _ in aliases]
    sources = ", ".join(f"{s}{w} AS {a}" for (a, s), w in zip(inputs, windows, strict=True))
    outputs = ", ".join(f"{alias}.{draw(st.sampled_from('ijxs'))} AS o_{alias}" for alias in aliases)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {outputs}, {aliases[0]}.at AS at FROM {sources}{where}"


def table(random: Random, rows: int) -> pa.Table:
    """Up to `rows` tuples with ties, NULLs, duplicates and times in any order."""
    chosen = [
        (
            START + timedelta(milliseconds=500 * random.randrange(12)),
            random.choice((None, 0, 1, 1, 2)),
            random.choice((None, 0, 1, 1, 2)),
            random.choice((None, 0.0, 1.0, 1.0, 1.5, -0.0)),
            random.choice((None, "a", "a", "b", "a%")),
        )
        for _ in range(random.randint(0, rows))
    ]
    columns = [pa.array([row[n] for row in chosen], type=field.type) for n, field in enumerate(ARROW)]
    return pa.table(columns, schema=ARROW)


@st.composite
def cases(draw: st.DrawFn, queries: int = 3, most: int = 4, rows: int = 12) -> Case:
    """Some queries with one or two batches of every stream.

    Tuples come from a drawn seed: drawn one by one they would mostly be too few to join.
    """
    streams = STREAMS[: draw(st.integers(1, len(STREAMS)))]
    texts = draw(st.lists(query_texts(streams, most), min_size=1, max_size=queries))
    parsed = tuple(parse_query(text, f"q{n}", CATALOG) for n, text in enumerate(texts))
    random = Random(draw(st.integers(0, 2**32)))
    batches = [{name: table(random, rows) for name in STREAMS} for _ in range(draw(st.integers(1, 2)))]
    return Case(parsed, tuple(batches))


@st.composite
def twins(draw: st.DrawFn) -> Case:
    """Two or three queries that differ only in windows and filters, over dense tuples."""
    text = draw(query_texts(STREAMS[:3], 3).filter(lambda t: " AS a1" in t))
    texts = []
    for _ in range(draw(st.integers(2, 3))):
        window = draw(st.sampled_from(WINDOWS))
        twin = text.replace(draw(st.sampled_from(WINDOWS[1:])), window)
        if draw(st.booleans()):
            twin += (
                " AND (" + draw(st.sampled_from(FILTERS)).format(a=draw(st.sampled_from(("a0", "a1")))) + ")"
            )
        texts.append(twin)
    parsed = tuple(parse_query(twin, f"q{n}", CATALOG) for n, twin in enumerate(texts))
    random = Random(draw(st.integers(0, 2**32)))
    return Case(parsed, tuple({name: table(random, 12) for name in STREAMS} for _ in range(2)))


def busiest(graph: PhysicalGraph) -> float:
    """Tuples per second that the busiest task of the graph's stores is expected to receive."""
    rates = {one.id: one.tuples_per_second or 0.0 for one in graph.estimates}
    stores = {store.id: store for store in graph.stores}
    receivers = {rule.edge: rule for rule in graph.rules if not isinstance(rule, SourceRule)}
    loads: Counter[str] = Counter()
    for edge in graph.edges:
        store = stores[edge.target]
        loads[edge.target] += rates[edge.id] * fanout(edge, store, receivers[edge.id]) / store.tasks
    return max(loads.values(), default=0.0)
