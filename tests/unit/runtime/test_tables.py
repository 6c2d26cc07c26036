"""Tables: the version in force at a time, found while versions come, go, and their store is merged."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from jobs.storage.partition import CompactionPolicy, state_root
from optimizer.algebra.types import ColumnType as T
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.unit.runtime.in_process import Topology

_COLUMNS = (("at", T.TIMESTAMP), ("k", T.INT), ("x", T.INT))
_LATENESS = timedelta(seconds=3)
CATALOG = Catalog.of(
    [
        *(Stream(name, _COLUMNS, "at", _LATENESS) for name in ("a", "c")),
        Stream("t", (*_COLUMNS, ("gone", T.BOOLEAN)), "at", kind="table", key=("k",), deleted="gone"),
    ]
)
_FIELDS = [("at", pa.timestamp("us", "UTC")), ("k", pa.int32()), ("x", pa.int32())]
_SCHEMAS = {name: pa.schema([*_FIELDS, *([("gone", pa.bool_())] if name == "t" else [])]) for name in "act"}
_NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
FOUND = "SELECT a.at, a.x, t.x AS tx FROM a JOIN t FOR SYSTEM_TIME AS OF a.at ON a.k = t.k"
KEPT = FOUND.replace("a JOIN", "a LEFT JOIN")
OFTEN = CompactionPolicy(fan=2, smallest_rows=8)
Row = tuple[object, ...]


def _graph(*texts: str, tasks: int = 1, method: str = "flat") -> PhysicalGraph:
    queries = [parse_query(text, f"q{number}", CATALOG) for number, text in enumerate(texts)]
    return plan(queries, CATALOG, method=method, tasks=tasks).graph


def _rows(stream: str, *rows: tuple[object, ...]) -> pa.Table:
    """Tuples from (seconds after noon, k, x), and of the table whether they delete."""
    names = _SCHEMAS[stream].names
    dicts = [dict(zip(names, (_NOON + timedelta(seconds=at), *rest), strict=False)) for at, *rest in rows]  # type: ignore[arg-type]
    return pa.Table.from_pylist(dicts, schema=_SCHEMAS[stream])


def _answers(topology: Topology, query: str = "q0") -> list[Row]:
    frame = topology.answers(query)
    seconds = (pl.col("at") - _NOON).dt.total_seconds().alias("at")
    return sorted(frame.with_columns(seconds).rows(), key=repr) if frame.height else []


def _end(topology: Topology) -> None:
    topology.feed({}, ended=[stream.name for stream in topology.graph.streams])
    topology.feed({})


def _versions(topology: Topology) -> list[tuple[int, int]]:
    """(key, seconds after noon) of what the table's store holds."""
    (store,) = (store for store in topology.graph.stores if store.key)
    root = state_root(topology.checkpoint.state)
    frames = [root.read(run) for run in topology.runs if run.store == store.id]
    rows = pl.concat(frames).select("t.k", (pl.col("t.at") - _NOON).dt.total_seconds()).rows()
    return sorted(rows)


def test_the_version_in_force_is_found_and_a_deleted_key_has_none(tmp_path: Path) -> None:
    topology = Topology(_graph(FOUND, KEPT, tasks=2), tmp_path)
    topology.feed({"t": _rows("t", (0, 1, 10, None), (5, 1, 11, False), (8, 1, 12, True), (9, 1, 13, None))})
    topology.feed({"a": _rows("a", (4, 1, 0), (5, 1, 1), (8, 1, 2), (9, 1, 3), (9, 2, 4))})
    _end(topology)
    found: list[Row] = [(4, 0, 10), (5, 1, 11), (9, 3, 13)]
    assert _answers(topology) == found
    assert _answers(topology, "q1") == sorted([*found, (8, 2, None), (9, 4, None)], key=repr)


def test_further_conditions_are_asked_of_the_version_in_force(tmp_path: Path) -> None:
    # An older version that fulfils them is not in force any more.
    topology = Topology(_graph(f"{FOUND} AND t.x < 11", f"{KEPT} AND t.x < a.x"), tmp_path)
    topology.feed({"t": _rows("t", (0, 1, 10), (5, 1, 11))})
    topology.feed({"a": _rows("a", (4, 1, 20), (6, 1, 11), (7, 1, 12))})
    _end(topology)
    assert _answers(topology) == [(4, 20, 10)]
    assert _answers(topology, "q1") == [(4, 20, 10), (6, 11, None), (7, 12, 11)]


