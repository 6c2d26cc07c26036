"""Pages that listen: real connections to a topology's events, from one process, as browsers hold them.

A listener begins without an id, is told where it stands, and comes back with its last id when its
connection breaks. What one of them heard and another one did not, although it was there, is lost.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

AGAIN_S = 2.0
"""What the server tells browsers about when to come back."""
_UNDER_WAY_S = 2.0
"""The newest events may not have reached everybody when listening ends."""


@dataclass(frozen=True, slots=True)
class Report:
    listeners: int
    connected_s: float
    """Until the last of them had its answer's first byte."""
    events: int
    """Different ones."""
    received: int
    lost: int
    resets: int
    """Beyond the one with which a listener begins."""
    reconnects: int
    refused: Mapping[int, int]
    """Answers other than 200, by status."""
    latency_ms: Mapping[str, float]
    """From Redis' clock when the event was written to the last byte here; empty without events."""


class Listener:
    """One page. `heard` maps an event's id to when it came, in milliseconds since 1970."""

    def __init__(self, url: str, topology: str, headers: Mapping[str, str]) -> None:
        self._url, self._topology, self._headers = urlsplit(url), topology, headers
        self.last_id: str | None = None
        self.began_at: str | None = None
        """The id after which it heard everything."""
        self.heard: dict[str, float] = {}
        self.connected_at: float | None = None
        self.resets = self.connections = 0
        self.refused: dict[int, int] = {}
        self.writer: asyncio.StreamWriter | None = None

    async def listen(self) -> None:
        """Until it is cancelled."""
        while True:
            wait = await self._connect()
            await asyncio.sleep(wait)

    async def _connect(self) -> float:
        """One connection, to its end; returns after how many seconds to come back."""
        try:
            reader, self.writer = await asyncio.open_connection(self._url.hostname, self._url.port)
        except OSError:
            return AGAIN_S
        try:
            self.writer.write(self._request())
            status, answer = await _head(reader)
            if status != 200:
                self.refused[status] = self.refused.get(status, 0) + 1
                return float(answer.get("retry-after", AGAIN_S))
            self.connections += 1
            async for frame in _frames(reader):
                self.connected_at = self.connected_at or time.monotonic()
                self._take(frame)
        except (OSError, asyncio.IncompleteReadError):
            pass  # Broken off: it comes back with its last id.
        finally:
            self.writer.close()
        return AGAIN_S

    def _request(self) -> bytes:
        lines = [f"GET /api/topologies/{self._topology}/events/ HTTP/1.1", f"Host: {self._url.netloc}"]
        lines += ["Accept: text/event-stream", *(f"{name}: {text}" for name, text in self._headers.items())]
        if self.last_id is not None:
            lines.append(f"Last-Event-ID: {self.last_id}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def _take(self, frame: bytes) -> None:
        now = time.time() * 1000
        fields = dict(line.split(b": ", 1) for line in frame.split(b"\n") if b": " in line)
        if b"id" in fields:
            self.last_id = fields[b"id"].decode()
            self.began_at = self.began_at or self.last_id
        event = fields.get(b"event")
        if event == b"reset":
            self.resets += 1
        elif event is not None and self.last_id is not None:
            if self.last_id in self.heard:
                raise AssertionError(f"event {self.last_id} came twice")
            self.heard[self.last_id] = now


async def listen(url: str, topology: str, headers: Sequence[Mapping[str, str]], seconds: float) -> Report:
    """Listens with one connection for each of the headers (`Cookie` or `Authorization`) for so long.

    Raises what a listener raised: an event that came twice.
    """
    listeners = [Listener(url, topology, one) for one in headers]
    began = time.monotonic()
    tasks = [asyncio.create_task(one.listen()) for one in listeners]
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
    return report(listeners, began)


def report(listeners: Sequence[Listener], began: float) -> Report:
    """What listeners heard together, `began` by the monotonic clock."""
    written = {entry: _milliseconds(entry) for one in listeners for entry in one.heard}
    last = max(written.values(), default=0.0) - _UNDER_WAY_S * 1000
    settled = {entry for entry, at in written.items() if at <= last}
    lost = 0
    for one in listeners:
        if one.began_at is not None:
            begin = _order(one.began_at)
            lost += sum(entry not in one.heard and _order(entry) > begin for entry in settled)
    waits = sorted(at - written[entry] for one in listeners for entry, at in one.heard.items())
    connected = [one.connected_at for one in listeners if one.connected_at is not None]
    refused: dict[int, int] = {}
    for one in listeners:
        for status, times in one.refused.items():
            refused[status] = refused.get(status, 0) + times
    return Report(
        listeners=len(listeners),
        connected_s=round(max(connected, default=began) - began, 3),
        events=len(written),
        received=len(waits),
        lost=lost,
        resets=sum(max(0, one.resets - 1) for one in listeners),
        reconnects=sum(max(0, one.connections - 1) for one in listeners),
        refused=refused,
        latency_ms=_quantiles(waits),
    )


def _quantiles(waits: Sequence[float]) -> dict[str, float]:
    if len(waits) < 2:
        return {}
    cuts = statistics.quantiles(waits, n=100, method="inclusive")
    found = {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "max": waits[-1]}
    return {name: round(value, 1) for name, value in found.items()}


def _order(entry: str) -> tuple[int, int]:
    milliseconds, _, sequence = entry.partition("-")
    return int(milliseconds), int(sequence)


def _milliseconds(entry: str) -> float:
    return float(_order(entry)[0])


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """The status, and the headers by their lower-case names."""
    status = int((await reader.readuntil(b"\r\n")).split()[1])
    headers: dict[str, str] = {}
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return status, headers


async def _frames(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """What lies between empty lines in a chunked body."""
    left = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        left += (await reader.readexactly(size + 2))[:-2]
        *frames, left = left.split(b"\n\n")
        for frame in frames:
            yield frame
