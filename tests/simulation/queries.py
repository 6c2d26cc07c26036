"""The queries that come and go in a simulated topology, and the plans that answer them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cache, lru_cache

from optimizer.adaptation import variation
from optimizer.algebra.render import to_duckdb_sql
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.partitioning.slicing import slice_all
from optimizer.physical.graph import PhysicalGraph, Slices
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query, to_duckdb

PARTITIONS = 3
_COLUMNS = (
    ("at", ColumnType.TIMESTAMP),
    ("k", ColumnType.BIGINT),
    ("j", ColumnType.BIGINT),
    ("n", ColumnType.BIGINT),
    ("d", ColumnType.decimal(6, 2)),
)
LATENESS = timedelta(seconds=3)
STREAMS = ("r", "s", "t", "u")
TABLE = "v"
CATALOG = Catalog(
    (
        *(Stream(name, _COLUMNS, "at", lateness=LATENESS, tuples_per_second=1.0) for name in STREAMS),
        Stream(TABLE, _COLUMNS, "at", kind="table", key=("k",)),
    )
)
_RS = "r [RANGE 9 SECONDS], s [RANGE 8 SECONDS]"
_NEAR = "s.at BETWEEN r.at - INTERVAL 4 SECONDS AND r.at + INTERVAL 3 SECONDS"


def _outputs(aliases: str) -> str:
    return ", ".join(f"{alias}.at AS {alias}_at, {alias}.n AS {alias}_n" for alias in aliases)


AT_ONCE = {
    "two": f"SELECT {_outputs('rs')} FROM {_RS} WHERE r.k = s.k",
    "narrow": f"SELECT {_outputs('rs')} FROM r [RANGE 2 SECONDS], s [RANGE 8 SECONDS] "
    "WHERE r.k = s.k AND s.j > 0",
    "three": f"SELECT {_outputs('rst')} FROM {_RS}, t [RANGE 6 SECONDS] WHERE r.k = s.k AND s.j = t.j",
    "mixed": f"SELECT {_outputs('rst')} FROM {_RS}, t [RANGE 6 SECONDS] WHERE r.k = s.k AND s.j < t.j",
    "four": f"SELECT {_outputs('rstu')} FROM {_RS}, t [RANGE 6 SECONDS], u [RANGE 7 SECONDS] "
    "WHERE r.k = s.k AND s.j = t.j AND t.k = u.k",
    "self": f"SELECT {_outputs('ab')} FROM r [RANGE 7 SECONDS] AS a, r [RANGE 4 SECONDS] AS b "
    "WHERE a.k = b.j",
    "forever": f"SELECT {_outputs('tu')} FROM t, u WHERE t.k = u.k AND t.j = u.j",
    "reckoned": f"SELECT {_outputs('su')}, s.k * 3 - u.j AS x, COALESCE(s.j, u.k) / 2 AS y "
    "FROM s [RANGE 8 SECONDS], u [RANGE 7 SECONDS] WHERE s.k + 1 = u.k + 1 AND (s.j <> u.j OR u.j IS NULL)",
    "priced": f"SELECT {_outputs('st')}, s.d * 1.05 - t.d AS x FROM s [RANGE 8 SECONDS], t [RANGE 6 SECONDS] "
    "WHERE s.d = t.k AND s.d - 0.5 <= t.d",
    "alone": f"SELECT {_outputs('t')}, t.k % 2 AS x FROM t WHERE t.k >= 1 AND NOT (t.j = 2)",
}
"""Whose results leave with the batch that completes them."""
HELD = {
    "left": f"SELECT {_outputs('rs')} FROM r LEFT JOIN s ON r.k = s.k AND {_NEAR}",
    "full": f"SELECT {_outputs('rs')} FROM r FULL JOIN s ON r.j = s.j AND {_NEAR}",
    "anti": f"SELECT {_outputs('r')} FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE r.k = s.k AND {_NEAR})",
    "semi": f"SELECT {_outputs('r')} FROM r WHERE EXISTS (SELECT 1 FROM s WHERE r.k = s.k AND {_NEAR})",
    "newest": f"SELECT {_outputs('rs')} FROM r ASOF LEFT JOIN s [RANGE 9 SECONDS] "
    "ON r.k = s.k AND r.at >= s.at",
    "version": f"SELECT {_outputs('rv')}, v.j AS x FROM r LEFT JOIN v FOR SYSTEM_TIME AS OF r.at "
    "ON r.k = v.k",
    "groups": "SELECT TUMBLE(t.at, INTERVAL 4 SECONDS) AS b, t.k, COUNT(*) AS c, SUM(t.j) AS x, "
    "MIN(t.n) AS y, SUM(t.d) AS z, AVG(t.d) AS a FROM t GROUP BY b, t.k",
    "groups of pairs": "SELECT TUMBLE(RESULT_TIME(), INTERVAL 4 SECONDS) AS b, COUNT(*) AS c, MAX(s.n) AS x "
    f"FROM {_RS} WHERE r.k = s.k GROUP BY b",
}
"""Whose results wait until nothing can change them."""
RUNNING = {
    "counts": "SELECT t.k, COUNT(*) AS c, SUM(t.j) AS x FROM t GROUP BY t.k",
    "counts of pairs": f"SELECT r.k, COUNT(*) AS c, MAX(s.n) AS x FROM {_RS} WHERE r.k = s.k GROUP BY r.k",
    "few": f"SELECT s.j, COUNT(DISTINCT r.n) AS c FROM {_RS} WHERE r.j = s.j GROUP BY s.j "
    "HAVING COUNT(*) < 5",
    "whole": "SELECT COUNT(*) AS c, MIN(u.n) AS x FROM t, u WHERE t.k = u.k AND t.j = u.j",
}
"""Groups without an end: what counts is the table that their results come to, at every commit."""
TEXTS = AT_ONCE | HELD | RUNNING


@dataclass(frozen=True, slots=True)
class Deployed:
    """What somebody wants the topology to do: these queries, by one of many plans."""

    queries: tuple[str, ...]
    variation: int
    """0 for the planner's own plan; others give other ones."""
    slices: int = 0
    """Of event time per task of bounded stores; 0 for none."""
    grids: bool = False

    def __str__(self) -> str:
        layout = f", {self.slices} slices" if self.slices else ", grids" if self.grids else ""
        return f"{' '.join(self.queries)} by plan {self.variation}{layout}"


@cache
def query(name: str) -> Query:
    return parse_query(TEXTS[name], name, CATALOG)


@cache
def reference(name: str) -> str:
    """DuckDB's text of a query."""
    return to_duckdb(query(name), CATALOG)


@cache
def since_reference(name: str, since_us: int | None) -> str:
    """DuckDB's text of running groups that count what is not older than an event time."""
    asked = query(name)
    counted = asked.grouping.counted_by if asked.grouping is not None else None
    assert counted is not None
    also = () if since_us is None else (f"epoch_us({to_duckdb_sql(counted)}) >= {since_us}",)
    return to_duckdb(asked, CATALOG, also=also)


@lru_cache(maxsize=4096)
def graph_of(deployed: Deployed) -> PhysicalGraph:
    """The plan; always the same one."""
    queries = [query(name) for name in sorted(deployed.queries)]
    options = Options(grids="always" if deployed.grids else "cost")
    plain = plan(queries, CATALOG, method="flat", options=options, retain="everything", tasks=2).graph
    made = plain
    if deployed.variation and not deployed.grids:
        made = variation(queries, CATALOG, plain, deployed.variation, PARTITIONS) or plain
    return slice_all(made, Slices(deployed.slices)) if deployed.slices else made
