"""Bounds on differences of times, and all that follows from them.

A constraint says that one time is at most so much after another, `newer - older <= most_us`. Two in a row
say it of their ends, so the tightest bound of every pair is a shortest path: a closed difference-bound
matrix (Dill, CAV 1989). All is in
whole microseconds of Python's integers, which have no end to overflow at; None is no bound.

>>> hour = 3_600_000_000
>>> times = close([Constraint("a", "b", hour), Constraint("b", "c", -600_000_000), Constraint("c", "a", 0)])
>>> times.most_us("a", "c") == hour - 600_000_000, times.most_us("b", "b"), times.most_us("b", "z")
(True, 0, None)
>>> close([Constraint("a", "b", -1), Constraint("b", "a", 0)]) is None
True
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Time: TypeAlias = Hashable


@dataclass(frozen=True, slots=True)
class Constraint:
    """`newer - older <= most_us`, and what says so."""

    older: Time
    newer: Time
    most_us: int
    origin: object = None


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """The tightest bound of every pair of times; see `close`."""

    _most: Mapping[tuple[Time, Time], int]
    _last: Mapping[tuple[Time, Time], Constraint]
    """The constraint at the newer end of the path that a bound comes from."""

    def most_us(self, older: Time, newer: Time) -> int | None:
        """How much after `older` the other time is at most; None is no bound."""
        return 0 if older == newer else self._most.get((older, newer))

    def path(self, older: Time, newer: Time) -> tuple[Constraint, ...]:
        """The constraints that a bound is the sum of, from `older` on.

        There are none without a bound.

        >>> times = close([Constraint("a", "b", 2), Constraint("b", "c", 3), Constraint("a", "c", 9)])
        >>> [(one.older, one.newer) for one in times.path("a", "c")]
        [('a', 'b'), ('b', 'c')]
        """
        found: list[Constraint] = []
        while older != newer and (last := self._last.get((older, newer))) is not None:
            found.append(last)
            newer = last.older
        return tuple(reversed(found))


def close(constraints: Sequence[Constraint]) -> TimeBounds | None:
    """All that follows from the constraints; None if they exclude each other.

    These are shortest paths between all pairs (Floyd and Warshall).
    """
    times = tuple(dict.fromkeys(time for one in constraints for time in (one.older, one.newer)))
    most: dict[tuple[Time, Time], int] = {}
    last: dict[tuple[Time, Time], Constraint] = {}
    for one in constraints:
        pair = one.older, one.newer
        if one.older == one.newer:
            if one.most_us < 0:
                return None
        elif one.most_us < most.get(pair, one.most_us + 1):
            most[pair], last[pair] = one.most_us, one
    for middle in times:
        into = [(time, most[time, middle]) for time in times if (time, middle) in most]
        out = [(time, most[middle, time]) for time in times if (middle, time) in most]
        for older, first in into:
            for newer, second in out:
                total = first + second
                if older == newer:
                    if total < 0:
                        return None
                elif total < most.get((older, newer), total + 1):
                    most[older, newer], last[older, newer] = total, last[middle, newer]
    return TimeBounds(most, last)
