"""The same expressions over the same rows by Polars, row by row too, and by DuckDB."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import polars as pl
import pyarrow as pa

from jobs.expressions import compile_expression
from jobs.expressions.dtypes import DTYPES
from optimizer.algebra.expression import Call, Expression, walk
from optimizer.algebra.render import to_duckdb_sql
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import call

T = ColumnType
_SURE = frozenset(
    {"and", "or", "not", "is_null", "eq", "ne", "lt", "le", "gt", "ge", "in", "case", "coalesce"}
)
"""Functions that never raise."""
_DIGITS_OF_SUMS = 14
_NUMBERED = frozenset({T.INT, T.BIGINT, T.TIMESTAMP, T.DATE, T.TIME})


class Undecided(Exception):
    """DuckDB itself fails, other than by refusing a value, or makes a type that no expression has."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An expression whose value in one row is not what it should be."""

    expression: Expression
    row: pl.DataFrame
    """The one row."""
    ours: object
    expected: object
    against: str
    """What disagrees: `DuckDB`, `one row`, `constants`..."""

    def __str__(self) -> str:
        used = [n for n in self.row.columns if f'"{n[2:]}"' in to_duckdb_sql(self.expression)]
        values = ", ".join(f"{n[2:]} = {self.row[n].to_physical()[0]!r}" for n in used)
        text = to_duckdb_sql(self.expression)
        return f"{text}\n  where {values}\n  is {self.ours!r}, {self.against} has {self.expected!r}"


def compared(expression: Expression, frame: pl.DataFrame) -> list[Difference]:
    """The differences of one expression: over all rows with DuckDB, and over each row alone with all."""
    expression = comparable_root(expression)
    ours, theirs = polars_values(frame, [expression]), DuckDB().values(frame, [expression])
    found = [(row, ours, "DuckDB") for _, row in differing(theirs, ours)]
    alone = pl.concat(polars_values(frame.slice(row, 1), [expression]) for row in range(frame.height))
    found += [(row, alone, "one row") for _, row in differing(ours, alone)]
    return [
        Difference(expression, frame.slice(row, 1), values["e0"][row], theirs["e0"][row], against)
        for row, values, against in found
    ]


class DuckDB:
    """Evaluates many expressions by one statement, each call inside TRY."""

    def __init__(self) -> None:
        self._connect()

    def _connect(self) -> None:
        self._connection = duckdb.connect(config={"threads": 1})
        # DuckDB computes 1 / 0.0 and 1 / -0.0 once for both, where one statement has them.
        self._connection.execute("SET TimeZone = 'UTC'; SET disabled_optimizers = 'common_subexpressions'")
        self._frame: pl.DataFrame | None = None
        """The rows that the connection has as x."""

    def values(self, frame: pl.DataFrame, expressions: Sequence[Expression]) -> pl.DataFrame:
        """Columns e0, e1, ... Raises `Undecided`."""
        listed = ", ".join(f"{to_duckdb_sql(e, tried)} AS e{n}" for n, e in enumerate(expressions))
        try:
            if frame is not self._frame:
                naive = frame.rename({name: name[2:] for name in frame.columns}).with_columns(
                    pl.col(pl.Datetime).dt.replace_time_zone(None)
                )
                self._connection.register("x", _in_microseconds(naive))
                self._frame = frame
            with warnings.catch_warnings():
                # It advises `sql`, which binds twice; rows are few here, and expressions many.
                warnings.simplefilter("ignore", UserWarning)
                found = self._connection.execute(f"SELECT {listed} FROM x").to_arrow_table()
        except duckdb.Error as error:
            self._connect()
            raise Undecided(str(error)) from None
        values = pl.DataFrame(pl.from_arrow(found))
        if pl.Int128 in values.dtypes:
            raise Undecided("a constant of the next type")
        for n, e in enumerate(expressions):
            if e.type.is_decimal and values.dtypes[n] != DTYPES[e.type]:
                raise TypeError(f"{to_duckdb_sql(e)} is {e.type} here and {values.dtypes[n]} in DuckDB")
        return comparable(values, expressions)


def _in_microseconds(frame: pl.DataFrame) -> pa.Table:
    found = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    for place, field in enumerate(found.schema):
        if pa.types.is_time(field.type):
            found = found.set_column(place, field.name, found.column(place).cast(pa.time64("us")))
    return found


def tried(call_: Call, text: str) -> str:
    sure = call_.function in _SURE and not any(part.type.is_decimal for part in (call_, *call_.arguments))
    # A comparison of decimals may need more than 38 digits.
    return text if sure else f"TRY({text})"


def polars_values(frame: pl.DataFrame, expressions: Sequence[Expression]) -> pl.DataFrame:
    """Columns e0, e1, ... by the runtime, all of one evaluation as in a batch."""
    names = [f"e{n}" for n in range(len(expressions))]
    # `with_columns` keeps the height where all are constants.
    found = frame.with_columns(
        compile_expression(e).alias(name) for name, e in zip(names, expressions, strict=True)
    ).select(names)
    wrong = [e for e, dtype in zip(expressions, found.dtypes, strict=True) if dtype != DTYPES[e.type]]
    if wrong:
        raise TypeError(f"{to_duckdb_sql(wrong[0])} is no {wrong[0].type}")
    return comparable(found, expressions)


def comparable(frame: pl.DataFrame, expressions: Sequence[Expression]) -> pl.DataFrame:
    """Doubles as their bits, with one NaN; moments, dates and integers as their numbers.

    Seconds of a sum of intervals are rounded: their last digit is documented as another.
    """
    sums = [f"e{n}" for n, e in enumerate(expressions) if _is_length_of_sum(e)]
    frame = frame.with_columns(pl.col(sums).round_sig_figs(_DIGITS_OF_SUMS))
    doubles = [f"e{n}" for n, e in enumerate(expressions) if e.type is T.DOUBLE]
    numbers = [f"e{n}" for n, e in enumerate(expressions) if e.type in _NUMBERED]
    return frame.with_columns(
        pl.col(doubles).fill_nan(math.nan).reinterpret(dtype=pl.Int64),
        pl.col(numbers).to_physical().cast(pl.Int64),
    )


def _is_length_of_sum(expression: Expression) -> bool:
    return (
        isinstance(expression, Call)
        and expression.function == "epoch"
        and any(
            isinstance(part, Call)
            and part.function in ("add", "subtract")
            and {argument.type for argument in part.arguments} == {T.INTERVAL}
            for part in walk(expression)
        )
    )


def comparable_root(expression: Expression) -> Expression:
    """Intervals have no form to compare but their seconds."""
    return call("epoch", expression) if expression.type is T.INTERVAL else expression


def differing(ours: pl.DataFrame, theirs: pl.DataFrame) -> list[tuple[int, int]]:
    """(expression, row) of the first difference of each column."""
    if ours.equals(theirs, null_equal=True):
        return []
    found = []
    for n, name in enumerate(ours.columns):
        if not ours[name].equals(theirs[name], null_equal=True):
            rows = ours[name].ne_missing(theirs[name]).arg_true()
            if len(rows):
                found.append((n, int(rows[0])))
    return found