@pytest.mark.parametrize("reverse", [False, True])
def test_of_versions_of_one_time_the_greatest_is_in_force(tmp_path: Path, reverse: bool) -> None:
    # By all columns, whether a query reads them or not: FALSE is less than TRUE, and NULL less than FALSE.
    topology = Topology(_graph(KEPT, "SELECT a.at, a.x, t.k AS tx" + KEPT[KEPT.index(" FROM") :]), tmp_path)
    versions = [(5, 1, 10, True), (5, 1, 11, None), (5, 1, 11, False)]
    for version in reversed(versions) if reverse else versions:
        topology.feed({"t": _rows("t", version)})
    topology.feed({"a": _rows("a", (6, 1, 0))})
    _end(topology)
    assert (_answers(topology), _answers(topology, "q1")) == ([(6, 0, 11)], [(6, 0, 1)])


def test_a_table_does_not_hold_back_the_watermark_and_is_late_behind_it(tmp_path: Path) -> None:
    topology = Topology(_graph(FOUND), tmp_path)
    topology.feed({"t": _rows("t", (-9000, 1, 10))})
    topology.feed({"t": _rows("t", (-9999, 2, 20)), "a": _rows("a", (10, 1, 0), (8, 2, 1))})
    # The watermark is at 7 seconds: a version of that time is in time, an older one is not.
    topology.feed({"t": _rows("t", (6, 2, 21), (7, 2, 22)), "a": _rows("a", (20, 1, 2))})
    topology.feed({})
    assert _answers(topology) == [(10, 0, 10), (8, 1, 22)]
    letters = pa.concat_tables(topology.dead).to_pylist()
    assert [(one["stream"], one["reason"]) for one in letters] == [("t", "late")]


def test_of_every_key_the_newest_old_version_stays(tmp_path: Path) -> None:
    topology = Topology(_graph(FOUND), tmp_path, OFTEN)
    for second in range(40):
        versions = [(second, 1, second), *([(second, 2, second)] if second == 1 else [])]
        topology.feed({"t": _rows("t", *versions), "a": _rows("a", (second, 2, second))})
    held = _versions(topology)
    assert (2, 1) in held
    # The watermark is at 35: what came after it is needed, and merging is some versions behind.
    assert {(1, second) for second in range(35, 40)} <= set(held)
    assert len(held) < 25
    _end(topology)
    assert _answers(topology) == sorted([(s, s, 1) for s in range(1, 40)], key=repr)


def test_versions_are_kept_for_what_is_looked_up_later(tmp_path: Path) -> None:
    # What joins late is looked up as of the older of its tuples.
    text = (
        "SELECT a.at, a.x, t.x AS tx FROM a [RANGE 20 SECONDS] JOIN c ON a.k = c.k AND a.at <= c.at "
        "JOIN t FOR SYSTEM_TIME AS OF a.at ON t.k = a.k"
    )
    topology = Topology(_graph(text, tasks=2), tmp_path, OFTEN)
    for second in range(30):
        joined = {"c": _rows("c", (second, 1 if second == 19 else 2, 0))}
        topology.feed({"t": _rows("t", (second, 1, second)), "a": _rows("a", (second, 1, second)), **joined})
    _end(topology)
    assert _answers(topology) == sorted([(s, s, s) for s in range(20)], key=repr)


def test_groups_count_what_was_found_alone(tmp_path: Path) -> None:
    text = (
        "SELECT TUMBLE(a.at, INTERVAL 10 SECONDS) AS b, COUNT(*) AS n, SUM(t.x) AS x FROM a "
        "LEFT JOIN t FOR SYSTEM_TIME AS OF a.at ON a.k = t.k AND t.x <> 3 GROUP BY b"
    )
    topology = Topology(_graph(text, tasks=2), tmp_path)
    topology.feed({"t": _rows("t", (0, 1, 2), (4, 1, 9, True), (6, 1, 3), (8, 1, 5))})
    topology.feed({"a": _rows("a", *((second, 1, 0) for second in (1, 3, 5, 7, 9)))})
    _end(topology)
    assert [row[1:] for row in topology.answers("q0").rows()] == [(5, 9)]


def test_a_key_may_be_of_what_is_missing(tmp_path: Path) -> None:
    text = (
        "SELECT a.at, a.x, t.x AS tx FROM a [RANGE 5 SECONDS] LEFT JOIN c ON a.k = c.k AND c.at = a.at "
        "LEFT JOIN t FOR SYSTEM_TIME AS OF a.at ON t.k = COALESCE(c.x, a.x)"
    )
    topology = Topology(_graph(text), tmp_path)
    topology.feed({"t": _rows("t", (0, 1, 10), (1, 2, 20)), "c": _rows("c", (4, 7, 1))})
    topology.feed({"a": _rows("a", (4, 7, 2), (4, 8, 2))})
    _end(topology)
    assert _answers(topology) == [(4, 2, 10), (4, 2, 20)]


