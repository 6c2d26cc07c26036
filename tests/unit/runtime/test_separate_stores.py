"""Plans that keep a stream in one store and in several, by filters, take turns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from optimizer.algebra.types import ColumnType
from optimizer.formulate.base_stores import stream_of_store
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.planner.plan import Plan, plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics
from tests.unit.runtime.in_process import Topology

_NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
_TYPES = {"at": ColumnType.TIMESTAMP, "id": ColumnType.BIGINT, "k": ColumnType.BIGINT, "v": ColumnType.BIGINT}
_CATALOG = Catalog(tuple(Stream(name, tuple(_TYPES.items()), "at") for name in "rst"))
_WINDOW_S = 5
_TEXTS = (
    "SELECT r.id AS a, s.id AS b FROM r, s WHERE r.k = s.k AND s.v < 2",
    "SELECT r.id AS a, s.id AS b FROM r, s WHERE r.k = s.k AND s.v = 5",
    "SELECT r.id AS a, s.id AS b, t.id AS c FROM r, s, t WHERE r.k = s.k AND s.k = t.k AND s.v > 7",
    "SELECT s.id AS b, t.id AS c FROM s, t WHERE s.k = t.k AND t.v < 3",
)
_RARE = FixedStatistics(dict.fromkeys("rst", 5000.0))


def _planned(texts: Sequence[str], options: Options, method: str = "greedy", tasks: int = 1) -> Plan:
    asked = []
    for number, text in enumerate(texts):
        windowed = text
        for name in "rst":
            windowed = windowed.replace(f" {name},", f" {name} [RANGE {_WINDOW_S} SECONDS],", 1)
            windowed = windowed.replace(f" {name} WHERE", f" {name} [RANGE {_WINDOW_S} SECONDS] WHERE", 1)
        asked.append(parse_query(windowed, f"q{number}", _CATALOG))
    return plan(asked, _CATALOG, _RARE, method, options, tasks=tasks)


def _stores_of(made: Plan, stream: str) -> set[str]:
    kept = {relation.kept_in for relation in made.translation.problem.relations}
    return {store for store in kept if stream_of_store(store) == stream}


@pytest.mark.parametrize("seed", range(4))
def test_results_are_equal_however_stores_are_divided(tmp_path: Path, seed: int) -> None:
    chance = random.Random(f"separate {seed}")
    plans = [
        _planned(_TEXTS, Options(cost="cores"), tasks=chance.choice((1, 3))),
        _planned(_TEXTS, Options(cost="messages"), tasks=2),
        _planned(_TEXTS, Options(cost="cores"), "flat", tasks=2),
    ]
    assert len(_stores_of(plans[0], "s")) > len(_stores_of(plans[1], "s")) == 1
    topology = Topology(max((p.graph for p in plans), key=lambda g: max(s.tasks for s in g.stores)), tmp_path)
    all_rows: dict[str, list[dict[str, object]]] = {name: [] for name in "rst"}
    for second in range(24):
        tables = {}
        for name in "rst":
            rows = [
                {
                    "at": _NOON + timedelta(seconds=second),
                    "id": 100 * second + number,
                    "k": chance.randrange(3),
                    "v": chance.randrange(10),
                }
                for number in range(chance.choice((0, 2, 5)))
            ]
            all_rows[name] += rows
            tables[name] = _table(rows)
        if chance.random() < 0.5:
            topology.change(chance.choice(plans).graph)
        if chance.random() < 0.1:
            topology.die_in(tables)
        topology.feed(tables)
    for number, text in enumerate(_TEXTS):
        found = topology.answers(f"q{number}")
        columns = [c for c in "abc" if f" AS {c}" in text]
        assert sorted(found.select(columns).rows()) == _expected(text, all_rows), text


def _table(rows: Sequence[dict[str, object]]) -> pa.Table:
    kinds = {"at": pa.timestamp("us", "UTC"), "id": pa.int64(), "k": pa.int64(), "v": pa.int64()}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


def _expected(text: str, rows: dict[str, list[dict[str, object]]]) -> list[tuple[object, ...]]:
    names = text.partition(" FROM ")[2].partition(" WHERE ")[0].split(", ")
    pairs = [(one, other) for one in names for other in names if one < other]
    near = [f"abs(epoch({a}.at) - epoch({b}.at)) <= {_WINDOW_S}" for a, b in pairs]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name in names:
            connection.register(name, _table(rows[name]))
        return sorted(connection.sql(f"{text} AND {' AND '.join(near)}").fetchall())
