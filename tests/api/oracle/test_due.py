"""What the oracle expects of each batch where results wait, against what the runtime gives; random tuples."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from backend.oracle.accepted import BATCH, LATE
from backend.oracle.comparison import Expected, Row, as_published
from backend.oracle.expected.layers import base_streams, layers_of
from backend.oracle.expected.running import published_names
from backend.oracle.expected.sessions import look_backs
from backend.oracle.ledger import Batch, Ledger
from backend.oracle.reference import expected_of, reach_of
from backend.oracle.sampling.keys import Keys, keys_of, marks
from backend.oracle.span import Span
from jobs.protocol import QueryMetrics
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.unit.runtime.in_process import Topology

T = ColumnType
COLUMNS = (("at", T.TIMESTAMP), ("id", T.INT), ("k", T.STRING), ("n", T.BIGINT))
SCHEMA = pa.schema(
    [("at", pa.timestamp("us", "UTC")), ("id", pa.int32()), ("k", pa.string()), ("n", pa.int64())]
)
CATALOG = Catalog(
    (
        *(Stream(name, COLUMNS, "at", lateness=timedelta(seconds=20)) for name in ("a", "b", "c")),
        Stream("t", COLUMNS, "at", kind="table", key=("k",)),
    )
)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
NEAR = "b.at BETWEEN a.at - INTERVAL 30 SECONDS AND a.at + INTERVAL 1 MINUTE"
COUNTS = "SELECT TUMBLE(at, INTERVAL 1 MINUTE) AS minute, k, COUNT(*) AS many FROM a GROUP BY minute, k"
QUERIES = {
    "inner": "SELECT a.id, b.n, a.k FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k",
    "left": f"SELECT a.k, a.id, b.id AS other FROM a LEFT JOIN b ON a.k = b.k AND {NEAR}",
    "right": f"SELECT a.id, b.k, b.id AS other FROM b RIGHT JOIN a ON a.k = b.k AND {NEAR}",
    "full": f"SELECT a.id, a.k, b.id AS other FROM a FULL JOIN b ON a.k = b.k AND {NEAR}",
    "anti": f"""
        SELECT a.k, a.id FROM a
        WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.n > a.n AND {NEAR})""",
    "semi": f"SELECT a.id, a.k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND {NEAR})",
    "apart": """
        SELECT a.k, a.id, b.id AS other FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE]
        WHERE a.id = b.id AND NOT EXISTS (
            SELECT 1 FROM c WHERE c.k = a.k AND c.k = b.k
            AND c.at BETWEEN a.at AND a.at + INTERVAL 10 SECONDS)""",
    "twice": f"""
        SELECT a.k, a.id, b.id AS other, c.id AS third FROM a LEFT JOIN b ON a.k = b.k AND {NEAR}
        LEFT JOIN c ON c.k = a.k AND c.at BETWEEN a.at AND a.at + INTERVAL 40 SECONDS""",
    "newest": """
        SELECT a.k, a.id, b.n FROM a ASOF LEFT JOIN b [RANGE 1 MINUTE] ON a.k = b.k AND a.at >= b.at""",
    "version": "SELECT a.k, a.id, t.n FROM a JOIN t FOR SYSTEM_TIME AS OF a.at ON a.k = t.k",
    "counts": """
        SELECT TUMBLE(at, INTERVAL 1 MINUTE) AS minute, k, COUNT(*) AS many, SUM(n) AS sum FROM a
        GROUP BY minute, k HAVING COUNT(*) > 1""",
    "hop": """
        SELECT HOP(at, INTERVAL 30 SECONDS, INTERVAL 1 MINUTE) AS since, COUNT(*) AS many FROM a
        GROUP BY since""",
    "unmatched": f"""
        SELECT TUMBLE(a.at, INTERVAL 1 MINUTE) AS minute, a.k, COUNT(b.id) AS found, COUNT(*) AS many
        FROM a LEFT JOIN b ON a.k = b.k AND {NEAR} GROUP BY minute, a.k""",
    "sessions": """
        SELECT SESSION(at, INTERVAL 15 SECONDS) AS since, k, COUNT(*) AS many, SUM(n) AS sum, MAX(at) AS last
        FROM a GROUP BY since, k""",
    "busy": """
        SELECT k, SESSION(at, INTERVAL 20 SECONDS) AS since, COUNT(*) AS many FROM a
        GROUP BY since, k HAVING COUNT(*) > 2""",
    "sessions unmatched": f"""
        SELECT SESSION(a.at, INTERVAL 15 SECONDS) AS since, a.k, COUNT(b.id) AS found, COUNT(*) AS many
        FROM a LEFT JOIN b ON a.k = b.k AND {NEAR} GROUP BY since, a.k""",
    "first": """
        SELECT TUMBLE(at, INTERVAL 1 MINUTE) AS minute, k, COUNT(*) AS many FROM a GROUP BY minute, k
        ORDER BY many DESC LIMIT 2""",
    "meetings": """
        SELECT SESSION(RESULT_TIME(), INTERVAL 10 SECONDS) AS since, a.k, COUNT(*) AS many
        FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS] WHERE a.k = b.k GROUP BY since, a.k""",
    "running": "SELECT k, COUNT(*) AS many, AVG(n) AS mean FROM a GROUP BY k HAVING COUNT(*) < 9",
    "together": """
        SELECT COUNT(*) AS many, MAX(a.n) AS most FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS]
        WHERE a.id = b.id""",
    "unmet": f"""
        SELECT a.k, COUNT(*) AS many, COUNT(b.id) AS found FROM a LEFT JOIN b ON a.k = b.k AND {NEAR}
        GROUP BY a.k""",
    "few": "SELECT COUNT(*) AS many, SUM(n) AS sum FROM a HAVING COUNT(*) < 40 OR COUNT(*) > 60",
    "balances": """
        SELECT k, SUM(n * 0.1 - 0.2) AS balance, AVG(n * 0.1) FILTER (WHERE n > 0) AS mean,
            SUM(DISTINCT n * 0.7) AS once
        FROM a GROUP BY k""",
    "parts": """
        SELECT TUMBLE(at, INTERVAL 1 MINUTE) AS minute, k, SUM(n * 0.1 - 0.2) AS sum,
            AVG(DISTINCT n * 0.1) AS mean
        FROM a GROUP BY minute, k""",
    "distinct": "SELECT DISTINCT k, n FROM a",
    "of counts": f"""
        SELECT v.k, v.many, b.id FROM ({COUNTS}) [RANGE 1 MINUTE] AS v, b [RANGE 1 MINUTE]
        WHERE v.k = b.k""",
    "without": f"""
        SELECT b.k, b.id FROM b [RANGE 30 SECONDS]
        WHERE NOT EXISTS (SELECT 1 FROM ({COUNTS}) [RANGE 1 MINUTE] AS v WHERE v.k = b.k AND v.many > 1)""",
    "of unmatched": f"""
        SELECT TUMBLE(RESULT_TIME(), INTERVAL 2 MINUTES) AS since, v.k, COUNT(*) AS many
        FROM (SELECT a.k, a.id, b.id AS other FROM a LEFT JOIN b ON a.k = b.k AND {NEAR}) AS v
        GROUP BY since, v.k""",
    "twice read": f"""
        SELECT w.k, w.many, c.id FROM (
            SELECT TUMBLE(RESULT_TIME(), INTERVAL 2 MINUTES) AS since, v.k, SUM(v.many) AS many
            FROM ({COUNTS}) AS v GROUP BY since, v.k
        ) [RANGE 2 MINUTES] AS w LEFT JOIN c [RANGE 1 MINUTE] ON w.k = c.k""",
    "of union": f"""
        SELECT v.k, v.id, c.id AS third FROM (
            SELECT a.id, a.k FROM a WHERE a.n = 1
            UNION ALL SELECT a.id, a.k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND {NEAR})
        ) [RANGE 1 MINUTE] AS v, c [RANGE 1 MINUTE] WHERE v.k = c.k""",
    "total of counts": f"SELECT v.k, SUM(v.many) AS many FROM ({COUNTS}) AS v GROUP BY v.k",
    "union": f"""
        SELECT a.id, a.k FROM a WHERE a.n = 1
        UNION ALL SELECT a.id, a.k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND {NEAR})""",
}


@dataclass(frozen=True)
class Told:
    """What a topology read and answered, batch by batch."""

    queries: dict[str, Query]
    batches: list[Batch]
    tables: dict[str, pa.Table]
    """What was accepted, with BATCH and LATE."""
    answers: dict[str, list[Counter[Row]]]


def drawn(chance: random.Random, minute: float) -> list[list[object]]:
    """Some tuples of one stream about a time, now and then far behind it."""
    rows: list[list[object]] = []
    for _ in range(chance.choice((0, 3, 6, 12))):
        behind = chance.choice((0.0, 0.1, 0.3, 3.0))
        moment = BEGIN + timedelta(minutes=max(0.0, minute - behind * chance.random()))
        rows.append([moment, chance.randrange(30), chance.choice(("x", "y", "z", None)), chance.randrange(4)])
    return rows


def run(seed: int, folder: Path) -> Told:
    chance = random.Random(seed)
    queries = {name: parse_query(text, name, CATALOG) for name, text in QUERIES.items()}
    made = plan(list(queries.values()), CATALOG, method=chance.choice(("greedy", "individual")), tasks=2)
    topology = Topology(made.graph, folder)
    told = Told(queries, [], {}, {name: [] for name in queries})
    kept: dict[str, list[pa.Table]] = {stream.name: [] for stream in CATALOG.streams}
    minute, seen = 0.0, dict.fromkeys(queries, 0)
    for number in range(chance.randrange(8, 14)):
        minute += chance.choice((0.0, 0.2, 0.5, 2.0))
        late_below = topology.late_below_us()
        fed = {}
        for name, tables in kept.items():
            rows = drawn(chance, minute)
            fed[name] = pa.Table.from_arrays(
                [pa.array([row[n] for row in rows], kind) for n, kind in enumerate(SCHEMA.types)],
                schema=SCHEMA,
            )
            late = pc.less(fed[name]["at"].cast(pa.int64()), late_below.get(name, -(2**63)))
            came = fed[name].filter(pc.invert(late))
            marked = came.append_column(BATCH, pa.array([number] * came.num_rows, pa.int64()))
            tables.append(marked.append_column(LATE, pa.array([False] * came.num_rows, pa.bool_())))
        topology.feed(fed)
        last = topology.last
        assert last is not None
        mark = last.watermark_us
        for name, query in queries.items():
            answers = topology.answers(name)
            fresh = answers[seen[name] :] if answers.width else answers
            seen[name] = answers.height
            told.answers[name].append(Counter(published(query, fresh)))
        metrics = {
            name: QueryMetrics(
                results=told.answers[name][-1].total(),
                latency_ms_p50=None,
                latency_ms_p99=None,
                complete_since=None,
            )
            for name in queries
        }
        watermark = None if mark is None else datetime.fromtimestamp(0, UTC) + timedelta(microseconds=mark)
        told.batches.append(
            Batch(batch=number, plan_id="p", streams={}, queries=metrics, watermark=watermark)
        )
    told.tables.update({name: pa.concat_tables(tables) for name, tables in kept.items()})
    return told


def published(query: Query, frame: pl.DataFrame) -> Iterator[Row]:
    types = [output.expression.type for output in query.outputs]
    names = published_names(query)
    types += [T.BOOLEAN] * (len(names) - len(types))
    return (as_published(row, types) for row in (frame.select(names).rows() if frame.width else ()))


def spans(chance: random.Random, batches: list[Batch]) -> Iterator[tuple[Span, Ledger]]:
    """All of the batches, some alone, and some stretches."""
    many = len(batches)
    bounds = [(0, many), *((n, n + 1) for n in chance.sample(range(many), 3))]
    bounds += [tuple(sorted(chance.sample(range(many + 1), 2))) for _ in range(2)]  # type: ignore[misc]
    for first, end in bounds:
        yield Span(tuple(batches[first:end]), many - 1 - first), Ledger(iter(batches[::-1]))


def within(told: Told, query: Query, span: Span, needed: dict[str, int | None]) -> dict[str, pa.Table]:
    """What had arrived by the end of the span, of a time that is needed."""
    found = {}
    for name in base_streams(query):
        table = told.tables[name]
        kept = pc.less_equal(table[BATCH], span.numbers[-1])
        if (oldest := needed[name]) is not None:
            own = pc.greater_equal(table[BATCH], span.numbers[0])
            kept = pc.and_(kept, pc.or_(own, pc.greater_equal(table["at"].cast(pa.int64()), oldest)))
        found[name] = table.filter(kept)
    return found


def sampled(query: Query, keys: Keys, tables: dict[str, pa.Table], halvings: int) -> dict[str, pa.Table]:
    """The tuples of the sample's keys."""
    found = {}
    for name, table in tables.items():
        kept = pa.array([False] * table.num_rows, pa.bool_())
        for item in query.inputs:
            if item.stream == name:
                mine = pa.array([True] * table.num_rows, pa.bool_())
                for column, kind in keys.by_alias[item.alias]:
                    mine = pc.and_(mine, marks(table.column(column), kind, halvings))
                kept = pc.or_(kept, mine)
        found[name] = table.filter(kept)
    return found