def test_a_constant_is_a_part_of_the_key(tmp_path: Path) -> None:
    topology = Topology(_graph(FOUND.replace("a.k = t.k", "t.k = 7 AND a.x > t.x")), tmp_path)
    topology.feed({"t": _rows("t", (0, 7, 5), (1, 8, 0), (4, 7, 9))})
    topology.feed({"a": _rows("a", (3, 1, 6), (5, 1, 6))})
    _end(topology)
    assert _answers(topology) == [(3, 6, 5)]


def test_a_query_that_looks_further_back_begins_where_versions_are_known(tmp_path: Path) -> None:
    back = FOUND.replace(
        "FROM a JOIN t", "FROM a [RANGE 20 SECONDS] JOIN c [RANGE 20 SECONDS] ON a.k = c.k JOIN t"
    )
    alone = "SELECT at FROM c"
    topology = Topology(_graph(FOUND, alone), tmp_path)
    topology.feed({"t": _rows("t", (0, 1, 0)), "a": _rows("a", (10, 1, 0)), "c": _rows("c", (10, 1, 0))})
    topology.feed({"a": _rows("a", (12, 1, 0)), "c": _rows("c", (12, 1, 0))})
    topology.change(_graph(FOUND, alone, back))
    topology.feed({"t": _rows("t", (13, 1, 1)), "a": _rows("a", (14, 1, 2)), "c": _rows("c", (15, 1, 0))})
    topology.feed({"a": _rows("a", (50, 1, 3)), "c": _rows("c", (51, 1, 0))})
    _end(topology)
    assert _answers(topology, "q2") == [(50, 3, 1)]


def test_a_table_that_joins_is_read_from_its_beginning_in_any_order(tmp_path: Path) -> None:
    topology = Topology(_graph("SELECT at FROM a"), tmp_path)
    for second in (10, 20):
        topology.feed({"a": _rows("a", (second, 1, 0))})
    topology.change(_graph("SELECT at FROM a", FOUND))
    topology.feed({"a": _rows("a", (30, 1, 1)), "t": _rows("t", (29, 1, 5), (-100, 2, 6))})
    topology.feed({"a": _rows("a", (40, 1, 2)), "t": _rows("t", (-200, 3, 7), (-300, 1, 8))})
    assert topology.last is not None
    assert topology.last.streams["t"].joining
    topology.feed({"a": _rows("a", (50, 1, 3), (51, 2, 4), (52, 3, 5))})
    assert not topology.last.streams["t"].joining
    _end(topology)
    assert not topology.dead
    assert _answers(topology, "q1") == [(40, 2, 5), (50, 3, 5), (51, 4, 6), (52, 5, 7)]


def test_what_a_table_has_is_read_before_event_time_begins(tmp_path: Path) -> None:
    topology = Topology(_graph(FOUND), tmp_path)
    topology.feed({"a": _rows("a", (30, 1, 1)), "t": _rows("t", (29, 1, 5))}, waiting=["t"])
    topology.feed({"a": _rows("a", (40, 2, 2)), "t": _rows("t", (-200, 2, 7))}, waiting=["t", "a"])
    assert topology.last is not None
    assert topology.last.watermark_us is None
    topology.feed({"a": _rows("a", (50, 1, 3)), "t": _rows("t", (-300, 1, 8))}, waiting=["a"])
    topology.feed({"a": _rows("a", (60, 2, 4)), "t": _rows("t", (-1, 2, 9))}, waiting=[])
    assert topology.last.watermark_us is not None
    _end(topology)
    # From then on old versions are late.
    assert [table.num_rows for table in topology.dead] == [1]
    assert _answers(topology) == [(30, 1, 5), (40, 2, 7), (50, 3, 5), (60, 4, 7)]


# Against DuckDB

