"""What conditions on event times leave of the pairs inside windows."""

from __future__ import annotations

from collections.abc import Mapping

from optimizer.algebra.expression import Call, Column, Expression, Literal, walk
from optimizer.logical.event_time.bounds import Constraint
from optimizer.logical.event_time.conditions import time_constraints

_INEQUALITIES = frozenset({"lt", "le", "gt", "ge"})
_SHIFTS = frozenset({"add", "subtract", "negate"})


def is_inequality(predicate: Expression) -> bool:
    """True of what may be a condition on event times, quickly told."""
    return isinstance(predicate, Call) and predicate.function in _INEQUALITIES


def may_follow_from_windows(predicate: Expression) -> bool:
    """True of conditions on times of two inputs, which may be event times."""
    return is_inequality(predicate) and event_time_condition(predicate, _times_in(predicate)) is not None


def _times_in(predicate: Expression) -> dict[str, str]:
    return {part.input: part.name for part in walk(predicate) if isinstance(part, Column)}


def event_time_condition(predicate: Expression, event_times: Mapping[str, str]) -> Constraint | None:
    """The bound that a condition is on two event times; None for all others.

    >>> from optimizer.algebra.types import ColumnType
    >>> a, b = (Column(name, "at", ColumnType.TIMESTAMP) for name in "ab")
    >>> before = Call("le", (a, b), ColumnType.BOOLEAN)
    >>> event_time_condition(before, {"a": "at", "b": "at"}).most_us
    0
    >>> event_time_condition(before, {"a": "at", "b": "paid"}) is None
    True
    >>> noon = Literal("2024-03-01T12:00:00", ColumnType.TIMESTAMP)
    >>> event_time_condition(Call("le", (a, noon), ColumnType.BOOLEAN), {"a": "at"}) is None
    True

    Args:
        predicate: any condition.
        event_times: the event-time column of every input.
    """
    if not is_inequality(predicate):
        return None
    for part in walk(predicate):
        known = isinstance(part, Column) and event_times.get(part.input) == part.name
        shift = isinstance(part, Call) and part.function in _SHIFTS
        if not (part is predicate or known or shift or isinstance(part, Literal)):
            return None
    bound = next(time_constraints((predicate,)), None)
    between = bound is not None and isinstance(bound.older, Column) and isinstance(bound.newer, Column)
    return bound if between else None


def window_share(
    predicate: Expression, event_times: Mapping[str, str], windows_s: Mapping[str, float]
) -> float | None:
    """The share of the pairs inside two windows that a condition leaves.

    Windows that follow from conditions leave nothing for these to drop. Where a third input has a window
    reach further, or a condition asks for a distance, they drop what lies beyond: pairs are taken to be
    strewn evenly.

    >>> from optimizer.algebra.types import ColumnType
    >>> a, b = (Column(name, "at", ColumnType.TIMESTAMP) for name in "ab")
    >>> later = Call("add", (a, Literal(10_000_000, ColumnType.INTERVAL)), ColumnType.TIMESTAMP)
    >>> soon = Call("le", (b, later), ColumnType.BOOLEAN)
    >>> times = {"a": "at", "b": "at"}
    >>> window_share(soon, times, {"a": 10.0, "b": 20.0}), window_share(soon, times, {"a": 40.0, "b": 20.0})
    (1.0, 0.5)

    Args:
        predicate: any condition.
        event_times: the event-time column of every input.
        windows_s: for how many seconds tuples of each input stay inside its window.

    Returns:
        None for all other conditions, and for inputs without a window.
    """
    bound = event_time_condition(predicate, event_times)
    if bound is None:
        return None
    sides = [side.input for side in (bound.older, bound.newer) if isinstance(side, Column)]
    older, newer = (windows_s.get(side) for side in sides)
    if older is None or newer is None:
        return None
    # The newer one lies from `newer` before the other to `older` behind it.
    left = min(bound.most_us / 1e6, older) + newer
    return min(1.0, max(0.0, left / (older + newer)))
