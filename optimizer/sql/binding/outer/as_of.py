"""ON of an ASOF JOIN.

It has equalities, one inequality of the two event times, and conditions of other kinds. The partner is the
newest tuple that fulfils all of them, as in DuckDB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optimizer.algebra.expression import Call, Column, Expression, inputs_of
from optimizer.algebra.render import to_sql
from optimizer.sql.binding.outer.branching import Unanswerable
from optimizer.sql.binding.outer.in_force import INEQUALITIES, later_time


def check_as_of(
    on: Sequence[Expression], left: frozenset[str], right: frozenset[str], times: Mapping[str, Column]
) -> None:
    """Check the conditions of an ASOF JOIN.

    Args:
        on: the conjuncts of ON.
        left, right: the aliases of the two sides.
        times: the event time of every alias.
    Raises:
        Unanswerable: there is not one stream on the right, or not one inequality that says how new its
            tuples may be.
    """
    if len(right) != 1:
        raise Unanswerable(f"{len(right)} streams on the right of ASOF JOIN", "one stream")
    (newest,) = right
    later = next((times[alias] for alias in sorted(left) if alias in times), None)
    if later is None:
        return  # The left side could not be read, which was told.
    expected = f"one such as {to_sql(later)} >= {to_sql(times[newest])}"
    found = [one for condition in on if (one := _inequality(condition, left, right)) is not None]
    if not found:
        raise Unanswerable("ASOF JOIN without an inequality", expected)
    if len(found) > 1:
        bound = (
            f"a window, or {to_sql(later)} - {to_sql(times[newest])} <= INTERVAL 1 HOUR, as a further bound"
        )
        raise Unanswerable(f"ASOF JOIN with {len(found)} inequalities", f"{expected}, and {bound}")
    (inequality,) = found
    if later_time(inequality, times[newest], times.values()) is None:
        raise Unanswerable(f"ASOF JOIN by {to_sql(inequality)}", f"event times, {expected}")


def _inequality(condition: Expression, left: frozenset[str], right: frozenset[str]) -> Call | None:
    """The condition, if it compares one side with the other."""
    if not isinstance(condition, Call) or condition.function not in INEQUALITIES:
        return None
    first, second = (inputs_of(argument) for argument in condition.arguments)
    split = (first <= left and second <= right) or (first <= right and second <= left)
    return condition if split and first and second else None
