"""One topology's events, read from Redis once for all listeners of this process."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

import redis.exceptions
from redis.typing import KeyT, StreamIdT

from backend.live.sse.backlog import are_lost, between, newest
from backend.live.sse.frames import RESET, event_frame, place_frame
from backend.live.sse.listener import Listener
from backend.live.sse.replay_buffer import ReplayBuffer
from backend.redis import Entry, async_connection
from jobs.protocol import entry_order, events_key

log = logging.getLogger(__name__)

PAGE_ENTRIES = 500
BLOCK_MS = 15_000
"""Of one XREAD."""
PATIENCE_SECONDS = 15.0
"""With Redis, until it counts as out of reach."""
AGAIN_SECONDS = 1.0
"""Until Redis is tried again after it did not answer."""


class Channel:
    """A task with the one connection to Redis that blocks, while there is a listener."""

    def __init__(self, topology: str) -> None:
        self.listeners: set[Listener] = set()
        self._topology = topology
        self._key = events_key(topology)
        self._position: str | None = None
        """Everything up to here was offered; None until Redis said what its newest event is."""
        self._opened = asyncio.Event()
        self._recent = ReplayBuffer((0, 0))
        self._reaching_back = asyncio.Lock()
        self._reader = asyncio.create_task(self._read(), name=f"events of {topology}")

    def close(self) -> None:
        """The task ends, and its connection with it."""
        self._reader.cancel()

    async def begin(self, listener: Listener, last_id: str | None) -> None:
        """Send the listener what came after `last_id` (a reset if lost), then everything.

        Raises redis' errors, and `TimeoutError` when Redis does not answer.
        """
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._opened.wait()
        missed = None
        if last_id is not None:
            async with asyncio.timeout(PATIENCE_SECONDS):
                missed = await self._missed(last_id)
        # No await from here on: nothing can happen between what was missed and what follows.
        assert self._position is not None
        if last_id is None or missed is None:
            listener.begin([RESET, place_frame(self._position)], entry_order(self._position))
        else:
            # It may be ahead: its snapshot was made of an event that has yet to arrive here.
            listener.begin(missed, max(entry_order(last_id), entry_order(self._position)))

    async def _missed(self, last_id: str) -> list[bytes] | None:
        """Every frame after an id that was offered already; None if too many or some lost."""
        order = entry_order(last_id)
        async with self._reaching_back:
            recent, position = self._recent, self._position
            assert position is not None
            if recent.start <= order <= entry_order(position):
                return recent.after(order)
            if order < recent.start and recent.is_cut:
                return None
            async with async_connection() as client:
                if await are_lost(client, self._key, last_id):
                    return None
                if order < recent.start:
                    until = f"{recent.start[0]}-{recent.start[1]}"
                    older = await between(client, self._key, last_id, until, recent.room())
                    if older is None or recent is not self._recent or recent.is_cut:
                        return None
                    recent.reach_back(order, older)
            return recent.after(order) if recent is self._recent else None

    async def _read(self) -> None:
        reachable = True
        while True:
            try:
                async with async_connection() as client:
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await self._find_position(client)
                    reachable = True
                    while True:
                        for entry, fields in await self._next(client):
                            self._publish(entry, fields.get("message", ""))
                            # A large event takes milliseconds: others have their turn in between.
                            await asyncio.sleep(0)
            except (redis.exceptions.RedisError, OSError) as error:
                # Listeners stay: they hear again, or a reset, when Redis is back.
                if reachable:
                    log.warning("events of topology %s cannot be read: %s", self._topology, error)
                reachable = False
                await asyncio.sleep(AGAIN_SECONDS)

    async def _next(self, client: redis.asyncio.Redis) -> list[Entry]:
        """What comes behind the position within a while; nothing if nothing comes."""
        assert self._position is not None
        after: dict[KeyT, StreamIdT] = {self._key: self._position}
        async with asyncio.timeout(BLOCK_MS / 1000 + PATIENCE_SECONDS):
            reply = await client.xread(after, count=PAGE_ENTRIES, block=BLOCK_MS)
        return cast(list[tuple[str, list[Entry]]], reply)[0][1] if reply else []

    async def _find_position(self, client: redis.asyncio.Redis) -> None:
        """Begin with the present, or go on after an interruption that lost nothing."""
        if self._position is not None and not await are_lost(client, self._key, self._position):
            return
        self._position = await newest(client, self._key)
        self._recent = ReplayBuffer(entry_order(self._position))
        for listener in self.listeners:
            listener.reset()
        self._opened.set()

    def _publish(self, entry: str, message: str) -> None:
        order, frame = entry_order(entry), event_frame(entry, message)
        self._position = entry
        if frame is None:
            return
        self._recent.add(order, frame)
        for listener in self.listeners:
            listener.offer(order, frame)
