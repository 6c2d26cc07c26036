"""How often something came true, over epochs that fade."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log, sqrt

from optimizer.statistics.interval import Interval

FADING = 0.9
"""What an epoch leaves of the weight of those before it: about ten count."""
_SLOWLY = 0.1
"""The part of a newer epoch in what is told of how epochs vary."""
_CONFIDENCE = 1.96
"""Standard errors to either side: about 95 %."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Hits among chances: matches among pairs, or tuples among seconds.

    Chances need not be independent, as pairs that share a tuple are not: how much epochs differ among
    each other tells by how much hits vary more than those of independent chances would. Where an epoch
    contradicts those before it, only itself counts: data drift, and days are no nights.

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
    variation: float = 0.0
    """The mean square of the logarithm by which an epoch's ratio differs from those before it."""
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

    def of_another(self) -> Interval:
        """Where the ratio of one more epoch will lie."""
        alike = self._of_one_alike()
        if alike.expected <= 0:
            return alike
        up = sqrt(log(alike.high / alike.expected) ** 2 + _CONFIDENCE**2 * self.variation)
        down = up
        if alike.low > 0:
            down = sqrt(log(alike.expected / alike.low) ** 2 + _CONFIDENCE**2 * self.variation)
        low = 0.0 if alike.low <= 0 else alike.expected * exp(-down)
        return Interval(low, alike.expected, alike.expected * exp(up))

    def then(self, newer: Evidence) -> Evidence:
        """With a newer epoch's; the older ones are forgotten if they contradict it."""
        old, new = self._of_one_alike(), newer.interval
        share = max(_SLOWLY, 1.0 / (1.0 + self.epochs))
        changed = log(newer.ratio / self.ratio) ** 2
        variation = (1.0 - share) * self.variation + share * changed
        if old.high < new.low or new.high < old.low:
            return replace(newer, variation=variation)
        kept = self.faded()
        awaited = self.ratio * newer.chances
        varied = (1.0 - share) * self.dispersion + share * (newer.hits - awaited) ** 2 / max(awaited, 0.5)
        return Evidence(
            kept.chances + newer.chances,
            kept.hits + newer.hits,
            max(1.0, varied),
            variation,
            kept.epochs + newer.epochs,
        )

    def faded(self) -> Evidence:
        """What is left of it after another epoch."""
        chances, hits, epochs = (FADING * value for value in (self.chances, self.hits, self.epochs))
        return replace(self, chances=chances, hits=hits, epochs=epochs)

    def _of_one_alike(self) -> Interval:
        """Where the ratio of one more epoch will lie if nothing changes."""
        return self._interval(self.hits / (1.0 + max(1.0, self.epochs)))

    def _interval(self, hits: float) -> Interval:
        expected = self.ratio
        counted = hits / self.dispersion
        low = _quantile(counted, -_CONFIDENCE) / max(counted, 0.5) * expected
        high = _quantile(counted + 1.0, _CONFIDENCE) / max(counted, 0.5) * expected
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
