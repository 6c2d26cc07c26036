"""An estimate with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """An expected value between a lower and an upper one, all non-negative.

    >>> Interval.exactly(0.5)
    Interval(low=0.5, expected=0.5, high=0.5)

    Raises `ValueError` unless 0 <= low <= expected <= high.
    """

    low: float
    expected: float
    high: float

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.expected <= self.high:
            raise ValueError(f"not an interval: {self.low} <= {self.expected} <= {self.high}")

    @staticmethod
    def exactly(value: float) -> Interval:
        """A value without uncertainty."""
        return Interval(value, value, value)

    def times(self, other: Interval) -> Interval:
        """The product of two independent estimates."""
        return Interval(self.low * other.low, self.expected * other.expected, self.high * other.high)
