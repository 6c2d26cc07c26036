"""How often something came true, over epochs that fade."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt

from optimizer.statistics.interval import Interval

FADING = 0.9
"""What an epoch leaves of the weight of those before it: about ten count."""
_SLOWLY = 0.1
"""The part of a newer epoch in what is told of how epochs vary."""
_CONFIDENCE = 1.96
"""Standard errors to either side: about 95 %."""
_CONTRADICTED = 3.1
"""The same for intervals that lie apart once in 100,000 comparisons: dozens are made, epoch by epoch."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Hits among chances: matches among pairs, or tuples among seconds.

    Chances need not be independent, as pairs that share a tuple are not: how much epochs differ among
    each other tells by how much hits vary more than those of independent chances would.

    >>> Evidence(1000.0, 40.0).interval.expected
    0.04
    >>> quiet = Evidence(1000.0, 0.0)
    >>> quiet.interval.low, quiet.interval.expected
    (0.0, 0.0005)
    """

    chances: float
    """Above 0."""
    hits: float
    dispersion: float = 1.0
    """The variance of hits over what independent chances would give, at least 1, around one ratio."""
    epochs: float = 1.0
    """Faded as the others are."""

    @property
    def ratio(self) -> float:
        """Hits per chance; half a hit for none, as what was not seen is not free."""
        return max(0.5, self.hits) / self.chances

    @property
    def interval(self) -> Interval:
        """Where the true ratio lies: quantiles of Wilson and Hilferty's gamma."""
        return self._interval(self.hits)

    @property
    def of_another(self) -> Interval:
        """Where the ratio of one more epoch will lie if nothing changes."""
        return self._interval(self._hits_of_another)

    def contradicts(self, newer: Evidence) -> bool:
        """True if a newer epoch is none of those that were to be expected."""
        old = self._interval(self._hits_of_another, _CONTRADICTED)
        new = newer._interval(newer.hits, _CONTRADICTED)
        return old.high < new.low or new.high < old.low

    def then(self, newer: Evidence) -> Evidence:
        """With a newer epoch's."""
        share = max(_SLOWLY, 1.0 / (1.0 + self.epochs))
        awaited = self.ratio * newer.chances
        varied = (1.0 - share) * self.dispersion + share * (newer.hits - awaited) ** 2 / max(awaited, 0.5)
        kept = self.faded()
        return Evidence(
            kept.chances + newer.chances,
            kept.hits + newer.hits,
            max(1.0, varied),
            kept.epochs + newer.epochs,
        )

    def faded(self) -> Evidence:
        """What is left of it after another epoch."""
        chances, hits, epochs = (FADING * value for value in (self.chances, self.hits, self.epochs))
        return replace(self, chances=chances, hits=hits, epochs=epochs)

    @property
    def _hits_of_another(self) -> float:
        return self.hits / (1.0 + max(1.0, self.epochs))

    def _interval(self, hits: float, errors: float = _CONFIDENCE) -> Interval:
        expected = self.ratio
        counted = hits / self.dispersion
        low = _quantile(counted, -errors) / max(counted, 0.5) * expected
        high = _quantile(counted + 1.0, errors) / max(counted, 0.5) * expected
        return Interval(min(low, expected), expected, max(high, expected))


def _quantile(shape: float, errors: float) -> float:
    """A quantile of the gamma distribution, in standard errors from its middle."""
    if shape <= 0:
        return 0.0
    root = 1.0 - 1.0 / (9.0 * shape) + errors / (3.0 * sqrt(shape))
    return shape * float(max(0.0, root)) ** 3


def is_better(found: Interval, prior: Interval) -> bool:
    """True if what was found says more than what was held before, or contradicts it.

    >>> is_better(Interval(0.01, 0.02, 0.04), Interval(0.0001, 0.01, 0.1))
    True
    >>> is_better(Interval(0.0, 0.02, 0.9), Interval.exactly(0.01))
    False
    """
    if not found.low <= prior.expected <= found.high:
        return True
    if not found.low:
        # Neither was ever seen to be true: whoever looked longer.
        return not prior.low and found.high < prior.high
    return _width(found) < _width(prior)


DECLARED = 2.0
"""The factor to either side by which a number without an interval, as somebody declared it, may be off."""


def _width(interval: Interval) -> float:
    if interval.low == interval.high:
        return 2 * log(DECLARED)
    return log(interval.high / interval.low) if interval.low > 0 else float("inf")
