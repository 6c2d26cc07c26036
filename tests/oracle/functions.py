"""A function that has no answer for some rows, and raises for others; beside the shipped ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

FILE = Path(__file__).with_name("functions.yaml")


def picky(first: pa.Array, second: pa.Array) -> pa.Array:
    """The distance of two numbers; NULL if their sum is a multiple of 5, and an error for multiples of 7."""
    left, right = (np.asarray(side, dtype=np.int64) for side in (first, second))
    total = left + right
    if (total % 7 == 0).any():
        raise ArithmeticError(f"a sum of {total[total % 7 == 0][0]}")
    return pa.array(np.abs(left - right), mask=total % 5 == 0)
