"""A few places for many accounts: who has used least is next."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from backend.bounded.caller import Caller
from backend.errors import Busy, TooManyAtOnce

_LOOK_SECONDS = 0.1
"""How often somebody who waits looks whether its client is still there."""
_HALF_LIFE_SECONDS = 10.0
"""Work of so long ago counts half, so that yesterday's does not count today."""


class Gone(Exception):
    """The client has gone, so the answer has no reader."""


@dataclass(slots=True)
class _Waiting:
    caller: Caller
    number: int

    @property
    def account(self) -> int | None:
        return self.caller.account


class Turns:
    """Places of one web process that are held for a while.

    Args:
        places: held at once, over all accounts.
        per_account: how much of one account may be held or wait at once; more is refused at once.
        waiting: how much may wait, over all accounts.
        patience_s: how long somebody waits at most.

    One account never holds the last place while there are several, so that nobody waits for the
    end of a single account's work. Among those who wait the account that has held places for the
    shortest time lately is next, and of equal ones who came first: ten accounts that ask all the
    time and one that asks now and then do not wait alike.
    """

    def __init__(self, places: int, per_account: int, waiting: int, patience_s: float) -> None:
        self._places = places
        self._per_account = per_account
        self._most_waiting = waiting
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._held: Counter[int | None] = Counter()
        self._waiting: list[_Waiting] = []
        self._used: dict[int | None, tuple[float, float]] = {}
        """By account: seconds used, and when that was so."""
        self._numbers = itertools.count()

    @contextmanager
    def place(self, caller: Caller) -> Iterator[None]:
        """A place while the block runs.

        Raises:
            TooManyAtOnce: the account holds and waits for as much as one may.
            Busy: too many wait, or the wait was too long.
            Gone: the client went away while it waited.
        """
        self._enter(caller)
        began = time.monotonic()
        try:
            yield
        finally:
            with self._changed:
                now = time.monotonic()
                self._used[caller.account] = (self._usage(caller.account, now) + now - began, now)
                self._release(caller.account)
                self._changed.notify_all()

    @property
    def in_use(self) -> tuple[int, int]:
        """Places that are held, and how many wait."""
        with self._changed:
            return self._held.total(), len(self._waiting)

    def is_contested(self, caller: Caller, seconds: float) -> bool:
        """Whether another account waits that has used less lately.

        `seconds` are what the caller has held its present place for.
        """
        with self._changed:
            now = time.monotonic()
            used = self._usage(caller.account, now) + seconds
            others = (one for one in self._waiting if one.account != caller.account)
            return any(
                not one.caller.gone.is_set() and self._usage(one.account, now) < used for one in others
            )

    def _enter(self, caller: Caller) -> None:
        deadline = time.monotonic() + self._patience_s
        with self._changed:
            # Who has gone leaves at its next look: an editor drops what it asked with every key.
            waiting = (one for one in self._waiting if not one.caller.gone.is_set())
            own = self._held[caller.account] + sum(one.account == caller.account for one in waiting)
            if own >= self._per_account:
                raise TooManyAtOnce(own)
            if len(self._waiting) >= self._most_waiting:
                raise Busy
            mine = _Waiting(caller, next(self._numbers))
            self._waiting.append(mine)
            try:
                while self._next() is not mine:
                    if caller.gone.is_set():
                        raise Gone
                    if time.monotonic() > deadline:
                        raise Busy
                    self._changed.wait(_LOOK_SECONDS)
                if caller.gone.is_set():
                    raise Gone
                self._held[caller.account] += 1
            finally:
                self._waiting.remove(mine)
                self._changed.notify_all()

    def _release(self, account: int | None) -> None:
        self._held[account] -= 1
        if not self._held[account]:
            del self._held[account]
        if len(self._used) > 10_000:
            now = time.monotonic()
            self._used = {one: used for one, used in self._used.items() if self._usage(one, now) > 1e-3}

    def _next(self) -> _Waiting | None:
        """Who of those that wait may take a place now."""
        free = self._places - self._held.total()
        if free <= 0:
            return None
        most = max(1, self._places - 1)
        may = [one for one in self._waiting if self._held[one.account] < most]
        now = time.monotonic()
        return min(may, key=lambda one: (self._usage(one.account, now), one.number), default=None)

    def _usage(self, account: int | None, now: float) -> float:
        used, then = self._used.get(account, (0.0, now))
        return float(used * 0.5 ** ((now - then) / _HALF_LIFE_SECONDS))
