"""Parts and truncations of timestamps, in UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from optimizer.expression import Call, Literal
from optimizer.types import ColumnType

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


def _part(method: Callable[[pl.Expr], pl.Expr]) -> Callable[[Call, Sequence[pl.Expr]], pl.Expr]:
    def implement(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
        moment = arguments[0]
        if call.arguments[0].type is ColumnType.DATE:
            moment = moment.cast(pl.Datetime("us", "UTC"))
        return method(moment).cast(pl.Int64)

    return implement


def _epoch(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    moment = arguments[0]
    if call.arguments[0].type is ColumnType.DATE:
        moment = moment.cast(pl.Datetime("us", "UTC"))
    return moment.to_physical().cast(pl.Float64) / 1e6


def _truncate(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    unit = call.arguments[0]
    assert isinstance(unit, Literal)
    return arguments[1].cast(pl.Datetime("us", "UTC")).dt.truncate(_UNITS[str(unit.value)])


IMPLEMENTATIONS = {
    "year": _part(lambda moment: moment.dt.year()),
    "month": _part(lambda moment: moment.dt.month()),
    "day": _part(lambda moment: moment.dt.day()),
    "hour": _part(lambda moment: moment.dt.hour()),
    "minute": _part(lambda moment: moment.dt.minute()),
    "second": _part(lambda moment: moment.dt.second()),
    # DuckDB counts from Sunday = 0, Polars from Monday = 1 to Sunday = 7.
    "day_of_week": _part(lambda moment: moment.dt.weekday() % 7),
    "epoch": _epoch,
    "date_trunc": _truncate,
}
