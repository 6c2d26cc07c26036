"""Parts and truncations of timestamps, in UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from jobs.expressions.conversion import convert
from jobs.expressions.dtypes import DAY_US, DTYPES, FIRST_MOMENT, FOREVER, FOREVER_DAY
from jobs.expressions.functions.doubles import by_vectors
from jobs.expressions.functions.reference import answers, guarded
from optimizer.algebra.expression import Call, Expression, Literal, columns_of
from optimizer.algebra.render import to_duckdb_sql
from optimizer.algebra.types import ColumnType

T = ColumnType
_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
_UNITS = {
    "year": "1y",
    "quarter": "1q",
    "month": "1mo",
    "week": "1w",
    "day": "1d",
    "hour": "1h",
    "minute": "1m",
    "second": "1s",
    "millisecond": "1ms",
}


def in_ordinary_years(moments: pl.Series) -> bool:
    """True if all of a column lies in the years 1 to 9999, on which libraries agree."""
    ticks = moments.to_physical()
    first, last = ticks.min(), ticks.max()
    return first is None or bool(first >= _YEAR_1 and last < _YEAR_10000)  # type: ignore[operator]


def in_ordinary_days(dates: pl.Series) -> bool:
    """The same of dates."""
    days = dates.to_physical()
    first, last = days.min(), days.max()
    return first is None or bool(first >= -719_162 and last <= 2_932_896)  # type: ignore[operator]


def _part(
    name: str, method: Callable[[pl.Series], pl.Series]
) -> Callable[[Call, Sequence[pl.Expr]], pl.Expr]:
    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        if call.arguments[0].type is T.TIME:
            return arguments[0].map_batches(
                lambda column: method(column).cast(pl.Int64), return_dtype=pl.Int64, is_elementwise=True
            )
        return guarded(
            lambda column: method(column.cast(DTYPES[T.TIMESTAMP])).cast(pl.Int64),
            in_ordinary_days if call.arguments[0].type is T.DATE else in_ordinary_years,
            f"{name}(c0)",
            arguments[0],
            T.BIGINT,
        )

    return implement


def _epoch(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    if call.arguments[0].type is T.INTERVAL:
        if not columns_of(call):
            # Constants keep apart what was written as days.
            sql = to_duckdb_sql(call, lambda _, text: f"TRY({text})")
            return pl.lit(answers(sql, T.DOUBLE, [pl.Series([0])])[0], dtype=pl.Float64)
        ticks = arguments[0].to_physical().cast(pl.Int64)
        if not _is_difference(call.arguments[0]):
            return _seconds(ticks)
        # DuckDB counts the days between two moments apart.
        days = (ticks.abs() // DAY_US) * ticks.sign()
        return (days * 86_400).cast(pl.Float64) + _seconds(ticks - days * DAY_US)
    if call.arguments[0].type is T.TIME:
        return _seconds(arguments[0].to_physical() // 1000)
    if call.arguments[0].type is T.DATE:
        day = arguments[0].to_physical().cast(pl.Int64)
        return pl.when(day.abs() != FOREVER_DAY).then((day * 86_400).cast(pl.Float64))
    ticks = arguments[0].to_physical()
    known = (ticks >= FIRST_MOMENT) & (ticks != FOREVER)
    return pl.when(known).then(_seconds(ticks))


def _is_difference(interval: Expression) -> bool:
    if not isinstance(interval, Call):
        return False
    return interval.arguments[0].type is not T.INTERVAL or (
        interval.function == "negate" and _is_difference(interval.arguments[0])
    )


def _seconds(ticks: pl.Expr) -> pl.Expr:
    return by_vectors(np.divide, ticks.cast(pl.Float64), pl.lit(1e6))


def _truncate(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    unit = call.arguments[0]
    assert isinstance(unit, Literal)
    every = _UNITS[str(unit.value)]
    moment = convert(arguments[1], call.arguments[1].type, T.TIMESTAMP)
    return guarded(
        lambda column: column.dt.truncate(every),
        in_ordinary_years,
        f"TRY(date_trunc('{unit.value}', c0))",
        moment,
        T.TIMESTAMP,
    )


IMPLEMENTATIONS = {
    "year": _part("year", lambda moment: moment.dt.year()),
    "month": _part("month", lambda moment: moment.dt.month()),
    "day": _part("day", lambda moment: moment.dt.day()),
    "hour": _part("hour", lambda moment: moment.dt.hour()),
    "minute": _part("minute", lambda moment: moment.dt.minute()),
    "second": _part("second", lambda moment: moment.dt.second()),
    # DuckDB counts from Sunday = 0, Polars from Monday = 1 to Sunday = 7.
    "day_of_week": _part("dayofweek", lambda moment: moment.dt.weekday() % 7),
    "epoch": _epoch,
    "date_trunc": _truncate,
    # Which session a time is in, other times say: `jobs.aggregation.sessions`.
    "session": lambda call, arguments: arguments[0],
}
