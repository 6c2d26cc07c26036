"""Means of integers and decimals, rounded as DuckDB rounds them.

DuckDB divides an exact total by a count in C's `long double`, which has 64 bits on x86-64 and other numbers
elsewhere, and rounds the quotient to a double, which so is rounded twice. Decimals that it keeps in 16 bits
are divided as doubles.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from optimizer.algebra.types import ColumnType

_SHORT = 4
"""Digits of the longest decimals that DuckDB keeps in 16 bits."""


def means(
    name: str, totals: npt.NDArray[np.longdouble], counts: npt.NDArray[np.int64], kind: ColumnType
) -> pl.Series:
    """The mean of each group; NULL of one without numbers.

    It has the bits of DuckDB's AVG on this machine.

    >>> of = np.array([150, 0], np.longdouble), np.array([4, 0])
    >>> means("mean", *of, ColumnType.decimal(4, 2)).to_list()
    [0.375, None]

    Args:
        name: what the column is called.
        totals: the sum of each group, rounded once; of decimals in units, such as 150 of 1.50.
        counts: how many numbers each is of.
        kind: the numbers' type.
    """
    # DuckDB's power of ten is a double, which no power from 10^23 on is exactly.
    divisors = counts.astype(np.longdouble) * float(10**kind.scale if kind.is_decimal else 1)
    with np.errstate(invalid="ignore"):  # of 0 / 0, which is no number, and then NULL
        if kind.is_decimal and kind.precision <= _SHORT:
            found = totals.astype(np.float64) / divisors.astype(np.float64)
        else:
            found = (totals / divisors).astype(np.float64)
    return pl.Series(name, found, nan_to_null=True)
