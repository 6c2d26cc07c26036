"""A stream that comes to a running topology: what it had before is read, and results are DuckDB's since when
the query says that they are complete."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest

from jobs.recovery.manifest import Manifest
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query, to_duckdb
from tests.unit.runtime.in_process import Topology

_COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.BIGINT), ("n", ColumnType.BIGINT))
_SCHEMA = {"at": pl.Datetime("us", "UTC"), "k": pl.Int64(), "n": pl.Int64()}
CATALOG = Catalog.of(Stream(name, _COLUMNS, "at", lateness=timedelta(seconds=2)) for name in "rst")
_NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
BEFORE = "SELECT r.at, s.at AS sat, r.n FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS] WHERE r.k = s.k"
_TIMES = "SELECT r.at, t.at AS tat, r.n, t.n AS tn"
_NEAR = "t.at BETWEEN r.at - INTERVAL 5 SECONDS AND r.at + INTERVAL 5 SECONDS"
TEXTS = {
    "inner": f"{_TIMES} FROM r [RANGE 8 SECONDS], t [RANGE 6 SECONDS] WHERE r.k = t.k",
    "theta": f"{_TIMES} FROM r [RANGE 8 SECONDS], t [RANGE 6 SECONDS] WHERE r.k < t.k AND t.k < r.k + 3",
    "left": f"{_TIMES} FROM r LEFT JOIN t ON r.k = t.k AND {_NEAR}",
    "right": f"{_TIMES} FROM r RIGHT JOIN t ON r.k = t.k AND {_NEAR}",
    "anti": f"SELECT r.at, r.n FROM r WHERE NOT EXISTS (SELECT 1 FROM t WHERE r.k = t.k AND {_NEAR})",
    "as of": f"{_TIMES} FROM r ASOF LEFT JOIN t [RANGE 9 SECONDS] ON r.k = t.k AND r.at >= t.at",
    "grouped": "SELECT TUMBLE(t.at, INTERVAL 4 SECONDS) AS at, COUNT(*) AS n FROM t GROUP BY ALL",
    "groups of pairs": "SELECT TUMBLE(RESULT_TIME(), INTERVAL 4 SECONDS) AS at, COUNT(*) AS n "
    "FROM r [RANGE 8 SECONDS], t [RANGE 6 SECONDS] WHERE r.k = t.k GROUP BY ALL",
}
Row = tuple[object, ...]


def _graph(*texts: str, tasks: int = 2) -> PhysicalGraph:
    queries = [parse_query(text, f"q{number}", CATALOG) for number, text in enumerate(texts)]
    return plan(queries, CATALOG, method="flat", tasks=tasks).graph


class _Fed:
    """A topology with what it accepted."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.topology = Topology(_graph(BEFORE, tasks=3), folder)
        self.drawn = random.Random(seed)
        self.accepted = {name: pl.DataFrame(schema=_SCHEMA) for name in "rst"}
        self.number = 0

    def rows(self, at_s: int, count: int) -> pl.DataFrame:
        """Tuples of about `at_s` seconds after noon, none of them late by the stream's own watermark."""
        self.number += count
        return pl.DataFrame(
            [
                (
                    _NOON + timedelta(seconds=at_s + self.drawn.randint(-2, 0)),
                    self.drawn.randint(0, 9),
                    self.number + number,
                )
                for number in range(count)
            ],
            schema=_SCHEMA,
            orient="row",
        )

    def feed(self, *, dies: bool = False, ended: str = "", **frames: pl.DataFrame) -> None:
        tables = {name: frame.to_arrow() for name, frame in frames.items()}
        if dies:
            self.topology.die_in(tables)
        self.topology.feed(tables, ended=tuple(ended))
        late_below = dict(self.topology.executor.context.late_below_us)
        for name, frame in frames.items():
            kept = frame.filter(pl.col("at").to_physical() >= late_below.get(name, -(2**62)))
            self.accepted[name] = self.accepted[name].vstack(kept)

    @property
    def last(self) -> Manifest:
        assert self.topology.last is not None
        return self.topology.last

    def expected(self, text: str) -> Counter[Row]:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
            for name, frame in self.accepted.items():
                connection.register(name, frame.to_arrow())
            query = parse_query(text, "q", CATALOG)
            return Counter(connection.execute(to_duckdb(query, CATALOG)).fetchall())

    def found(self, query: str) -> Counter[Row]:
        return Counter(self.topology.answers(query).rows())


