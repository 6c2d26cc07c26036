"""DuckDB's answers over the accepted tuples, and the comparison of answers bit by bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import duckdb
import polars as pl
import pyarrow as pa

from tests.oracle.small.workload import Arrival, SmallQuery, table_of

Bag = Counter[tuple[object, ...]]
NAN_BITS = 0x7FF8000000000000


class Reference:
    """A DuckDB that has the accepted tuples as tables."""

    def __init__(self, accepted: Mapping[str, Sequence[Arrival]]) -> None:
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")
        for name, rows in accepted.items():
            table = table_of(rows)
            plain = table.set_column(
                table.column_names.index("ts"), "ts", table["ts"].cast(pa.timestamp("us"))
            )
            plain = plain.set_column(plain.column_names.index("m"), "m", plain["m"].cast(pa.timestamp("us")))
            self._connection.register(f"{name}_raw", plain.append_column("@t", table["ts"].cast(pa.int64())))
            self._connection.execute(
                f'CREATE TABLE {name} AS SELECT * EXCLUDE "@t", "@t"::HUGEINT AS "@us" FROM {name}_raw'
            )

    def answer(self, query: SmallQuery) -> pl.DataFrame:
        return pl.DataFrame(pl.from_arrow(self._connection.sql(query.reference()).to_arrow_table()))

    def close(self) -> None:
        self._connection.close()


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
