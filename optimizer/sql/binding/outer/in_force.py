"""Which version of a table is in force: what conditions say about it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from optimizer.algebra.expression import Call, Column, Expression, inputs_of
from optimizer.algebra.types import ColumnType

_MIRRORED = {"le": "ge", "lt": "gt"}
INEQUALITIES = frozenset({"ge", "gt", "le", "lt"})


@dataclass(frozen=True, slots=True)
class Versions:
    """How an as-of join finds the version of a table that is in force."""

    key: tuple[Column, ...]
    time: Column
    """The table's event time."""
    times: tuple[Column, ...]
    """Of all aliases."""
    existing: tuple[Expression, ...]
    """What says that a version does not delete its key."""

    def found_by(self, condition: Expression) -> bool:
        """True if the condition says which version is meant; others are asked of that one."""
        is_time = later_time(condition, self.time, self.times) is not None
        return is_time or any(equates(condition, column) for column in self.key)


def equates(condition: Expression, column: Column) -> bool:
    """True of an equality with a value that a single key has.

    Several bigints may equal one double.
    """
    if not (isinstance(condition, Call) and condition.function == "eq" and column in condition.arguments):
        return False
    first, second = condition.arguments
    other = second if first == column else first
    return column.input not in inputs_of(other) and other.type is not ColumnType.DOUBLE


def later_time(condition: Expression, own: Column, times: Collection[Column]) -> Column | None:
    """The event time of another alias that a condition has at or behind `own`.

    None if it says something else.

    >>> later, own = (Column(alias, "at", ColumnType.TIMESTAMP) for alias in "ab")
    >>> later_time(Call("le", (own, later), ColumnType.BOOLEAN), own, (later, own)) == later
    True
    """
    if not isinstance(condition, Call) or condition.function not in INEQUALITIES:
        return None
    function, (first, second) = condition.function, condition.arguments
    if first == own:
        function, first, second = _MIRRORED.get(function, ""), second, first
    if not isinstance(first, Column) or first == own or first not in times:
        return None
    return first if function in ("ge", "gt") and second == own else None
