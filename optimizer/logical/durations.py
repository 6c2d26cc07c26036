"""Durations: numbers with units, exact to the microsecond."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal, InvalidOperation

UNITS_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
}
"""Microseconds by the unit's name. Months and years are no fixed time, so they are not here."""
_SHORT = {
    "us": "microsecond",
    "ms": "millisecond",
    "msec": "millisecond",
    "s": "second",
    "sec": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "hr": "hour",
    "d": "day",
    "w": "week",
}
UNIT_NAMES = tuple(f"{unit}s" for unit in UNITS_US)
_PARTS = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\W\d_]+)")
_LONGEST_US = int(timedelta.max / timedelta(microseconds=1))


def unit_us(unit: str) -> int | None:
    """Microseconds in a unit, in full or short, singular or plural; None if unknown.

    >>> unit_us("minutes"), unit_us("ms"), unit_us("months")
    (60000000, 1000, None)
    """
    name = unit.strip().lower()
    for candidate in (name, name.removesuffix("s")):
        full = _SHORT.get(candidate, candidate)
        if full in UNITS_US:
            return UNITS_US[full]
    return None


def duration_us(number: str, unit: str) -> int:
    """Whole microseconds in `number` units; the number may be fractional or negative.

    >>> duration_us("1.5", "hours")
    5400000000

    Raises `ValueError` for an unknown unit, what is no number, and what is too long.
    """
    scale = unit_us(unit)
    if scale is None:
        raise ValueError(f"unknown unit {unit}")
    try:
        value = Decimal(number.strip().replace("_", ""))
    except InvalidOperation:
        raise ValueError(f"{number} is no number") from None
    if not value.is_finite() or abs(value) * scale > _LONGEST_US:
        raise ValueError(f"{number} {unit} is too long")
    return int((value * scale).to_integral_value())


def parse_duration_us(text: str) -> int:
    """Whole microseconds of `5 minutes`, `30s`, `1.5 hours` or `1 hour 30 minutes`.

    >>> parse_duration_us("1 hour 30 minutes")
    5400000000

    Raises `ValueError` when the text is not a sequence of numbers with units.
    """
    position, total = 0, 0
    text = text.strip()
    while position < len(text):
        match = _PARTS.match(text, position)
        if match is None:
            raise ValueError(f"{text} is no duration")
        total += duration_us(match[1], match[2])
        position = match.end()
        while position < len(text) and (text[position].isspace() or text[position] == ","):
            position += 1
    if not text or abs(total) > _LONGEST_US:
        raise ValueError(f"{text or 'nothing'} is no duration")
    return total


def duration_text(us: int) -> str:
    """A duration as SQL says it, in the largest unit that is exact: `10 MINUTES`.

    >>> duration_text(600_000_000), duration_text(1_500_000)
    ('10 MINUTES', '1500 MILLISECONDS')
    """
    for unit, scale in sorted(UNITS_US.items(), key=lambda item: -item[1]):
        if unit != "week" and us % scale == 0:
            count = us // scale
            return f"{count} {unit.upper()}{'' if abs(count) == 1 else 'S'}"
    raise AssertionError("every whole number of microseconds is a number of microseconds")
