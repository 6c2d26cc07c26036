"""Event-time arithmetic that saturates at the ends of 64 bits and never wraps.

Event times are whole microseconds since 1970 in 64 bits. A window may be as long as SQL can say, which is
more than 64 bits hold, and an event time may be near either end. Whatever moves an event time by a window, a
retention or a lateness does so here. A moment beyond an end becomes that end, which changes no comparison
with an event time: `t - w <= s` means the same if t - w, where it is before all times, is the first of them.

>>> earlier(0, 5), earlier(FIRST_US + 1, 5) == FIRST_US
(-5, True)
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import polars as pl

from optimizer.logical.window import Window

FIRST_US, LAST_US = -(2**63), 2**63 - 1
Moments = npt.NDArray[np.int64]
_WHOLE_US = LAST_US - FIRST_US
"""From the first moment to the last one."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_1_US, _YEAR_9999_US = -62_135_596_800_000_000, 253_402_300_799_999_999


def earlier(time_us: int, by_us: int) -> int:
    """The moment `by_us` before another one; `by_us` is not negative.

    >>> earlier(1_000_000, 250_000), earlier(-(2**63), 1) == -(2**63)
    (750000, True)
    """
    return max(FIRST_US, time_us - by_us)


def all_earlier(times_us: Moments, by_us: int) -> Moments:
    """Of each moment, the one `by_us` before it.

    >>> all_earlier(np.array([0, FIRST_US + 1]), 7).tolist() == [-7, FIRST_US]
    True
    """
    by_us = min(by_us, _WHOLE_US)
    moved: Moments = np.maximum(times_us, FIRST_US + by_us)
    for step in _steps(by_us):
        moved = moved - step
    return moved


def all_later(times_us: Moments, by_us: int) -> Moments:
    """Of each moment, the one `by_us` after it."""
    by_us = min(by_us, _WHOLE_US)
    moved: Moments = np.minimum(times_us, LAST_US - by_us)
    for step in _steps(by_us):
        moved = moved + step
    return moved


def earlier_than(time: pl.Expr, by_us: int) -> pl.Expr:
    """`all_earlier` of a column of event times, which has no NULL."""
    by_us = min(by_us, _WHOLE_US)
    moved = pl.max_horizontal(time.to_physical(), pl.lit(FIRST_US + by_us, dtype=pl.Int64))
    for step in _steps(by_us):
        moved = moved - step
    return moved


def later_than(time: pl.Expr, by_us: int) -> pl.Expr:
    """`all_later` of a column of event times, which has no NULL."""
    by_us = min(by_us, _WHOLE_US)
    moved = pl.min_horizontal(time.to_physical(), pl.lit(LAST_US - by_us, dtype=pl.Int64))
    for step in _steps(by_us):
        moved = moved + step
    return moved


def admits(window: Window, newer: pl.Expr, older: pl.Expr) -> pl.Expr:
    """True if `newer` finds `older` in its bounded window; neither is NULL."""
    assert window.reach_us is not None
    return older.to_physical() >= earlier_than(newer, window.reach_us)


def oldest_inside(window: Window, watermark_us: int | None) -> int:
    """The oldest event time that newer tuples than the watermark may find in a window.

    >>> from optimizer.logical.window import UNBOUNDED, Sliding
    >>> oldest_inside(Sliding(60), 100), oldest_inside(UNBOUNDED, 100) == FIRST_US
    (40, True)
    """
    if watermark_us is None or window.reach_us is None:
        return FIRST_US
    return earlier(watermark_us, window.reach_us)


def elapsed(older_us: Moments, newer_us: Moments) -> Moments:
    """How much later the second moments are than the first, as far as 64 bits can say.

    Negative if they are earlier.
    """
    apart: Moments = newer_us - older_us
    wrapped = ((newer_us ^ older_us) & (newer_us ^ apart)) < 0
    if wrapped.any():
        apart[wrapped] = np.where(newer_us < 0, FIRST_US, LAST_US)[wrapped]
    return apart


def moment(time_us: int) -> datetime:
    """A point in time for people, or the nearest one in the years 1 to 9999.

    >>> moment(0).isoformat(), moment(LAST_US).year
    ('1970-01-01T00:00:00+00:00', 9999)
    """
    return _EPOCH + timedelta(microseconds=min(max(time_us, _YEAR_1_US), _YEAR_9999_US))


def _steps(by_us: int) -> tuple[int, ...]:
    """Parts of a distance that 64 bits hold."""
    if by_us <= LAST_US:
        return (by_us,) if by_us else ()
    return (LAST_US, *_steps(by_us - LAST_US))
