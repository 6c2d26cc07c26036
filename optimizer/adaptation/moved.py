"""Which statistic made a plan worth changing."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from optimizer.adaptation.learnt import LearntStatistics, by_name

_LEAST = 1e-12
"""Below it two values count as equally small: a logarithm needs something."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A statistic that changed between two moments."""

    statistic: str
    """`rate of departures`, or the predicate as SQL over streams."""
    before: float
    after: float

    def __str__(self) -> str:
        what = self.statistic if self.statistic.startswith("rate of ") else f"selectivity of {self.statistic}"
        return f"{what} went from {self.before:.3g} to {self.after:.3g}"


def most_moved(before: LearntStatistics, after: LearntStatistics) -> Moved | None:
    """The statistic whose value changed by the largest factor; None if none changed.

    Compares what both moments know. Ties go to the name.

    >>> from optimizer.adaptation.learnt import Learnt
    >>> then, now = (Learnt("rate of r", rate, rate, rate, "observed", "r") for rate in (10.0, 25.0))
    >>> str(most_moved(LearntStatistics((then,)), LearntStatistics((now,))))
    'rate of r went from 10 to 25'
    """
    known = by_name(before.statistics)
    moved = [
        Moved(now.name, known[now.name].value, now.value)
        for now in after.statistics
        if now.name in known and known[now.name].value != now.value
    ]
    factor = {m: abs(log(max(m.after, _LEAST) / max(m.before, _LEAST))) for m in moved}
    return max(moved, key=lambda m: (factor[m], m.statistic), default=None)
