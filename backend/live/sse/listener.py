"""A connection to a topology's events: frames that wait, and when to give it up."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable

from backend.live.sse.admission import Admission, TopologySeen
from backend.live.sse.frames import BEAT, RESET, told_frame
from backend.live.sse.replay_buffer import Order

BEAT_SECONDS = 15.0
"""Of silence, after which a comment is sent: proxies close connections over which nothing comes."""
MOST_WAITING_FRAMES = 2000
"""Frames that may wait for a slow client; then they are dropped, and it fetches a snapshot."""
MOST_WAITING_BYTES = 8 << 20
STALLED_SECONDS = 20.0
"""A client that takes nothing of what waits for so long is gone, or might as well be."""
LEAVING_SECONDS = 2.0
"""After so long a stream that was ended is torn down, if it hangs on what it sends."""


class Listener:
    """Takes frames by `offer`, gives them by `frames`, all in the event loop's thread."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self._after: Order | None = None
        """Offered are frames after this one; None until `begin`."""
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._woken = asyncio.Event()
        self._moved = asyncio.get_running_loop().time()
        """When a frame was taken, or the first one began to wait."""
        self._ended_at: float | None = None
        self._consumer: asyncio.Task[object] | None = asyncio.current_task()

    def begin(self, missed: Iterable[bytes], after: Order) -> None:
        """From now on it is sent what it missed and what is offered after that."""
        self._after = after
        for frame in missed:
            self._put(self._told(frame))

    def offer(self, order: Order, frame: bytes) -> None:
        if self._after is None or self._ended_at is not None or order <= self._after:
            return
        if len(self._waiting) >= MOST_WAITING_FRAMES or self._bytes + len(frame) > MOST_WAITING_BYTES:
            self.reset()
        self._put(self._told(frame))

    def reset(self) -> None:
        """Instead of all that waits: the client shall fetch a snapshot."""
        if self._after is None or self._ended_at is not None:
            return
        since = self._moved if self._waiting else asyncio.get_running_loop().time()
        self._waiting.clear()
        self._bytes = 0
        self._put(RESET)
        self._moved = since

    def end(self) -> None:
        """Nothing more is sent; the answer ends."""
        if self._ended_at is None:
            self._ended_at = asyncio.get_running_loop().time()
            self._waiting.clear()
            self._bytes = 0
            self._woken.set()

    def tear_down_if_stuck(self) -> None:
        """End a stuck client's request: it takes nothing, or keeps an ended stream open."""
        now = asyncio.get_running_loop().time()
        is_expected = bool(self._waiting) or self._after is None
        if is_expected and now - self._moved > STALLED_SECONDS:
            self.end()
        is_late = self._ended_at is not None and now - self._ended_at > LEAVING_SECONDS
        if is_late and self._consumer is not None:
            self._consumer.cancel()

    async def frames(self) -> AsyncIterator[bytes]:
        """What is to be sent, one frame at a time, until the stream is ended."""
        loop = asyncio.get_running_loop()
        while self._ended_at is None:
            self._consumer = asyncio.current_task()
            if self._waiting:
                frame = self._waiting.popleft()
                self._bytes -= len(frame)
                self._moved = loop.time()
                yield frame
                continue
            self._woken.clear()
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                yield BEAT

    def _told(self, frame: bytes) -> bytes:
        """The frame as this listener may be told it."""
        seen = self.admission.seen
        return told_frame(frame, seen.sight) if isinstance(seen, TopologySeen) else frame

    def _put(self, frame: bytes) -> None:
        if not self._waiting:
            self._moved = asyncio.get_running_loop().time()
        self._waiting.append(frame)
        self._bytes += len(frame)
        self._woken.set()
