"""An expression that raises for a tuple has no value for it: all other results are there, and a letter says
which tuple, which expression and whose query."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.expressions import IMPLEMENTATIONS, compile_expression
from jobs.expressions.guarded import MOST_NOTED, guard, notes
from jobs.failures.dead_letters import DEAD_LETTERS
from jobs.sinks.redis_tail import ResultTail
from jobs.worker.ingest import ingest
from optimizer.algebra.expression import Call, Column
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics
from tests.unit.runtime.in_process import Topology

T = ColumnType
BAD = "bad"
COLUMNS = (("at", T.TIMESTAMP), ("k", T.BIGINT), ("name", T.STRING))
START = datetime(2026, 1, 1, tzinfo=UTC)
PAIR = "FROM r [RANGE 1 HOUR], s [RANGE 1 HOUR] WHERE"


@pytest.fixture(params=["error", "panic"])
def raising(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """UPPER raises for whole columns that have one bad value in them, as an engine's function does."""

    def over(column: pl.Series) -> pl.Series:
        if column.eq(BAD).any():
            raise ValueError("no upper case\nfor this")
        return column.str.to_uppercase()

    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        if request.param == "error":
            return arguments[0].map_batches(over, return_dtype=pl.String, is_elementwise=True)
        # Polars itself ends in a panic for moments that it cannot write.
        moment = pl.when(arguments[0] == BAD).then(2**63 - 1).otherwise(0).cast(pl.Datetime("us"))
        return arguments[0].str.to_uppercase() + moment.dt.to_string("%Y").str.slice(0, 0)

    monkeypatch.setitem(IMPLEMENTATIONS, "upper", implement)  # type: ignore[arg-type]
    compile_expression.cache_clear()
    yield
    compile_expression.cache_clear()


def graph(**texts: str) -> PhysicalGraph:
    catalog = Catalog.of([Stream(name, COLUMNS, "at") for name in "rs"])
    queries = [parse_query(text, name, catalog) for name, text in texts.items()]
    return plan(queries, catalog, FixedStatistics({"r": 1.0, "s": 1.0}), tasks=2).graph


def table(first: int, names: Sequence[str | None]) -> pa.Table:
    return pl.DataFrame(
        {
            "at": [START + timedelta(seconds=first + row) for row in range(len(names))],
            "k": [(first + row) % 3 for row in range(len(names))],
            "name": names,
        },
        schema={"at": pl.Datetime("us", "UTC"), "k": pl.Int64, "name": pl.String},
    ).to_arrow()


NAMES = {"r": ["a", BAD, "b", None, "c", BAD, "a"], "s": ["c", "a", BAD, "a", None, "b"]}


def upper(name: str | None) -> str | None:
    """NULL where it raises."""
    return None if name in (None, BAD) else name.upper()


def pairs() -> Iterator[tuple[int, str | None, int, str | None]]:
    for i, mine in enumerate(NAMES["r"]):
        for j, theirs in enumerate(NAMES["s"]):
            yield i, mine, j, theirs


