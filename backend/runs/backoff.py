"""Back-off: how long a failed topology waits before its next launch.

The wait follows from failures in a row.
"""

from __future__ import annotations

from datetime import timedelta

LONGEST = timedelta(minutes=1)


def delay(failures: int) -> timedelta:
    """The delay after a failure: one second, doubled each time, at most a minute.

    >>> [delay(n).total_seconds() for n in (1, 2, 3, 20)]
    [1.0, 2.0, 4.0, 60.0]
    """
    # Beyond ten failures the power is far above the limit; unbounded it would overflow.
    return min(LONGEST, timedelta(seconds=2 ** min(failures - 1, 10)))
