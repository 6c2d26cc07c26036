"""Rows as JSON for people, whatever is in them."""

from __future__ import annotations

import polars as pl

_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""From the year 1 to the year 9999."""


def readable(rows: pl.DataFrame) -> pl.Series:
    """A JSON object per row for people: times in ISO 8601, binaries in hexadecimal.

    A moment or a date outside the years 1 to 9999, which hardly a program can write, is the text of its
    number of microseconds or days since 1970.

    >>> rows = pl.DataFrame({"a": [1], "t": [2**63 - 1]}, schema_overrides={"t": pl.Datetime("us")})
    >>> readable(rows)[0]
    '{"a":1,"t":"9223372036854775807"}'
    """
    if not rows.width:
        return pl.Series(["{}"], dtype=pl.String)
    return rows.select(
        pl.struct([_told(column) for column in rows.get_columns()]).struct.json_encode()
    ).to_series()


def _told(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Binary:
        return column.bin.encode("hex")
    if column.dtype == pl.Datetime:
        first, last, pattern = _FIRST_US, _LAST_US, "%Y-%m-%dT%H:%M:%S%.f%:z"
        column = column.cast(pl.Datetime("us", "UTC"))
    elif column.dtype == pl.Date:
        first, last, pattern = _FIRST_DAY, _LAST_DAY, "%Y-%m-%d"
    else:
        return column
    numbers = column.to_physical()
    inside = numbers.is_between(first, last)
    if inside.all():  # NULL is no exception
        return column
    written = column.set(~inside, None).dt.to_string(pattern)
    told = pl.select(pl.when(inside).then(written).otherwise(numbers.cast(pl.String))).to_series()
    return told.alias(column.name)