ROUNDED = ("running", "together", "few", "balances")
"""Of which a row may be another one, or be there for the first time, without a difference that shows."""


def expected(
    told: Told, query: Query, span: Span, ledger: Ledger, keys: Keys | None
) -> dict[int, Expected] | None:
    """What the oracle makes of a span; None where nothing can have come. Of a sample with `keys`."""
    layers = layers_of(query, CATALOG, ledger, span) if query.derived else None
    wide = span if layers is None else layers.wide
    tables = [told.tables[name] for name in base_streams(query)]
    own = [
        table.filter(pc.and_(pc.greater_equal(table[BATCH], wide.numbers[0]),
                             pc.less_equal(table[BATCH], span.numbers[-1])))
        for table in tables
    ]  # fmt: skip
    times = np.concatenate([table["at"].cast(pa.int64()).to_numpy() for table in own])
    for gaps in look_backs(query):
        reach = reach_of(query, CATALOG, ledger, span, times, gaps, layers)
        if reach is None:
            return None
        some = within(told, query, wide, reach.needed)
        if keys is None:
            found = expected_of(query, CATALOG, some, span, reach)
        else:
            some = sampled(query, keys, some, 1)
            found = expected_of(query, CATALOG, some, span, reach, holds=lambda row: keys.holds(row, 1))
        if not any(one.undecided.rows for one in found.values()):
            return found
    raise AssertionError("all that came was there")


