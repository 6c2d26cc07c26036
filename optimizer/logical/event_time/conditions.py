"""Read constraints on differences of times from predicates.

`b.at <= a.at + INTERVAL 1 HOUR` bounds b.at - a.at. Both sides of a comparison are read as sums of *times*,
which are columns and whatever else is not looked into, plus an offset in an interval: truncating to the hour
takes away 0 to 3599.999999 seconds. A comparison is a constraint if one time is left on either
side. It holds wherever the predicate is true:

- NULL is not true, and every step from a time to its side gives NULL for NULL, so both times are there.
- Whole microseconds: `<` is `<=` less the finest step that both sides take, 1 us, or 1 hour between hours.
- Arithmetic that leaves the range of times has no value, so it is not true either.
- An infinite time is its own hour and its own later one. Next to one a constraint of less than zero may be
  broken, so what reads the bounds takes negative ones for 0 (`optimizer.logical.retention`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import gcd

from optimizer.algebra.expression import Call, Expression, Literal
from optimizer.algebra.types import MOMENTS, ColumnType
from optimizer.logical.durations import UNITS_US
from optimizer.logical.event_time.bounds import Constraint

_DAY_US = UNITS_US["day"]
_TRUNCATIONS = {
    **{unit: (UNITS_US[unit], UNITS_US[unit]) for unit in ("week", "day", "hour", "minute", "second")},
    "millisecond": (1_000, 1_000),
    "month": (31 * _DAY_US, _DAY_US),
    "quarter": (92 * _DAY_US, _DAY_US),
    "year": (366 * _DAY_US, _DAY_US),
}
"""The longest unit of this name, and the step in which all of its beginnings lie."""
_COMPARED = frozenset({*MOMENTS, ColumnType.INTERVAL})


@dataclass(frozen=True, slots=True)
class _Sum:
    """Times, each so often, and an offset from `low_us` to `high_us`."""

    times: Mapping[Expression, int]
    low_us: int
    high_us: int
    step_us: int
    """All values are multiples of it; 0 for the constant 0, a multiple of everything."""

    def plus(self, other: _Sum, sign: int = 1) -> _Sum:
        times = dict(self.times)
        for time, often in other.times.items():
            times[time] = times.get(time, 0) + sign * often
        ends = sorted((sign * other.low_us, sign * other.high_us))
        return _Sum(
            {time: often for time, often in times.items() if often},
            self.low_us + ends[0],
            self.high_us + ends[1],
            gcd(self.step_us, other.step_us),
        )

    def truncated(self, longest_us: int, step_us: int) -> _Sum:
        return _Sum(self.times, self.low_us - longest_us + 1, self.high_us, step_us)


def time_constraints(predicates: Iterable[Expression]) -> Iterator[Constraint]:
    """The constraints on times that hold wherever all predicates are true.

    They come in the order of the predicates.

    >>> from optimizer.algebra.render import to_sql
    >>> from optimizer.sql import parse_query
    >>> text = (
    ...     "SELECT a.x FROM a, b WHERE DATE_TRUNC('hour', a.at) = DATE_TRUNC('hour', b.at)"
    ...     "  AND b.at < a.at + INTERVAL 9 MINUTES")
    >>> for one in time_constraints(parse_query(text, "q", None).predicates):
    ...     print(to_sql(one.newer), "-", to_sql(one.older), "<=", one.most_us / 1e6)
    a.at - b.at <= 3599.999999
    b.at - a.at <= 3599.999999
    b.at - a.at <= 539.999999
    """
    for predicate in predicates:
        match predicate:
            case Call("lt" | "le" | "eq" | "gt" | "ge" as comparison, (left, right)) if (
                left.type in _COMPARED and right.type in _COMPARED
            ):
                first, second = _sum(left), _sum(right)
                step = max(1, gcd(first.step_us, second.step_us)) if comparison in ("lt", "gt") else 0
                if comparison in ("lt", "le", "eq"):
                    yield from _at_most(first.plus(second, -1), step, predicate)
                if comparison in ("gt", "ge", "eq"):
                    yield from _at_most(second.plus(first, -1), step, predicate)


def time_within(expression: Expression) -> tuple[Expression, int] | None:
    """The one time that an expression follows, and by how much it is later at most.

    None if it is no such time. A bucket of an hour begins 3599.999999 seconds before the last time in it:

    >>> from optimizer.algebra.expression import Column
    >>> at = Column("a", "at", ColumnType.TIMESTAMP)
    >>> hour = Literal(3_600_000_000, ColumnType.INTERVAL)
    >>> time_within(Call("time_bucket", (hour, at), ColumnType.TIMESTAMP)) == (at, 3_599_999_999)
    True
    """
    found = _sum(expression)
    ((time, often), *others) = found.times.items() or ((None, 0),)
    if time is None or others or often != 1 or time.type not in MOMENTS:
        return None
    return time, -found.low_us


def _at_most(difference: _Sum, less_us: int, origin: Expression) -> Iterator[Constraint]:
    """The constraint that a difference is at most 0, less a step."""
    by_sign = {often: time for time, often in difference.times.items()}
    if len(difference.times) == 2 and set(by_sign) == {1, -1}:
        yield Constraint(by_sign[-1], by_sign[1], -difference.low_us - less_us, origin)


def _sum(expression: Expression) -> _Sum:
    match expression:
        case Literal(value=int(length), type=ColumnType.INTERVAL):
            return _Sum({}, length, length, abs(length))
        case Call("add", (left, right), type=ColumnType.TIMESTAMP | ColumnType.INTERVAL):
            return _sum(left).plus(_sum(right))
        case Call("subtract", (left, right), type=ColumnType.TIMESTAMP | ColumnType.INTERVAL):
            return _sum(left).plus(_sum(right), -1)
        case Call("negate", (operand,), type=ColumnType.INTERVAL):
            return _Sum({}, 0, 0, 0).plus(_sum(operand), -1)
        case Call("date_trunc", (Literal(value=str(unit)), operand)):
            return _sum(operand).truncated(*_TRUNCATIONS[unit])
        case Call("time_bucket", (Literal(value=int(width)), operand)) if (
            operand.type is ColumnType.TIMESTAMP
        ):
            return _sum(operand).truncated(width, 1)
        case Call("hop", (operand, Literal(value=int(slide)), Literal())):
            return _sum(operand).truncated(slide, 1)
        case Call("cast", (operand,), type=ColumnType.DATE) if operand.type is ColumnType.TIMESTAMP:
            return _sum(operand).truncated(_DAY_US, _DAY_US)
        case Call("cast", (operand,), type=ColumnType.TIMESTAMP) if operand.type is ColumnType.DATE:
            return _sum(operand)
    # A date is its midnight.
    return _Sum({expression: 1}, 0, 0, _DAY_US if expression.type is ColumnType.DATE else 1)
