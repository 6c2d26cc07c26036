"""What a topology says of tuples that it turned away, or could not evaluate."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from jobs.expressions.readable import readable
from jobs.plan.tuples import ARRIVAL

DEAD_LETTERS = pa.schema(
    [
        ("stream", pa.string()),
        ("reason", pa.string()),
        ("arrival", pa.int64()),
        ("event_time", pa.timestamp("us", "UTC")),
        ("tuple", pa.string()),
        ("query", pa.string()),
        ("expression", pa.string()),
    ]
)
"""`reason` is `late`, `null event time`, why the tuple could not be decoded, why it was set aside, or what
was raised for it; `tuple` is JSON, or the text as it came. Where there is an `expression`, its value for this
tuple or combination of tuples is NULL, and they are accepted; all other dead letters are not."""


def letters_of(stream: str, reason: str, event_time: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Dead letters of decoded tuples, in the columns of `DEAD_LETTERS`."""
    tuples = rows[[name for name in rows.columns if name != ARRIVAL]]
    arrival = pl.col(ARRIVAL) if ARRIVAL in rows.columns else pl.lit(None, dtype=pl.Int64)
    return rows.select(
        pl.lit(stream).alias("stream"),
        pl.lit(reason).alias("reason"),
        arrival.alias("arrival"),
        pl.col(event_time).cast(pl.Datetime("us", "UTC")).alias("event_time"),
        readable(tuples).alias("tuple"),
        *_NOBODY,
    )


def undecodable_letters(stream: str, table: pa.Table) -> pl.DataFrame:
    """Dead letters of tuples that could not be decoded.

    `table` has the columns `reason` and `tuple`.
    """
    rows = pl.DataFrame(pl.from_arrow(table.select(["reason", "tuple"])))
    return rows.select(
        pl.lit(stream).alias("stream"),
        pl.col("reason").cast(pl.String),
        pl.lit(None, dtype=pl.Int64).alias("arrival"),
        pl.lit(None, dtype=pl.Datetime("us", "UTC")).alias("event_time"),
        pl.col("tuple").cast(pl.String),
        *_NOBODY,
    )


_NOBODY = (pl.lit(None, dtype=pl.String).alias("query"), pl.lit(None, dtype=pl.String).alias("expression"))
"""The tuple concerns all queries, and was turned away before any expression."""