_QUERIES = {
    FOUND: "FROM a JOIN valid t ON a.k = t.k AND {in_force}",
    f"{KEPT} AND t.x > 2 WHERE t.x IS DISTINCT FROM 4": (
        "FROM a LEFT JOIN valid t ON a.k = t.k AND {in_force} AND t.x > 2 WHERE t.x IS DISTINCT FROM 4"
    ),
    KEPT.replace("a LEFT", "a [RANGE 9 SECONDS] JOIN c [RANGE 4 SECONDS] ON a.k = c.k AND a.x <> c.x LEFT"): (
        "FROM a JOIN c ON a.k = c.k AND a.x <> c.x AND c.at - a.at <= INTERVAL 9 SECONDS "
        "AND a.at - c.at <= INTERVAL 4 SECONDS LEFT JOIN valid t ON a.k = t.k AND {in_force}"
    ),
    KEPT.replace("a.k = t.k", "c.k = t.k")
    .replace("AS OF a.at", "AS OF c.at")
    .replace("a LEFT", "a [RANGE 8 SECONDS] LEFT JOIN c [RANGE 8 SECONDS] ON a.x = c.x LEFT"): (
        "FROM a LEFT JOIN c ON a.x = c.x AND c.at - a.at <= INTERVAL 8 SECONDS "
        "AND a.at - c.at <= INTERVAL 8 SECONDS LEFT JOIN valid t ON c.k = t.k AND {in_force_c}"
    ),
}
"""By query, what it means over the intervals in which versions are in force."""


def _expected(text: str, accepted: Mapping[str, Sequence[pa.Table]]) -> list[Row]:
    with duckdb.connect() as connection:
        for name, tables in accepted.items():
            connection.register(name, pa.concat_tables(tables))
        # Structs are compared field by field; NULL is the greatest there, and the least here.
        ordered = "{'x': coalesce(x, -1000), 'gone': coalesce(gone::INT, -1)}"
        newest = f"SELECT k, t.at, max({ordered}) AS found FROM t GROUP BY k, t.at"
        until = "lead(n.at) OVER (PARTITION BY k ORDER BY n.at) AS until"
        connection.execute(
            "CREATE VIEW valid AS SELECT v.k, v.at, v.until, nullif(v.found.x, -1000) AS x "
            f"FROM (SELECT n.*, {until} FROM ({newest}) AS n) AS v WHERE v.found.gone < 1"
        )
        in_force = "t.at <= {0}.at AND (t.until IS NULL OR {0}.at < t.until)"
        rest = _QUERIES[text].format(in_force=in_force.format("a"), in_force_c=in_force.format("c"))
        seconds = f"(epoch(a.at) - {_NOON.timestamp()})::INT"
        return sorted(connection.sql(f"SELECT {seconds}, a.x, t.x {rest}").fetchall(), key=repr)


class _Story:
    """A random topology's tuples, and which of them are in time by the meaning of lateness alone."""

    def __init__(self, chance: random.Random) -> None:
        self.accepted: dict[str, list[pa.Table]] = {name: [_rows(name)] for name in "act"}
        self._chance = chance
        self._newest: dict[str, datetime] = {}

    def batch(self, second: int) -> dict[str, pa.Table]:
        """Tuples around a second."""
        marks = {name: time - _LATENESS for name, time in self._newest.items()}
        marks |= {"t": min(marks.values())} if len(marks) == 2 else {}
        tables = {}
        for name in "act":
            rows = [self._row(second) for _ in range(self._chance.choice((0, 1, 2, 4)))]
            tables[name] = table = _rows(name, *rows)
            in_time = [name not in marks or row["at"] >= marks[name] for row in table.to_pylist()]
            self.accepted[name].append(table.filter(pa.array(in_time, pa.bool_())))
            if rows and name != "t":
                newest = max(table["at"].to_pylist())
                self._newest[name] = max(newest, self._newest.get(name, newest))
        return tables

    def _row(self, second: int) -> tuple[object, ...]:
        draw = self._chance.choice
        at = second - draw((0, 0, 1, 2, 3, 6))
        return (at, draw((1, 1, 2, 3, None)), draw((1, 2, 3, 4, None)), draw((None, None, False, True)))


@pytest.mark.parametrize("seed", range(6))
def test_random_topologies_give_what_duckdb_does(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    story, texts = _Story(chance), list(_QUERIES)
    plans = [
        _graph(*texts, tasks=chance.choice((1, 2, 3)), method=chance.choice(("flat", "greedy")))
        for _ in range(3)
    ]
    partitions = max(plans, key=lambda graph: max(store.tasks for store in graph.stores))
    topology = Topology(partitions, tmp_path, OFTEN, chance.choice((None, 2000)))
    for second in range(30):
        tables = story.batch(second)
        if chance.random() < 0.2:
            topology.change(chance.choice(plans))
        if chance.random() < 0.15:
            topology.die_in(tables)
        topology.feed(tables)
    _end(topology)
    for number, text in enumerate(texts):
        assert _answers(topology, f"q{number}") == _expected(text, story.accepted), text
