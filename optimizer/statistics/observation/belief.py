"""What to believe where epochs contradict each other: the newest, or all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

from optimizer.statistics.observation.evidence import Evidence

_SLOWLY = 0.2
"""The part of a newer epoch in how far predictions were off."""
_BETTER = 0.8
"""A prediction is believed if it was off by less than this part of what the one before it was."""


@dataclass(frozen=True, slots=True)
class Lasting:
    """What all epochs told, beside what those since the last contradiction did.

    An epoch that contradicts those before it may be the first of a new time, or a night behind a day. Which
    it is, only epochs to come can tell: both predictions are kept, and how far each was off.
    """

    evidence: Evidence
    error: float = 0.0
    recent_error: float = 0.0
    """Mean squares of the logarithms by which predictions were off, newer ones counting more."""

    @property
    def is_better(self) -> bool:
        """True if it foretold epochs clearly better than the newest ones did."""
        return was_better(self.error, self.recent_error)


def was_better(error: float, than: float) -> bool:
    """True if predictions with one error are clearly better than with another."""
    return error < _BETTER * than


def believed(recent: Evidence, lasting: Lasting | None) -> Evidence:
    """The evidence that foretold epochs better; the newer one where neither did."""
    return lasting.evidence if lasting is not None and lasting.is_better else recent


def then(recent: Evidence, lasting: Lasting | None, newer: Evidence) -> tuple[Evidence, Lasting | None]:
    """Both with a newer epoch's counts.

    Of the recent ones only itself is left if it contradicts them.

    >>> day, night = Evidence(100.0, 4000.0), Evidence(100.0, 400.0)
    >>> recent, lasting = day, None
    >>> for epoch in (day, day, night):
    ...     recent, lasting = then(recent, lasting, epoch)
    >>> round(believed(recent, lasting).ratio)
    4
    >>> for epoch in (day, day, night) * 3:
    ...     recent, lasting = then(recent, lasting, epoch)
    >>> 25 < believed(recent, lasting).ratio < 30
    True
    """
    if lasting is not None:
        lasting = Lasting(
            lasting.evidence.then(newer),
            off(lasting.error, lasting.evidence.ratio, newer.ratio),
            off(lasting.recent_error, recent.ratio, newer.ratio),
        )
    if not recent.contradicts(newer):
        return recent.then(newer), lasting
    if lasting is None:
        error = off(0.0, recent.ratio, newer.ratio)
        lasting = Lasting(recent.then(newer), error, error)
    # Epochs vary as they did before.
    return replace(newer, dispersion=max(newer.dispersion, recent.dispersion)), lasting


def off(error: float, told: float, found: float) -> float:
    """A mean square error with one more prediction."""
    return (1.0 - _SLOWLY) * error + _SLOWLY * log(found / told) ** 2
