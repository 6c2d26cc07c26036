"""Random queries over random streams, through ingestion and levels, against DuckDB.

The expected answer never sees a plan: it is the query's own conditions over all accepted tuples.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest

from jobs.storage.partition import CompactionPolicy
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.partitioning.slicing import slice_all
from optimizer.physical.graph import Slices
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.unit.runtime.in_process import Topology

COLUMNS = (
    ("at", ColumnType.TIMESTAMP),
    ("k", ColumnType.INT),
    ("b", ColumnType.BIGINT),
    ("d", ColumnType.DOUBLE),
    ("s", ColumnType.STRING),
)
SCHEMA = {
    "at": pl.Datetime("us", "UTC"),
    "k": pl.Int32(),
    "b": pl.Int64(),
    "d": pl.Float64(),
    "s": pl.String(),
}
SECOND = 1_000_000
NAMES = ("r", "s", "t", "u")
EQUALITIES = (
    "{l}.k = {r}.k",
    "{l}.k = {r}.b",
    "{l}.b = {r}.d",
    "{l}.s = {r}.s",
    "{l}.d = {r}.d",
    "{l}.k + 1 = {r}.b",
    "{l}.at = {r}.at",
)
OTHERS = (
    "{l}.k < {r}.b",
    "{l}.d >= {r}.d",
    "{l}.k <> {r}.k",
    "{l}.b BETWEEN {r}.b - 1 AND {r}.b + 1",
    "{l}.s || 'x' > {r}.s",
    "{l}.k IS NULL OR {r}.k > 1",
    "{l}.d - {r}.d >= 0.5",
    "abs({l}.d - {r}.k) <= 1",
    "1 > abs({l}.k - {r}.d)",
    "{l}.d BETWEEN {r}.d - 1 AND {r}.d + 1",
    "{l}.at < {r}.at + INTERVAL 1 SECOND",
    "{l}.k - {r}.k + {l}.b < 2",
    "lower({l}.s) LIKE '%' || {r}.s",
)
FILTERS = ("{l}.k > 1", "{l}.s IS NOT NULL", "{l}.d < 2.5", "NOT {l}.b = 2")


@dataclass
class Question:
    text: str
    oracle: str


def questions(rng: random.Random, equalities: Sequence[str] = EQUALITIES) -> Iterator[Question]:
    for _ in range(rng.randint(1, 3)):
        size = rng.choice((1, 2, 2, 3, 3, 4))
        aliases = [f"a{i}" for i in range(size)]
        streams = [rng.choice(NAMES[: rng.choice((2, 3, 4))]) for _ in aliases]
        windows = [rng.choice((0, 1, 2, 3, 5, 8, None)) for _ in aliases]
        conditions = []
        for i in range(1, size):
            other = aliases[rng.randrange(i)]
            kind = equalities if rng.random() < 0.7 else OTHERS
            conditions.append(rng.choice(kind).format(l=other, r=aliases[i]))
            if rng.random() < 0.3:
                conditions.append(rng.choice(OTHERS).format(l=other, r=aliases[i]))
        if size > 2 and rng.random() < 0.3:
            conditions.append("a0.k + a1.k > a2.k")
        conditions += [rng.choice(FILTERS).format(l=a) for a in aliases if rng.random() < 0.25]
        outputs = ", ".join(f"{a}.{c} AS {a}_{c}" for a in aliases for c in ("at", "k", "s"))
        where = f" WHERE {' AND '.join(f'({c})' for c in conditions)}" if conditions else ""
        ranges = ["" if w is None else f" [RANGE {w} SECONDS]" for w in windows]
        text = f"SELECT {outputs} FROM " + ", ".join(
            f"{s}{w} AS {a}" for s, w, a in zip(streams, ranges, aliases, strict=True)
        )
        newest = f"greatest({', '.join(f'{a}.at' for a in aliases)})" if size > 1 else "a0.at"
        inside = [
            f"{newest} - {a}.at <= INTERVAL {w} SECOND"
            for a, w in zip(aliases, windows, strict=True)
            if w is not None
        ]
        sources = ", ".join(f"{s} AS {a}" for s, a in zip(streams, aliases, strict=True))
        every = [f"({c})" for c in conditions] + inside
        oracle = f"SELECT {outputs} FROM {sources}" + (f" WHERE {' AND '.join(every)}" if every else "")
        yield Question(text + where, oracle)


def tuples(rng: random.Random, rows: int, begin: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "at": [begin * SECOND + rng.randint(0, 8) * SECOND // 4 for _ in range(rows)],
            "k": [rng.choice((None, 0, 1, 2, 3)) for _ in range(rows)],
            "b": [rng.choice((None, 0, 1, 2, 3, 2**60)) for _ in range(rows)],
            "d": [
                rng.choice((None, 0.0, -0.0, 1.0, 2.0, 2.5, float("nan"), float("inf"))) for _ in range(rows)
            ],
            "s": [rng.choice((None, "", "a", "A", "é", "aé")) for _ in range(rows)],
        },
        schema={**SCHEMA, "at": pl.Int64()},
    ).with_columns(pl.col("at").cast(SCHEMA["at"]))


def bag(frame: pl.DataFrame) -> Counter[str]:
    return Counter(map(repr, frame.with_columns(pl.col(pl.Datetime).to_physical()).rows()))


@pytest.mark.parametrize("seed", range(24))
def test_random_workloads_equal_duckdb(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(seed, EQUALITIES, tmp_path, monkeypatch)


@pytest.mark.parametrize("seed", range(100, 108))
def test_joins_on_one_key_equal_duckdb(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(seed, EQUALITIES[seed % 2 * 3 :][:1], tmp_path, monkeypatch)


def compare(seed: int, equalities: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks random questions, whose equalities are among those given, of random tuples."""
    if seed % 2:
        # So few pairs at a time that every way of joining is taken.
        monkeypatch.setattr("jobs.join.probe._FEW_PAIRS", 2)
        monkeypatch.setattr("jobs.join.probe._PAIRS", 7)
        monkeypatch.setattr("jobs.join.probe._SORTING", 0)
    if seed % 4 == 0:
        monkeypatch.setattr("jobs.join.probe._FEW_STORED", 0)
    if seed % 3:
        monkeypatch.setattr("jobs.join.probe._SCREENED", 0)
    # Stores in pieces: of a few tuples, or of some blocks of a few tuples that indexes choose.
    share_bytes = (None, 600, 40_000)[seed % 5 % 3]
    monkeypatch.setattr("jobs.storage.run_index.BLOCK_ROWS", 3)
    rng = random.Random(seed)
    lateness = rng.choice((0, 2))
    tasks = rng.choice((1, 2, 3))
    catalog = Catalog(
        tuple(Stream(name, COLUMNS, "at", lateness=timedelta(seconds=lateness)) for name in NAMES)
    )
    asked = list(questions(rng, equalities))
    parsed = [parse_query(q.text, f"q{i}", catalog) for i, q in enumerate(asked)]
    method = rng.choice(("greedy", "flat", "individual", "tree", "left-deep", "ilp"))
    made = plan(parsed, catalog, method=method, tasks=tasks)
    # Every third plan has its bounded stores cut into slices of event time.
    graph = slice_all(made.graph, Slices(1 + seed % 4)) if seed % 3 == 1 else made.graph
    topology = Topology(
        graph,
        str(tmp_path),
        CompactionPolicy(fan=2, smallest_rows=8, spans_per_retention=rng.choice((1, 4))),
        share_bytes,
    )
    used = [stream.name for stream in made.graph.streams]
    accepted: dict[str, list[pl.DataFrame]] = {name: [] for name in NAMES}
    for batch in range(10):
        watermarks = topology.late_below_us()
        tables = {name: tuples(rng, rng.choice((0, 3, 9)), batch) for name in used}
        for name, frame in tables.items():
            kept = frame
            if name in watermarks:
                kept = frame.filter(pl.col("at").to_physical() >= watermarks[name])
            accepted[name].append(kept)
        if rng.random() < 0.3:
            topology.die_in({name: frame.to_arrow() for name, frame in tables.items()})
        topology.feed({name: frame.to_arrow() for name, frame in tables.items()})
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    for name in NAMES:
        frame = pl.concat(accepted[name]) if accepted[name] else tuples(rng, 0, 0)
        con.register(name, frame.with_columns(pl.col("at").dt.replace_time_zone(None)).to_arrow())
    for i, question in enumerate(asked):
        expected = pl.DataFrame(pl.from_arrow(con.sql(question.oracle).to_arrow_table()))
        assert bag(topology.answers(f"q{i}")) == bag(expected), f"{method} {tasks}: {question.text}"