@pytest.mark.parametrize("seed", range(2))
def test_each_batch_has_what_falls_due_in_it(seed: int, tmp_path: Path) -> None:
    told, chance = run(seed, tmp_path), random.Random(seed)
    compared: Counter[str] = Counter()
    for name, query in told.queries.items():
        keys = keys_of(query)
        for span, ledger in spans(chance, told.batches):
            wanted = {number: told.answers[name][number] for number in span.numbers}
            found = expected(told, query, span, ledger, None)
            if found is None:
                assert not any(wanted.values())
                continue
            compare(found, wanted, name)
            compared[name] += sum(map(Counter.total, wanted.values()))
            if query.derived:
                continue
            found = expected(told, query, span, ledger, keys)
            assert found is not None
            mine = {n: Counter({r: m for r, m in w.items() if keys.holds(r, 1)}) for n, w in wanted.items()}
            compare(found, mine, name)
    assert set(compared) == {name for name, count in compared.items() if count > 2}, compared
    assert set(compared) == set(QUERIES)


def compare(found: dict[int, Expected], wanted: dict[int, Counter[Row]], name: str) -> None:
    """What must be there is, and what is there may be; both are the same but for what does not show."""
    for number, answered in wanted.items():
        assert answered - found[number].possible == Counter(), (name, number, "too many")
        assert found[number].required - answered == Counter(), (name, number, "missing")
        assert name in ROUNDED or found[number].possible == found[number].required
