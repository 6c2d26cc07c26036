"""What commands take as numbers, and how they refuse anything else."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> float:
    """A number above 0."""
    value = _finite(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"found {text}, expected a number above 0")
    return value


def not_negative(text: str) -> float:
    """A number of at least 0."""
    value = _finite(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"found {text}, expected a number of at least 0")
    return value


def count(text: str) -> int:
    """A whole number of tasks or the like.

    >>> count("4")
    4
    """
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number from 1 to 10000")
    return int(text)


def _finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a number") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"found {text}, expected a finite number")
    return value
