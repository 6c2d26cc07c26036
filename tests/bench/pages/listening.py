"""Pages that listen: 200 connections to the live endpoint, each of which must hear every event.

Large events (a batch of 300 stores) and small ones (a heartbeat) go out in turns. Half-way every second
page loses its connection and comes back with the last id that it heard, as browsers do.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import psutil

from jobs.protocol import events_key
from tests.bench.pages.site import NAME, Site

EVENTS = 10
"""Of each size."""
APART_S = 1.0
PATIENCE_S = 120.0
_LINE_BYTES = 1 << 23


class Listener:
    """One page's connection, and when it heard what."""

    def __init__(self, site: Site, last_id: str) -> None:
        self._site, self.last_id = site, last_id
        self.heard: dict[str, float] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Returns once the answer has begun. Raises `RuntimeError` for any answer but 200."""
        parts = urlsplit(self._site.url)
        reader, self._writer = await asyncio.open_connection(parts.hostname, parts.port, limit=_LINE_BYTES)
        cookie = "; ".join(f"{name}={value}" for name, value in self._site.cookies.items())
        head = f"GET /api/topologies/{NAME}/events/ HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        head += f"Accept: text/event-stream\r\nLast-Event-ID: {self.last_id}\r\nCookie: {cookie}\r\n\r\n"
        self._writer.write(head.encode())
        status = await reader.readline()
        if b"200" not in status:
            raise RuntimeError(f"the live endpoint answered {status.decode().strip()}")
        while not (await reader.readline()).startswith(b"retry:"):
            pass
        self._reading = asyncio.create_task(self._read(reader))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        current = ""
        while line := await reader.readline():
            if line.startswith(b"id: "):
                current = line[4:].decode().strip()
            elif line.startswith(b"data: "):
                if current in self.heard:
                    raise RuntimeError(f"event {current} came twice")
                self.heard[current] = time.monotonic()
                self.last_id = current

    async def close(self) -> None:
        assert self._writer is not None
        assert self._reading is not None
        if self._reading.done():
            self._reading.result()
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading
        self._writer.close()


def measure(site: Site, pages: int) -> dict[str, object]:
    """Connects so many pages, sends events, and says when each page had each of them."""
    return asyncio.run(_measure(site, pages))


async def _measure(site: Site, pages: int) -> dict[str, object]:
    web = psutil.Process(site.web.pid)
    before_bytes = web.memory_info().rss
    newest: str = site.events.xrevrange(events_key(NAME), count=1)[0][0]
    listeners = [Listener(site, newest) for _ in range(pages)]
    began = time.monotonic()
    await asyncio.wait_for(asyncio.gather(*(one.connect() for one in listeners)), PATIENCE_S)
    connected_s = time.monotonic() - began
    connected_bytes = web.memory_info().rss
    used = web.cpu_times()
    first = await _send(site, range(EVENTS // 2))
    for one in listeners[::2]:
        await one.close()
    away = await _send(site, range(EVENTS, EVENTS + 1))
    await asyncio.wait_for(asyncio.gather(*(one.connect() for one in listeners[::2])), PATIENCE_S)
    second = await _send(site, range(EVENTS // 2, EVENTS))
    sent = {id_ for part in (first, away, second) for id_ in (*part.large, *part.small)}
    deadline = time.monotonic() + PATIENCE_S
    while any(len(one.heard) < len(sent) for one in listeners) and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    now = web.cpu_times()
    listening_bytes = web.memory_info().rss
    for one in listeners:
        await one.close()
    return {
        "pages": pages,
        "connected_s": round(connected_s, 2),
        "sent": len(sent),
        "lost": sum(len(sent - one.heard.keys()) for one in listeners),
        "large_delay_ms": _delays(listeners, first.large | second.large),
        "small_delay_ms": _delays(listeners, first.small | second.small),
        "web_cpu_s": round(now.user + now.system - used.user - used.system, 2),
        "web_kb_per_page_connected": round((connected_bytes - before_bytes) / pages / 1e3, 1),
        "web_kb_per_page_listening": round((listening_bytes - before_bytes) / pages / 1e3, 1),
    }


@dataclass(frozen=True, slots=True)
class Sent:
    """Events by their id, with the moment at which each was sent."""

    large: dict[str, float] = field(default_factory=dict)
    small: dict[str, float] = field(default_factory=dict)


async def _send(site: Site, batches: range) -> Sent:
    """A large event and a small one for each batch."""
    sent = Sent()
    for batch in batches:
        for kind, message in ((sent.large, site.batch(batch)), (sent.small, site.heartbeat(batch))):
            moment = time.monotonic()
            kind[await asyncio.to_thread(site.send, message)] = moment
            await asyncio.sleep(APART_S / 2)
    return sent


def _delays(listeners: Sequence[Listener], sent: dict[str, float]) -> dict[str, float]:
    waits = [
        (one.heard[id_] - moment) * 1000
        for id_, moment in sent.items()
        for one in listeners
        if id_ in one.heard
    ]
    return {
        "p50": round(statistics.median(waits), 1),
        "p99": round(statistics.quantiles(waits, n=100)[98], 1),
        "max": round(max(waits), 1),
    }
