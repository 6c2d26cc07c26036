"""Read a bounded backlog of events: which are there, which lost, which the newest."""

from __future__ import annotations

import asyncio

import redis.asyncio

from backend.live.queries import START
from backend.live.sse.frames import event_frame
from backend.live.sse.replay_buffer import Framed
from backend.redis import read_entries
from jobs.protocol import entry_order

_PAGE_ENTRIES = 100


async def newest(client: redis.asyncio.Redis, key: str) -> str:
    """The id of the newest event; 0-0 if there is none."""
    found = read_entries(await client.xrevrange(key, count=1))
    return found[0][0] if found else START


async def are_lost(client: redis.asyncio.Redis, key: str, last_id: str) -> bool:
    """True if events after `last_id` may be gone: trimmed, or Redis came back empty."""
    if last_id == START:
        return False
    if await client.xrange(key, min=last_id, max=last_id):
        return False
    first = read_entries(await client.xrange(key, count=1))
    if not first or entry_order(first[0][0]) > entry_order(last_id):
        return True
    return entry_order(last_id) > entry_order(await newest(client, key))


async def between(
    client: redis.asyncio.Redis, key: str, after: str, until: str, room: tuple[int, int]
) -> list[Framed] | None:
    """The frames after an id, up to another one; None if there is no room for as many.

    Args:
        room: events, and bytes of them.
    """
    most, most_bytes = room
    found: list[tuple[str, str]] = []
    last = after
    while True:
        page = read_entries(await client.xrange(key, min=f"({last}", max=until, count=_PAGE_ENTRIES))
        found += [(entry, fields.get("message", "")) for entry, fields in page]
        if len(found) > most or sum(len(message) for _, message in found) > most_bytes:
            # Nothing was decoded yet: to ask for too much costs little.
            return None
        if len(page) < _PAGE_ENTRIES:
            break
        last = page[-1][0]
    framed: list[Framed] = []
    for entry, message in found:
        frame = event_frame(entry, message)
        if frame is not None:
            framed.append((entry_order(entry), frame))
        await asyncio.sleep(0)
    return framed
