"""Results that many may ask for and one at a time computes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")
STALE_SECONDS = 10.0
"""What is older is not given to those who come while it is computed anew."""


class SingleFlight(Generic[T]):
    """The result of a function, at most so many seconds old.

    While one thread computes it anew the others take the one before, if there is one: however many ask, the
    work is one thread's. Results for another `about` (where to ask) are never taken.
    """

    def __init__(self, compute: Callable[[], T], seconds: float, about: Callable[[], Hashable]) -> None:
        self._compute, self._seconds, self._about = compute, seconds, about
        self._computing = threading.Lock()
        self._found: tuple[Hashable, float, T] | None = None

    def get(self) -> T:
        about = self._about()
        found = self._found
        age = monotonic() - found[1] if found is not None and found[0] == about else None
        if found is not None and age is not None and age < self._seconds:
            return found[2]
        recent = age is not None and age < STALE_SECONDS
        if not self._computing.acquire(blocking=not recent):
            assert found is not None  # it is recent enough, so this thread did not wait
            return found[2]
        try:
            # Somebody else may have computed it while this thread waited.
            newer = self._found
            if newer is not None and newer is not found and newer[0] == about:
                return newer[2]
            result = self._compute()
            self._found = (about, monotonic(), result)
            return result
        finally:
            self._computing.release()
