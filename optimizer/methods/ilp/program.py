"""A mixed-integer program as plain arrays, and what a solver says about it.

PuLP is the modelling interface; its objects and files cost several times what a small
program takes to solve, so HiGHS also gets the arrays directly. Both paths solve the same
`Program`, and tests compare them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, gcd, inf

STEPS_PER_UNIT = 64
"""Costs are looked at in 64ths; what is closer to one than rounding errors get counts as one."""


@dataclass(slots=True)
class Program:
    """Minimize cost @ x subject to lower <= A x <= upper and 0 <= x <= upper bound."""

    cost: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    row_lower: list[float] = field(default_factory=list)
    row_upper: list[float] = field(default_factory=list)
    row_start: list[int] = field(default_factory=lambda: [0])
    indices: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add_column(self, cost: float, *, integer: bool, name: str, upper: float = 1.0) -> int:
        """A variable between 0 and `upper`; returns its index."""
        self.cost.append(cost)
        self.upper.append(upper)
        self.integer.append(integer)
        self.names.append(name)
        return len(self.cost) - 1

    def add_row(self, columns: list[int], values: list[float], lower: float, upper: float) -> None:
        self.indices += columns
        self.values += values
        self.row_start.append(len(self.indices))
        self.row_lower.append(lower)
        self.row_upper.append(upper)

    def next_objective(self, value: float) -> float:
        """A proven bound: the least objective of an integer point not below `value`.

        If every cost is a multiple of some step, so is every integer point's objective, and
        a bound may be rounded up to the next multiple.
        """
        step = self.step()
        if step is None:
            return value
        return max(value, step * ceil(value / step - 1e-6))

    def below(self, value: float) -> float | None:
        """An upper limit on objectives of integer points that are better than `value`.

        None unless every cost is a multiple of some step: then a point may be better by anything.
        """
        step = self.step()
        return None if step is None else value - 0.999 * step

    def step(self) -> float | None:
        """The largest number that divides all costs; None if it is below 1/64."""
        common = 0
        for cost, integer in zip(self.cost, self.integer, strict=True):
            scaled = round(cost * STEPS_PER_UNIT)
            if (cost and not integer) or abs(cost * STEPS_PER_UNIT - scaled) > 1e-11 * abs(cost):
                return None
            common = gcd(common, scaled)
        return common / STEPS_PER_UNIT if common else None

    def at_most_sum(self, column: int, others: list[int]) -> None:
        """x[column] <= sum of x[others]."""
        self.add_row([column, *others], [1.0] + [-1.0] * len(others), -inf, 0.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """A solver's answer. `values` is None if it found no solution."""

    values: list[float] | None
    proven: bool
    """True if the values are optimal within the asked gap, not merely the best at a limit."""
    infeasible: bool
    """True if it is proven that nothing satisfies the rows."""
    bound: float | None
    """Proven lower bound of the objective."""


@dataclass(frozen=True, slots=True)
class Relaxation:
    """What the linear relaxation says. Both are usable even if its solver was cut off."""

    values: list[float] | None
    """The relaxation's point, or one on the way to it; None if there is nothing to follow."""
    bound: float
    """Proven lower bound of the objective, by weak duality from the solver's row duals."""
    reduced: list[float]
    """By column, with the same duals: an integer point that has 1 there costs at least `bound` and this; one
    that has 0 there costs at least `bound` less this if it is negative. Empty without duals."""
    finished: bool
