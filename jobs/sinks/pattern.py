"""Names of topics and tables that follow from a query's name."""

from __future__ import annotations

import hashlib

from optimizer.algebra.errors import InputError, Place

PLACEHOLDER = "{query}"


def check_pattern(option: str, pattern: str, example: str) -> str:
    """A pattern with one `{query}`.

    >>> check_pattern("--results-table", "sales.{query}", "results.{query}")
    'sales.{query}'

    Raises `InputError`.
    """
    if pattern.count(PLACEHOLDER) != 1:
        raise InputError(
            "bad-option",
            Place("command line", path=option),
            pattern or "nothing",
            f"{PLACEHOLDER} once: {example}",
        )
    return pattern


def shortened(name: str, most: int) -> str:
    """A name within so many bytes of UTF-8.

    One that is cut ends with its digest, so no two become one.

    >>> shortened("late_departures", 63)
    'late_departures'
    >>> shortened("late_departures_by_carrier", 20)
    'late_depart_d3771e2a'
    """
    written = name.encode()
    if len(written) <= most:
        return name
    return f"{written[: most - 9].decode(errors='ignore')}_{digest(name)}"


def digest(name: str) -> str:
    """Eight characters that tell a name from others.

    >>> digest("a.b") == digest("a_b")
    False
    """
    return hashlib.sha256(name.encode()).hexdigest()[:8]
