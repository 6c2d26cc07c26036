"""Queries that read the results of others, which are streams of the same topology."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import null_where_it_errs, to_duckdb
from optimizer.workload import parse_queries
from tests.unit.runtime.in_process import Topology

_COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT), ("x", ColumnType.BIGINT))
CATALOG = Catalog.of(Stream(name, _COLUMNS, "at", lateness=timedelta(seconds=5)) for name in "abc")
_SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("k", pa.int32()), ("x", pa.int64())])
_NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
COUNTED = "SELECT TUMBLE(at, INTERVAL 10 SECONDS) AS begins, k, COUNT(*) AS n FROM a GROUP BY 1, 2"
UNPAID = "SELECT a.at, a.k, b.x FROM a [RANGE 8 SECONDS] LEFT JOIN b ON a.k = b.k AND b.at >= a.at"
QUERIES = {
    "a windowed join": {
        "v": COUNTED,
        "q": "SELECT b.at, b.k, b.x, v.n FROM b [RANGE 20 SECONDS], v [RANGE 15 SECONDS] WHERE b.k = v.k",
    },
    "a condition on the bucket": {
        "v": COUNTED,
        "q": "SELECT b.x, v.n, v.begins FROM b, v WHERE b.k = v.k "
        "AND b.at >= v.begins AND b.at < v.begins + INTERVAL 10 SECONDS",
    },
    "groups of groups": {
        "v": COUNTED,
        "q": "SELECT TUMBLE(begins, INTERVAL 30 SECONDS) AS m, k, MAX(n) AS most FROM v GROUP BY 1, 2",
    },
    "groups of three tiers": {
        "v": COUNTED,
        "w": "SELECT TUMBLE(begins, INTERVAL 20 SECONDS) AS m, k, MAX(n) AS most FROM v GROUP BY 1, 2",
        "q": "SELECT TUMBLE(RESULT_TIME(), INTERVAL 40 SECONDS) AS m, SUM(w.most + b.x) AS s "
        "FROM w [RANGE 20 SECONDS] JOIN b [RANGE 5 SECONDS] ON w.k = b.k GROUP BY 1",
    },
    "outer join results": {
        "v": UNPAID,
        "q": "SELECT v.at, v.x, c.x AS y FROM v [RANGE 12 SECONDS], c [RANGE 9 SECONDS] WHERE v.k = c.k",
    },
    "results that must not be there": {
        "v": COUNTED,
        "q": "SELECT b.x, b.at FROM b WHERE NOT EXISTS (SELECT 1 FROM v WHERE v.k = b.k "
        "AND v.begins <= b.at AND v.begins > b.at - INTERVAL 10 SECONDS AND v.n > 1)",
    },
    "an outer join of an outer join": {
        "v": UNPAID,
        "q": "SELECT v.at, v.x, c.x AS y FROM v [RANGE 12 SECONDS] LEFT JOIN c ON v.k = c.k AND c.at >= v.at",
    },
    "an outer join with groups": {
        "v": COUNTED,
        "q": "SELECT b.x, v.n FROM b LEFT JOIN v ON b.k = v.k AND b.at >= v.begins "
        "AND v.begins > b.at - INTERVAL 20 SECONDS",
    },
    "a self-join of results": {
        "v": COUNTED,
        "q": "SELECT o.n, p.n AS m, o.begins FROM v AS o, v AS p WHERE o.k = p.k "
        "AND p.begins = o.begins + INTERVAL 10 SECONDS",
    },
    "the end of the bucket": {
        "q": "SELECT b.x, b.at, m.ends FROM b JOIN (SELECT MAX(x) AS most, "
        "TUMBLE(at, INTERVAL 10 SECONDS) + INTERVAL 10 SECONDS AS ends FROM b "
        "GROUP BY TUMBLE(at, INTERVAL 10 SECONDS)) AS m ON b.x = m.most "
        "WHERE b.at BETWEEN m.ends - INTERVAL 10 SECONDS AND m.ends",
    },
    "all that have the most": {
        "q": "WITH counted AS (SELECT HOP(at, INTERVAL 2 SECONDS, INTERVAL 10 SECONDS) AS begins, k, "
        "COUNT(*) AS n FROM a GROUP BY 1, 2), "
        "most AS (SELECT begins, MAX(n) AS n FROM counted GROUP BY begins) "
        "SELECT c.begins, c.k, c.n FROM counted AS c JOIN most AS m ON c.begins = m.begins AND c.n >= m.n",
    },
    "a union": {
        "v": "SELECT at, k, x FROM a UNION ALL SELECT at, k, x FROM b WHERE x > 2",
        "q": "SELECT TUMBLE(RESULT_TIME(), INTERVAL 10 SECONDS) AS t, COUNT(*) AS n, "
        "SUM(x) AS s FROM v GROUP BY 1",
    },
    "a union in WITH": {
        "q": "WITH v AS (SELECT at, k, x FROM a UNION ALL SELECT at, k, x FROM b) "
        "SELECT v.x, c.x AS y FROM v [RANGE 5 SECONDS], c [RANGE 5 SECONDS] WHERE v.k = c.k",
    },
    "a union of groups": {"q": f"SELECT at AS t, k, x FROM b UNION ALL {COUNTED}"},
    "IN of groups": {
        "q": "SELECT b.x, b.at FROM b [RANGE 30 SECONDS] WHERE b.k IN (SELECT k FROM a "
        "GROUP BY TUMBLE(at, INTERVAL 10 SECONDS), k HAVING COUNT(*) > 1)",
    },
    "a subquery in FROM": {
        "q": f"SELECT b.x, s.n FROM b [RANGE 20 SECONDS] JOIN ({COUNTED}) [RANGE 10 SECONDS] AS s "
        "ON b.k = s.k",
    },
    "WITH, read twice": {
        "q": f"WITH s AS ({COUNTED}), t AS (SELECT TUMBLE(s.begins, INTERVAL 20 SECONDS) AS begins, "
        "MAX(s.n) AS most FROM s GROUP BY 1) SELECT s.k, s.n FROM s, t WHERE s.n = t.most "
        "AND s.begins >= t.begins AND s.begins < t.begins + INTERVAL 20 SECONDS",
    },
}


def _queries(texts: Mapping[str, str]) -> list[Query]:
    return list(parse_queries(texts, CATALOG).values())


def _graph(texts: Mapping[str, str], tasks: int = 1, method: str = "flat") -> PhysicalGraph:
    return plan(_queries(texts), CATALOG, method=method, tasks=tasks).graph


Batches = Sequence[Mapping[str, pa.Table]]


def _batches(seed: int) -> list[dict[str, pa.Table]]:
    """Batches whose tuples are out of order by at most the allowed lateness."""
    chance = random.Random(seed)
    events = [
        {"stream": chance.choice("abc"), "at": chance.uniform(0, 120), "k": chance.choice((1, 2, 3, None))}
        for _ in range(chance.choice((150, 250)))
    ]
    events.sort(key=lambda one: float(one["at"]) + chance.uniform(0, 4.9))  # type: ignore[arg-type]
    found = []
    while events:
        size = chance.choice((1, 3, 10, 30))
        batch, events = events[:size], events[size:]
        tables = {}
        for stream in "abc":
            rows = [
                {"at": _NOON + timedelta(seconds=one["at"]), "k": one["k"], "x": chance.randrange(6)}  # type: ignore[arg-type]
                for one in batch
                if one["stream"] == stream
            ]
            tables[stream] = pa.Table.from_pylist(rows, _SCHEMA)
        found.append(tables)
    return found


def _answered(topology: Topology, texts: Mapping[str, str]) -> dict[str, Counter[tuple[object, ...]]]:
    return {name: Counter(topology.answers(name).rows()) for name in texts}


def _wanted(texts: Mapping[str, str], batches: Batches) -> dict[str, Counter[tuple[object, ...]]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name in CATALOG.names:
            whole = pa.concat_tables([batch[name] for batch in batches])
            connection.register(f"raw_{name}", whole)
            connection.execute(
                f'CREATE VIEW {name} AS SELECT CAST("at" AS TIMESTAMP) AS "at", k, x FROM raw_{name}'
            )
        found = {}
        for query in _queries(texts):
            rows = connection.execute(to_duckdb(query, CATALOG, around=null_where_it_errs)).fetchall()
            utc = (tuple(v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for v in r) for r in rows)
            found[query.name] = Counter(utc)
        return found


def _end(topology: Topology) -> None:
    for _ in range(1 + 2 * topology.graph.tiers):
        topology.feed({})


def _feed(topology: Topology, batches: Batches) -> Iterator[int]:
    for number, batch in enumerate(batches):
        yield number
        used = {stream.name for stream in topology.graph.sources}
        last = number == len(batches) - 1
        topology.feed({n: t for n, t in batch.items() if n in used}, ended=sorted(used) if last else ())


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("seed", range(3))
def test_results_of_results_equal_duckdb(tmp_path: Path, name: str, seed: int) -> None:
    texts, batches = QUERIES[name], _batches(seed)
    topology = Topology(_graph(texts, tasks=1 + seed), tmp_path)
    for _ in _feed(topology, batches):
        pass
    _end(topology)
    assert not topology.dead
    found, wanted = _answered(topology, texts), _wanted(texts, batches)
    assert found == wanted
    assert sum(wanted["q"].values()) > 0


@pytest.mark.parametrize(
    "name", ["a windowed join", "groups of three tiers", "an outer join of an outer join"]
)
def test_a_crash_and_other_plans_lose_and_repeat_nothing(tmp_path: Path, name: str) -> None:
    texts, batches = QUERIES[name], _batches(7)
    plans = [_graph(texts, 2, method) for method in ("flat", "left-deep", "greedy")]
    topology = Topology(plans[0], tmp_path)
    for number in _feed(topology, batches):
        used = {stream.name for stream in topology.graph.sources}
        if number % 3 == 1:
            # Results of the batch before are on their way.
            topology.die_in({n: t for n, t in batches[number].items() if n in used})
        if number % 4 == 2:
            topology.change(plans[number // 4 % 3])
    _end(topology)
    assert _answered(topology, texts) == _wanted(texts, batches)


def test_a_reader_that_comes_later_begins_where_it_knows_all_results(tmp_path: Path) -> None:
    texts, batches = QUERIES["a windowed join"], _batches(3)
    alone = {"v": texts["v"]}
    topology = Topology(_graph(alone), tmp_path)
    half = len(batches) // 2
    for number in _feed(topology, batches):
        if number == half:
            topology.change(_graph(texts))
    _end(topology)
    found, wanted = _answered(topology, texts), _wanted(texts, batches)
    assert found["v"] == wanted["v"]
    assert topology.last is not None
    since_us = topology.last.queries["q"].complete_since_us
    assert since_us is not None
    since = datetime.fromtimestamp(since_us / 1e6, UTC)
    newest = Counter({row: n for row, n in wanted["q"].items() if row[0] >= since})  # type: ignore[operator]
    assert newest
    assert newest <= found["q"] <= wanted["q"]


def test_readers_of_equal_results_share_them() -> None:
    texts = {
        "one": f"SELECT b.x, s.n FROM b [RANGE 20 SECONDS] JOIN ({COUNTED}) [RANGE 10 SECONDS] AS s "
        "ON b.k = s.k",
        "two": f"WITH r AS ({COUNTED}) SELECT TUMBLE(r.begins, INTERVAL 1 MINUTE) AS t, SUM(r.n) AS n "
        "FROM r GROUP BY 1",
    }
    graph = _graph(texts)
    assert len(graph.derived) == 1
    assert PhysicalGraph.from_json(graph.to_json()) == graph
    assert {query.name for query in graph.answered} == {"one", "two"}