def _newest(row: Row) -> int:
    moments = [value for value in row if isinstance(value, datetime)]
    return (max(moments) - _BEGIN) // timedelta(microseconds=1)


def _at(seconds: int) -> int:
    return (_NOON + timedelta(seconds=seconds) - _BEGIN) // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("seed", "dies"),
    [
        (72, True),
        *(
            pytest.param(*one, marks=pytest.mark.long)
            for one in ((71, False), (71, True), (72, False), (73, False), (73, True))
        ),
    ],
)
@pytest.mark.parametrize("name", TEXTS)
def test_the_history_of_a_stream_that_joins_is_read(tmp_path: Path, name: str, seed: int, dies: bool) -> None:
    fed, text = _Fed(tmp_path, seed), TEXTS[name]
    for second in range(30):
        fed.feed(r=fed.rows(second, 2), s=fed.rows(second, 2))
    fed.topology.change(_graph(BEFORE, text))
    # Ten seconds of its history a batch, while the others go on.
    for number, second in enumerate(range(-60, 38, 10)):
        history = pl.concat([fed.rows(second + step, 2) for step in range(10)])
        now = 30 + number
        fed.feed(r=fed.rows(now, 2), s=fed.rows(now, 2), t=history, dies=dies and number % 3 == 1)
        since = fed.last.queries["q1"].complete_since_us
        # At the end of the loop it is abreast of the others, give or take a second.
        assert fed.last.streams["t"].joining or second >= 20
        assert since is not None
    assert since >= _at(30)
    for second in range(40, 60):
        fed.feed(r=fed.rows(second, 2), s=fed.rows(second, 2), t=fed.rows(second, 2))
    assert not fed.last.streams["t"].joining
    fed.feed(ended="rst")
    fed.feed()
    assert fed.last.queries["q1"].complete_since_us == since
    assert fed.last.streams["t"].late == 0
    found, expected = fed.found("q1"), fed.expected(text)
    assert not found - expected
    needed = Counter({row: count for row, count in expected.items() if _newest(row) >= since})
    assert needed.total() > 4
    assert not needed - found
    assert fed.found("q0") == fed.expected(BEFORE)


def test_a_joining_stream_does_not_hold_back_the_others(tmp_path: Path) -> None:
    fed = _Fed(tmp_path, 5)
    for second in range(9):
        fed.feed(r=fed.rows(second, 2), s=fed.rows(second, 2))
    fed.topology.change(_graph(BEFORE, TEXTS["left"]))
    fed.feed(t=fed.rows(-500, 3))
    assert fed.last.streams["t"].joining
    before = fed.last.watermark_us
    assert before is not None
    fed.feed(r=fed.rows(20, 9), s=fed.rows(20, 9), t=fed.rows(-400, 3))
    fed.feed(t=fed.rows(-300, 3))
    assert fed.last.watermark_us is not None
    assert fed.last.watermark_us > before
    # A batch in which it brings nothing ends its history; from now on it counts, and is late like any.
    fed.feed(r=fed.rows(21, 1))
    assert not fed.last.streams["t"].joining
    fed.feed(t=fed.rows(-200, 3))
    assert fed.last.streams["t"].late == 3


def test_a_stream_of_the_first_plan_does_not_join(tmp_path: Path) -> None:
    topology = Topology(_graph(TEXTS["inner"]), tmp_path)
    topology.feed({})
    assert topology.last is not None
    assert not any(stream.joining for stream in topology.last.streams.values())


def test_a_stream_that_was_left_joins_again(tmp_path: Path) -> None:
    fed = _Fed(tmp_path, 6)
    for second in range(9):
        fed.feed(r=fed.rows(second, 2), s=fed.rows(second, 2))
    fed.topology.change(_graph("SELECT r.at FROM r"))
    for second in range(9, 50):
        fed.feed(r=fed.rows(second, 2))
    fed.topology.change(_graph(BEFORE))
    # What came meanwhile is read now.
    fed.feed(s=fed.rows(12, 2), r=fed.rows(50, 2))
    assert fed.last.streams["s"].joining
    assert fed.last.streams["s"].late == 0


def test_nothing_has_caught_up_while_a_server_is_away(tmp_path: Path) -> None:
    fed = _Fed(tmp_path, 8)
    for second in range(9):
        fed.feed(r=fed.rows(second, 2), s=fed.rows(second, 2))
    fed.topology.change(_graph(BEFORE, TEXTS["inner"]))
    fed.topology.feed({}, away=True)
    assert fed.last.streams["t"].joining
    fed.feed()
    assert not fed.last.streams["t"].joining
