"""DuckDB's answers over the accepted tuples, and the comparison of answers bit by bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import duckdb
import polars as pl
import pyarrow as pa

from tests.oracle.small.workload import Arrival, SmallQuery, table_of

Bag = Counter[tuple[object, ...]]
NAN_BITS = 0x7FF8000000000000


class Reference:
    """DuckDB over the accepted tuples; one for all cases of a process."""

    def __init__(self) -> None:
        self._accepted: Mapping[str, Sequence[Arrival]] | None = None
        self._answers: dict[str, pl.DataFrame] = {}

    def load(self, accepted: Mapping[str, Sequence[Arrival]]) -> None:
        """Answer queries over these tuples from now on."""
        if self._accepted is not None and _alike(accepted, self._accepted):
            return
        self._accepted, self._answers = accepted, {}
        for name, rows in accepted.items():
            table = table_of(rows)
            for moment in ("ts", "m"):
                position = table.column_names.index(moment)
                table = table.set_column(position, moment, table[moment].cast(pa.timestamp("us")))
            table = table.append_column("@t", table["ts"].cast(pa.int64()))
            _connection().register("arrived", table)
            _connection().execute(
                f'CREATE OR REPLACE TABLE {name} AS SELECT * EXCLUDE "@t" REPLACE (k::UUID AS k), '
                '"@t"::HUGEINT AS "@us" FROM arrived'
            )

    def has_results(self, query: SmallQuery) -> bool:
        """False also for what DuckDB refuses, or fails at."""
        try:
            return self._ask(query.name, f"{query.reference()} LIMIT 1").num_rows > 0
        except (NoAnswer, duckdb.Error):
            return False

    def answer(self, query: SmallQuery) -> pl.DataFrame:
        """What DuckDB gives. Raises `NoAnswer` where it fails itself."""
        text = query.reference()
        if text not in self._answers:
            self._answers[text] = pl.DataFrame(pl.from_arrow(self._ask(query.name, text)))
        return self._answers[text]

    def _ask(self, name: str, text: str) -> pa.Table:
        try:
            return _connection().sql(text).to_arrow_table()
        except (duckdb.InternalException, duckdb.FatalException) as error:
            # This database answers nothing any more; another one is given the tuples.
            _connection.cache_clear()
            accepted, self._accepted = self._accepted or {}, None
            self.load(accepted)
            raise NoAnswer(f"{name}: {str(error).partition(chr(10))[0]}") from error


class NoAnswer(Exception):
    """DuckDB fails at a query by a fault of its own."""


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    # DuckDB computes 1 / 0.0 and 1 / -0.0 once for both, where one statement has them, and divides a sum that
    # stands beside AVG, rounded to a double.
    connection.execute(
        "SET TimeZone = 'UTC'; SET disabled_optimizers = 'common_subexpressions, aggregate_function_rewriter'"
    )
    return connection


def _alike(one: Mapping[str, Sequence[Arrival]], other: Mapping[str, Sequence[Arrival]]) -> bool:
    """Whether every stream has the same tuples: runs share them, unless some were late."""
    return all(Counter(map(id, rows)) == Counter(map(id, other[name])) for name, rows in one.items())


def bag(frame: pl.DataFrame) -> Bag:
    """A table's rows as a multiset: doubles by their bits, except that every NaN is one."""
    if not frame.width:
        return Counter()
    bits = [
        pl.when(pl.col(name).is_nan()).then(pl.lit(NAN_BITS)).otherwise(pl.col(name).reinterpret(signed=True))
        .alias(name)
        if kind == pl.Float64
        else pl.col(name).to_physical()
        for name, kind in frame.schema.items()
    ]  # fmt: skip
    return Counter(frame.select(bits).rows())


def difference(query: SmallQuery, expected: pl.DataFrame, found: pl.DataFrame) -> str | None:
    """None if two answers are equal in both directions, else what is missing and what is too many."""
    if found.width:
        kinds = [
            f"o{n} is {ours}, DuckDB has {theirs}"
            for n, (ours, theirs) in enumerate(zip(found.dtypes, expected.dtypes, strict=True))
            if _plain(ours) != _plain(theirs)
        ]
        if kinds:
            return f"{query.name}: {'; '.join(kinds)}"
    should, have = bag(expected), bag(found)
    missing, extra = should - have, have - should
    if not missing and not extra:
        return None
    return (
        f"{query.name}: {should.total()} results expected and {have.total()} found; "
        f"{missing.total()} missing, such as {_some(missing)}; "
        f"{extra.total()} too many, such as {_some(extra)}"
    )


def _plain(kind: pl.DataType) -> pl.DataType:
    return pl.Datetime("us") if isinstance(kind, pl.Datetime) else kind


def _some(rows: Bag) -> str:
    return str(sorted(rows, key=repr)[:2])[:600]
