"""Statistics as they may well be: one draw after another from their intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log
from random import Random

from optimizer.algebra.expression import Expression
from optimizer.algebra.render import to_sql
from optimizer.logical.canonical_inputs import blank_ordinals
from optimizer.logical.event_time.share import may_follow_from_windows
from optimizer.statistics.defaults import is_assumed
from optimizer.statistics.interval import Interval
from optimizer.statistics.observation.chains import partners
from optimizer.statistics.observation.evidence import DECLARED
from optimizer.statistics.provider import StatisticsProvider
from optimizer.statistics.skew import top_share

DRAWS = 59
"""The least of so many lies below nineteen of twenty with a certainty of 95 % (0.95 ** 59 < 0.05), whatever
the distribution (Wilks 1941)."""
_ERRORS = 1.96
"""Standard errors between what is expected and either end of an interval."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is known, every number of it drawn around what is expected.

    Logarithms are normal. The same number of a draw has the same value in every plan and every process. Of a
    number without an interval, as somebody declared it, the ends are a factor of two away.

    >>> from optimizer.statistics import FixedStatistics
    >>> one, other = (Drawn(FixedStatistics({"r": 10.0}), seed).rate("r") for seed in (1, 2))
    >>> one == Drawn(FixedStatistics({"r": 10.0}), 1).rate("r"), one == other
    (True, False)
    """

    known: StatisticsProvider
    seed: int
    _seen: dict[object, Interval | None] = field(default_factory=dict, init=False, compare=False)

    def rate(self, stream: str) -> Interval | None:
        return self._drawn(("rate", stream), self.known.rate(stream))

    def selectivity(self, predicate: Expression) -> Interval | None:
        if predicate not in self._seen:
            name, known = to_sql(blank_ordinals(predicate)), self.known.selectivity(predicate)
            if may_follow_from_windows(predicate) and is_assumed(predicate, known):
                self._seen[predicate] = known
            else:
                found = self._drawn(("selectivity", name), known)
                self._seen[predicate] = None if found is None else Interval.exactly(min(1.0, found.expected))
        return self._seen[predicate]

    def step(self, chain: str) -> Interval | None:
        return self._drawn(("step", chain), partners(self.known, chain))

    def top_share(self, stream: str, column: str) -> float | None:
        return top_share(self.known, stream, column)

    def _drawn(self, name: tuple[str, str], known: Interval | None) -> Interval | None:
        if name not in self._seen:
            errors = Random(f"{self.seed} {name}").gauss(0.0, 1.0)
            self._seen[name] = None if known is None else Interval.exactly(_at(known, errors))
        return self._seen[name]


def _at(known: Interval, errors: float) -> float:
    """The value so many standard errors away from what is expected."""
    if known.expected <= 0:
        # Of what never came none or few may come.
        return known.high * max(0.0, errors) / _ERRORS
    up = DECLARED if known.low == known.high else max(known.high / known.expected, 1.0)
    down = up if known.low == known.high or known.low <= 0 else known.expected / known.low
    return known.expected * exp(errors / _ERRORS * log(up if errors > 0 else down))
