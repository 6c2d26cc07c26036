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
from backend.oracle.comparison import Row, as_published
from backend.oracle.ledger import Batch, Ledger
from backend.oracle.reference import expected_of, reach_of, refuse
from backend.oracle.sampling.keys import Keys, keys_of, marks
from backend.oracle.span import CannotCheck, Span
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
    names = [output.name for output in query.outputs]
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
    for name in {item.stream for item in query.inputs}:
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


@pytest.mark.parametrize("seed", range(2))
def test_each_batch_has_what_falls_due_in_it(seed: int, tmp_path: Path) -> None:
    told, chance = run(seed, tmp_path), random.Random(seed)
    compared: Counter[str] = Counter()
    in_sample: Counter[str] = Counter()
    for name, query in told.queries.items():
        keys = keys_of(query)
        for span, ledger in spans(chance, told.batches):
            tables = {item.stream: told.tables[item.stream] for item in query.inputs}
            own = [
                table.filter(pc.and_(pc.greater_equal(table[BATCH], span.numbers[0]),
                                     pc.less_equal(table[BATCH], span.numbers[-1])))
                for table in tables.values()
            ]  # fmt: skip
            times = np.concatenate([table["at"].cast(pa.int64()).to_numpy() for table in own])
            reach = reach_of(query, CATALOG, ledger, span, times)
            wanted = {number: told.answers[name][number] for number in span.numbers}
            if reach is None:
                assert not any(wanted.values())
                continue
            tables = within(told, query, span, reach.needed)
            found = expected_of(query, CATALOG, tables, span, reach)
            assert {number: one.possible for number, one in found.items()} == wanted, (name, span.numbers)
            assert {number: one.required for number, one in found.items()} == wanted
            compared[name] += sum(map(Counter.total, wanted.values()))
            some = sampled(query, keys, tables, 1)
            holds = lambda row: keys.holds(row, 1)  # noqa: B023, E731
            found = expected_of(query, CATALOG, some, span, reach, holds=holds)
            mine = {n: Counter({r: m for r, m in rows.items() if holds(r)}) for n, rows in wanted.items()}
            assert {number: one.possible for number, one in found.items()} == mine, (name, keys)
            in_sample[name] += sum(map(Counter.total, mine.values()))
    assert set(compared) == {name for name, count in compared.items() if count > 2}, compared
    assert set(compared) == set(QUERIES)


def test_groups_without_an_end_are_refused() -> None:
    with pytest.raises(CannotCheck):
        refuse(parse_query("SELECT k, COUNT(*) AS many FROM a GROUP BY k", "q", CATALOG))