def less(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one < other


CASES = {
    "filter": (
        f"SELECT r.k AS x, s.k AS y {PAIR} UPPER(r.name) <> 'A' AND r.k = s.k",
        lambda: [(i % 3, j % 3) for i, a, j, b in pairs() if upper(a) not in (None, "A") and i % 3 == j % 3],
    ),
    "key": (
        f"SELECT r.k AS x, s.k AS y {PAIR} UPPER(r.name) = UPPER(s.name)",
        lambda: [(i % 3, j % 3) for i, a, j, b in pairs() if upper(a) and upper(a) == upper(b)],
    ),
    "range": (
        f"SELECT r.k AS x, s.k AS y {PAIR} UPPER(r.name) < UPPER(s.name)",
        lambda: [(i % 3, j % 3) for i, a, j, b in pairs() if less(upper(a), upper(b))],
    ),
    "theta": (
        f"SELECT r.k AS x, s.k AS y {PAIR} r.k = s.k AND (UPPER(r.name) < UPPER(s.name) OR r.name = 'c')",
        lambda: [
            (i % 3, j % 3)
            for i, a, j, b in pairs()
            if i % 3 == j % 3 and (less(upper(a), upper(b)) or a == "c")
        ],
    ),
    "output": (
        f"SELECT UPPER(r.name) AS x, s.k AS y {PAIR} r.k = s.k",
        lambda: [(upper(a), j % 3) for i, a, j, b in pairs() if i % 3 == j % 3],
    ),
}
PLAIN = f"SELECT r.k AS x, s.k AS y {PAIR} r.k = s.k"


@pytest.mark.parametrize("batch", [1, 3, 100], ids=lambda n: f"batches of {n}")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("raising")
def test_rows_for_which_an_expression_raises_count_as_null(case: str, batch: int, tmp_path: Path) -> None:
    text, expected = CASES[case]
    made = graph(raises=text, plain=PLAIN)
    topology = Topology(made, str(tmp_path))
    letters: list[dict[str, Any]] = []
    for first in range(0, 7, batch):
        tables = {
            name: table(first, names[first : first + batch])
            for name, names in NAMES.items()
            if names[first : first + batch]
        }
        topology.feed(tables)
    letters.extend(row for dead in topology.dead for row in dead.to_pylist())
    found = topology.answers("raises")
    assert Counter(found.rows() if found.width else []) == Counter(expected())
    plain = Counter((i % 3, j % 3) for i, _, j, _ in pairs() if i % 3 == j % 3)
    assert Counter(topology.answers("plain").rows()) == plain
    assert letters
    for letter in letters:
        assert letter["query"] == "raises"
        assert "upper" in letter["expression"].lower()
        assert letter["stream"] in ("r", "s")
        assert BAD in json.loads(letter["tuple"]).values()
        assert letter["reason"].startswith("raised ")
        assert "\n" not in letter["reason"]


@pytest.mark.usefixtures("raising")
def test_a_filter_s_letter_has_the_whole_tuple_and_its_event_time() -> None:
    made = graph(
        raises="SELECT r.k FROM r WHERE UPPER(r.name) <> 'A'", plain="SELECT r.k, r.name, r.at FROM r"
    )
    done = ingest(made, "r", table(0, ["a", "b", BAD]), None, 100, None)
    assert (done.counts.accepted, done.failed_calls) == (3, {"raises": 1})
    assert done.dead is not None
    assert done.dead.schema == DEAD_LETTERS
    (letter,) = done.dead.to_pylist()
    assert letter["event_time"] == START + timedelta(seconds=2)
    assert json.loads(letter["tuple"]) == {"r.at": "2026-01-01T00:00:02+00:00", "r.k": 2, "r.name": BAD}
    assert ingest(made, "r", table(0, ["a", "b"]), None, 100, None).dead is None


@pytest.mark.usefixtures("raising")
def test_letters_of_a_batch_are_bounded_and_all_rows_are_counted() -> None:
    made = graph(raises="SELECT r.k FROM r WHERE UPPER(r.name) <> 'A'")
    done = ingest(made, "r", table(0, [BAD, "b"] * 300), None, 0, None)
    assert done.failed_calls == {"raises": 300}
    assert done.dead is not None
    assert done.dead.num_rows == MOST_NOTED
    assert sum(result.table.height for result in done.results) == 300


def test_an_expression_that_raises_without_any_row_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        def over(column: pl.Series) -> pl.Series:
            tried.append(len(column))
            raise ValueError("never")

        return arguments[0].map_batches(over, return_dtype=pl.String)

    monkeypatch.setitem(IMPLEMENTATIONS, "upper", implement)  # type: ignore[arg-type]
    compile_expression.cache_clear()
    name = Column("r", "name", T.STRING)
    compiled = compile_expression(guard(Call("upper", (name,), T.STRING)))
    found = pl.DataFrame({"r.name": ["x", None] * 500}).select(compiled).to_series()
    compile_expression.cache_clear()
    assert found.null_count() == 1000
    assert tried == [1000, 0]
    assert notes.drain()[0] == 1000


@pytest.mark.parametrize("error", [MemoryError("no more"), OSError("gone"), KeyboardInterrupt()], ids=repr)
def test_what_is_nobody_s_row_is_raised(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        def over(column: pl.Series) -> pl.Series:
            raise error

        return arguments[0].map_batches(over, return_dtype=pl.String)

    monkeypatch.setitem(IMPLEMENTATIONS, "upper", implement)  # type: ignore[arg-type]
    compile_expression.cache_clear()
    try:
        with pytest.raises(type(error)):
            ingest(
                graph(raises="SELECT r.k FROM r WHERE UPPER(r.name) <> 'A'"),
                "r",
                table(0, ["a"]),
                None,
                0,
                None,
            )
    finally:
        compile_expression.cache_clear()


_ENDS = (-(2**63), -(2**63) + 1, -62_135_596_800_000_001, 253_402_300_800_000_000, 2**63 - 1)


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from(_ENDS), min_size=1))
def test_late_tuples_of_any_time_are_written_and_told(moments: list[int | None]) -> None:
    made = graph(plain="SELECT r.k FROM r")
    rows = pl.DataFrame(
        {"at": moments, "k": 1, "name": "x"}, schema={"at": pl.Int64, "k": pl.Int64, "name": pl.String}
    )
    late = rows.with_columns(pl.col("at").cast(pl.Datetime("us", "UTC"))).to_arrow()
    done = ingest(made, "r", late, None, 0, 2**63 - 1)
    dead = sum(moment != 2**63 - 1 for moment in moments)
    assert (0 if done.dead is None else done.dead.num_rows) == dead
    if done.dead is not None:
        kept = _Kept()
        ResultTail(kept, "t", "c").append(1, "p", {}, [done.dead])  # type: ignore[arg-type]
        assert kept.entries == dead
        texts = done.dead.column("tuple").to_pylist()
        assert sum(json.loads(text)["at"] is None for text in texts) == moments.count(None)


class _Kept:
    """A Redis that only counts what a script is to append."""

    entries = 0

    def register_script(self, text: str) -> Any:
        def append(keys: list[str], args: list[Any]) -> None:
            self.entries += (len(args) - 4) // args[3]

        return append


def test_nothing_is_left_noted_for_the_next_task() -> None:
    notes.drain()
    assert notes.drain() == (0, ())
