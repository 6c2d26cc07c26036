"""All listeners of this process: a channel per topology, and who may stay."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor

import redis.exceptions
from django.db import Error as DatabaseError
from django.db import connections

from backend.live.sse.admission import Admission, no_longer_hold
from backend.live.sse.channel import Channel
from backend.live.sse.frames import RETRY
from backend.live.sse.listener import Listener

log = logging.getLogger(__name__)

CHECK_SECONDS = 0.5
"""Between two looks at whether listeners' sessions, tokens and accounts still hold."""
UNKNOWN_SECONDS = 10.0
"""Without an answer of the database for so long, nobody is known to be allowed to stay."""


class Hub:
    """Of one event loop. Nothing of it is left once the last listener has gone."""

    def __init__(self) -> None:
        self._channels: dict[str, Channel] = {}
        self._guard: asyncio.Task[None] | None = None

    async def frames(self, topology: str, last_id: str | None, admission: Admission) -> AsyncGenerator[bytes]:
        """What a client is sent, from its first word on."""
        listener = Listener(admission)
        channel = self._join(topology, listener)
        try:
            yield RETRY
            await channel.begin(listener, last_id)
            async for frame in listener.frames():
                yield frame
        except (redis.exceptions.RedisError, OSError) as error:
            # The answer ends; the browser comes back with its last id.
            log.warning("a listener to topology %s is sent away: %s", topology, error)
        finally:
            self._leave(topology, listener)

    def _join(self, topology: str, listener: Listener) -> Channel:
        channel = self._channels.get(topology)
        if channel is None:
            channel = self._channels[topology] = Channel(topology)
        channel.listeners.add(listener)
        if self._guard is None:
            self._guard = asyncio.create_task(self._watch(), name="guard of the listeners")
        return channel

    def _leave(self, topology: str, listener: Listener) -> None:
        channel = self._channels[topology]
        channel.listeners.discard(listener)
        if not channel.listeners:
            self._channels.pop(topology).close()
        if not self._channels and self._guard is not None:
            self._guard.cancel()
            self._guard = None

    async def _watch(self) -> None:
        """Ends the streams of those who may not stay, and of those who take nothing."""
        loop = asyncio.get_running_loop()
        # A thread of its own keeps its connection to the database, and waits behind nobody's request.
        with ThreadPoolExecutor(1, thread_name_prefix="guard-of-listeners") as executor:
            try:
                known_at = loop.time()
                while True:
                    await asyncio.sleep(CHECK_SECONDS)
                    listeners = [one for channel in self._channels.values() for one in channel.listeners]
                    admissions = {one.admission for one in listeners}
                    gone = await loop.run_in_executor(executor, _checked, admissions)
                    if gone is not None:
                        known_at = loop.time()
                    elif loop.time() - known_at > UNKNOWN_SECONDS:
                        gone = admissions
                    for one in listeners:
                        if gone and one.admission in gone:
                            one.end()
                        one.tear_down_if_stuck()
            finally:
                executor.submit(connections.close_all)


def _checked(admissions: set[Admission]) -> set[Admission] | None:
    """None if the database does not answer."""
    try:
        return no_longer_hold(admissions)
    except DatabaseError as error:
        log.warning("whether listeners may stay cannot be checked: %s", error)
        connections.close_all()
        return None


_HUBS: dict[asyncio.AbstractEventLoop, Hub] = {}


def hub() -> Hub:
    """The hub of the running event loop: a web process has one, each test its own."""
    for loop in [one for one in _HUBS if one.is_closed()]:
        del _HUBS[loop]
    return _HUBS.setdefault(asyncio.get_running_loop(), Hub())
