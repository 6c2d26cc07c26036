"""Limits on open event streams, per account and per process."""

from __future__ import annotations

import threading
import time

from django.conf import settings

from backend.errors import TooMany

UNUSED_SECONDS = 10.0
"""A slot whose answer never began, because the client had gone, is given to somebody else."""
_AGAIN_SECONDS = 10


class Slot:
    """The right to one open stream."""

    def __init__(self, slots: Slots, account: int) -> None:
        self._slots = slots
        self.account = account
        self.lapses_at: float | None = time.monotonic() + UNUSED_SECONDS
        """None while its stream is open."""

    def take_up(self) -> bool:
        """The answer begins; false if that took too long."""
        return self._slots._take_up(self)

    def give_back(self) -> None:
        self._slots._give_back(self)


class Slots:
    """Asked from the threads of requests, used in the event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[Slot] = set()

    def __len__(self) -> int:
        return len(self._held)

    def take(self, account: int) -> Slot:
        """A slot that must be taken up soon. Raises `TooMany`."""
        with self._lock:
            now = time.monotonic()
            self._held = {one for one in self._held if one.lapses_at is None or one.lapses_at > now}
            most = int(settings.MILLRACE_LISTENERS_ACCOUNT)
            if sum(one.account == account for one in self._held) >= most:
                raise TooMany(
                    "too-many-listeners",
                    f"this account has {most} live connections open, the most it may; close pages that show "
                    "a running topology",
                    _AGAIN_SECONDS,
                )
            if len(self._held) >= int(settings.MILLRACE_LISTENERS):
                raise TooMany(
                    "listeners-full", "this server has all the live connections that it may", _AGAIN_SECONDS
                )
            slot = Slot(self, account)
            self._held.add(slot)
            return slot

    def _take_up(self, slot: Slot) -> bool:
        with self._lock:
            slot.lapses_at = None
            return slot in self._held

    def _give_back(self, slot: Slot) -> None:
        with self._lock:
            self._held.discard(slot)


SLOTS = Slots()
