"""How many streams of events may be open: of one account, and of all together in this process."""

from __future__ import annotations

import threading
import time

from django.conf import settings

from backend.errors import TooMany

UNUSED_SECONDS = 10.0
"""A place whose answer never began, because the client had gone, is given to somebody else."""
_AGAIN_SECONDS = 10


class Place:
    """The right to one open stream."""

    def __init__(self, places: Places, account: int) -> None:
        self._places = places
        self.account = account
        self.lapses_at: float | None = time.monotonic() + UNUSED_SECONDS
        """None while its stream is open."""

    def take_up(self) -> bool:
        """The answer begins; false if that took too long."""
        return self._places._take_up(self)

    def give_back(self) -> None:
        self._places._give_back(self)


class Places:
    """Asked from the threads of requests, used in the event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[Place] = set()

    def __len__(self) -> int:
        return len(self._held)

    def take(self, account: int) -> Place:
        """A place that must be taken up soon. Raises `TooMany`."""
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
            place = Place(self, account)
            self._held.add(place)
            return place

    def _take_up(self, place: Place) -> bool:
        with self._lock:
            place.lapses_at = None
            return place in self._held

    def _give_back(self, place: Place) -> None:
        with self._lock:
            self._held.discard(place)


PLACES = Places()
