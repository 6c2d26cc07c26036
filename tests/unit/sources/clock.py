"""Time that passes when a test has it pass."""

from __future__ import annotations


class Clock:
    """In the place of the module `time`, for what looks at it and waits.

    >>> clock = Clock()
    >>> clock.sleep(1.5)
    >>> clock.monotonic()
    1001.5
    """

    def __init__(self) -> None:
        self._now_s = 1000.0

    def monotonic(self) -> float:
        return self._now_s

    def sleep(self, seconds: float) -> None:
        self._now_s += seconds
