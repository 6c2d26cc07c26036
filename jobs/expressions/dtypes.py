"""How column types look in Polars."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from optimizer.algebra.types import ColumnType


class _Dtypes(dict[ColumnType, pl.DataType]):
    """Decimals are added when they are first asked for."""

    def __missing__(self, kind: ColumnType) -> pl.DataType:
        if not kind.is_decimal:
            raise KeyError(kind)
        return self.setdefault(kind, pl.Decimal(kind.precision, kind.scale))


DTYPES: Mapping[ColumnType, pl.DataType] = _Dtypes(
    {
        ColumnType.BIGINT: pl.Int64(),
        ColumnType.INT: pl.Int32(),
        ColumnType.DOUBLE: pl.Float64(),
        ColumnType.STRING: pl.String(),
        ColumnType.BOOLEAN: pl.Boolean(),
        ColumnType.TIMESTAMP: pl.Datetime("us", "UTC"),
        ColumnType.DATE: pl.Date(),
        ColumnType.BINARY: pl.Binary(),
        ColumnType.INTERVAL: pl.Duration("us"),
        ColumnType.UUID: pl.String(),
        ColumnType.TIME: pl.Time(),
    }
)

FIRST_MOMENT, LAST_MOMENT = -9_223_372_022_400_000_000, 2**63 - 2
"""The microseconds of the first and last timestamp, at the midnight of a day and within one, as in DuckDB."""
FOREVER, PAST_FOREVER = 2**63 - 1, -(2**63) + 1
"""The microseconds of the timestamps `infinity` and `-infinity`."""
LAST_MIDNIGHT = 106_751_991
"""Days from 1970 to the last that begins with a timestamp; as many before it are those to the first."""
FOREVER_DAY = 2**31 - 1
"""The day number of the date `infinity`; that of `-infinity` is its negative."""
DAY_US = 86_400_000_000


def times(microseconds: pl.Series) -> pl.Series:
    """Times of a day from their microseconds, which all must be of one day."""
    return (microseconds * 1000).cast(pl.Time)


def midnight(date: pl.Expr) -> pl.Expr:
    """A date's timestamp; NULL beyond the last, and infinity for infinity."""
    day, dtype = date.to_physical(), DTYPES[ColumnType.TIMESTAMP]
    ends = pl.when(day == FOREVER_DAY).then(FOREVER).when(day == -FOREVER_DAY).then(PAST_FOREVER)
    return (
        pl.when(day.is_between(-LAST_MIDNIGHT, LAST_MIDNIGHT))
        .then(date.cast(dtype))
        .otherwise(ends.cast(dtype))
    )
