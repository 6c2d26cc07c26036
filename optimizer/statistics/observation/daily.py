"""The rate of a stream, which may have days and nights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

from optimizer.statistics.interval import Interval
from optimizer.statistics.observation.belief import Lasting, believed, off, then, was_better
from optimizer.statistics.observation.evidence import Evidence

_HOUR_US = 3_600_000_000
_HOURS = 24
_UNKNOWN = log(1.5) ** 2
"""Rates are taken to vary by half from epoch to epoch until it is known by how much they do."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Tuples among seconds of event time, over epochs and by the hour of the day.

    `mean` is what plans are made for: a plan lasts for longer than an epoch. `next` is what the coming epoch
    is expected to have, for which two predictions compete: what epochs had until now, and what the same hours
    had before. Of both it is known how far they were off.

    >>> rate = Rate.of_epoch(8 * 3600.0, 80, until_us=8 * 3_600_000_000)
    >>> for until_h, tuples in ((16, 8000), (24, 8000), (32, 80), (40, 8000), (48, 8000), (56, 80)):
    ...     rate = rate.then(Rate.of_epoch(8 * 3600.0, tuples, until_us=until_h * 3_600_000_000))
    >>> round(rate.next.expected * 3600), 500 < rate.mean.expected * 3600 < 700
    (1000, True)
    """

    recent: Evidence
    hours: tuple[Evidence | None, ...] = (None,) * _HOURS
    """By the hour of the day in UTC; None where nothing was seen."""
    until_us: int | None = None
    """Event time at the end of the newest epoch; None if it is not known, and then there are no hours."""
    seconds: float = 0.0
    """Length of the newest epoch."""
    recent_error: float = 0.0
    daily_error: float = 0.0
    """Mean squares of the logarithms by which predictions were off, newer ones counting more."""
    lasting: Lasting | None = None
    """Over all epochs, once some contradicted each other."""

    @staticmethod
    def of_epoch(seconds: float, tuples: int, until_us: int | None) -> Rate:
        """One epoch's, whose tuples count as evenly spread over it."""
        hours: list[Evidence | None] = [None] * _HOURS
        if until_us is not None:
            for hour, part in _parts(until_us - round(seconds * 1e6), seconds).items():
                hours[hour] = Evidence(part, tuples * part / seconds)
        return Rate(Evidence(seconds, tuples), tuple(hours), until_us, seconds)

    @property
    def believed(self) -> Evidence:
        """Of the newest epochs or of all, whichever foretold epochs better."""
        return believed(self.recent, self.lasting)

    @property
    def mean(self) -> Interval:
        """What epochs have on average, whichever hours they are of."""
        return _nothing_is_nothing(self.believed, self.believed.interval)

    @property
    def of_another(self) -> Interval:
        """What any one more epoch may have.

        After a contradiction it may be one of before it, too.
        """
        told = [_of_another(self.believed)]
        if self.lasting is not None:
            told += [_of_another(self.recent), _of_another(self.lasting.evidence)]
        return Interval(min(one.low for one in told), told[0].expected, max(one.high for one in told))

    @property
    def next(self) -> Interval:
        """What an epoch as long as the newest one will have, beginning where that ended."""
        told = self.of_another
        daily = None if self.until_us is None else self._of_the_hours(self.until_us, self.seconds)
        if daily is None or not was_better(self.daily_error, self.recent_error):
            return told
        return Interval(min(told.low, daily), daily, max(told.high, daily))

    def then(self, newer: Rate) -> Rate:
        """With a newer epoch's."""
        recent_error, daily_error = self.recent_error, self.daily_error
        if newer.until_us is not None:
            daily = self._of_the_hours(newer.until_us - round(newer.seconds * 1e6), newer.seconds)
            if daily is not None:
                now = newer.recent.ratio
                recent_error = off(recent_error, self.believed.ratio, now)
                daily_error = off(daily_error, daily, now)
        recent, lasting = then(self.recent, self.lasting, newer.recent)
        return Rate(
            recent,
            tuple(
                old if new is None else new if old is None else old.then(new)
                for old, new in zip(self.hours, newer.hours, strict=True)
            ),
            newer.until_us,
            newer.seconds,
            recent_error,
            daily_error,
            lasting,
        )

    def _of_the_hours(self, start_us: int, seconds: float) -> float | None:
        """The mean rate of those hours; None unless all of them were seen."""
        total = 0.0
        for hour, part in _parts(start_us, seconds).items():
            known = self.hours[hour]
            if known is None:
                return None
            total += known.ratio * part
        return total / seconds if seconds > 0 else None


def _nothing_is_nothing(told: Evidence, found: Interval) -> Interval:
    """Where nothing came: that is no half a tuple."""
    return found if told.hits else Interval(0.0, 0.0, found.high)


def _of_another(told: Evidence) -> Interval:
    unknown = _UNKNOWN * told.hits / max(1.0, told.epochs) ** 2
    return _nothing_is_nothing(told, replace(told, dispersion=told.dispersion + unknown).of_another)


def _parts(start_us: int, seconds: float) -> dict[int, float]:
    """Seconds in each hour of the day."""
    found: dict[int, float] = {}
    at, end = start_us, start_us + round(seconds * 1e6)
    while at < end:
        until = min(end, (at // _HOUR_US + 1) * _HOUR_US)
        hour = at // _HOUR_US % _HOURS
        found[hour] = found.get(hour, 0.0) + (until - at) / 1e6
        at = until
    return found
