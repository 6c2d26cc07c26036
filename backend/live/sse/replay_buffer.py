"""The newest frames of a topology: what a listener that comes back has missed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

Order = tuple[int, int]
"""A Redis id that compares (`jobs.protocol.entry_order`)."""
Framed = tuple[Order, bytes]

MOST_BEHIND_EVENTS = 500
"""Events; who missed more fetches a snapshot, which is smaller."""
MOST_BEHIND_BYTES = 4 << 20


class ReplayBuffer:
    """All frames after `start`, oldest first, up to a bound."""

    def __init__(self, start: Order) -> None:
        self.start = start
        self.is_cut = False
        """True once frames were left out: whoever stands before `start` missed too many."""
        self._frames: deque[Framed] = deque()
        self._bytes = 0

    def add(self, order: Order, frame: bytes) -> None:
        self._frames.append((order, frame))
        self._bytes += len(frame)
        while len(self._frames) > MOST_BEHIND_EVENTS or self._bytes > MOST_BEHIND_BYTES:
            self.start, left = self._frames.popleft()
            self._bytes -= len(left)
            self.is_cut = True

    def reach_back(self, start: Order, older: Sequence[Framed]) -> None:
        """Make the buffer complete after an earlier `start`, given the frames in between."""
        self._frames.extendleft(reversed(older))
        self._bytes += sum(len(frame) for _, frame in older)
        self.start = start

    def after(self, order: Order) -> list[bytes]:
        """The frames after an id that is not before `start`."""
        missed: list[bytes] = []
        for at, frame in reversed(self._frames):
            if at <= order:
                break
            missed.append(frame)
        return missed[::-1]

    def room(self) -> tuple[int, int]:
        """How many events and bytes `reach_back` may add to the buffer."""
        return MOST_BEHIND_EVENTS - len(self._frames), MOST_BEHIND_BYTES - self._bytes
