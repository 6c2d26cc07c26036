"""A response of server-sent events, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing

from asgiref.sync import SyncToAsync, sync_to_async
from django.db import close_old_connections
from django.http import StreamingHttpResponse
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from backend.live.sse.connection_limits import Slot


class JSONToAll(BaseContentNegotiation):
    """A refusal is JSON, although the client asked for events."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


def event_stream(slot: Slot, frames: AsyncGenerator[bytes]) -> StreamingHttpResponse:
    """A response that sends the frames, as long as its slot lasts."""
    return StreamingHttpResponse(
        _Answer(slot, frames),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"},
    )


class _Answer:
    """The frames of one response.

    Django calls `close` in the end, also if it never asked for a frame.
    """

    def __init__(self, slot: Slot, frames: AsyncGenerator[bytes]) -> None:
        self._slot = slot
        self._loop: asyncio.AbstractEventLoop | None = None
        self._frames = self._stream(frames)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._frames

    def close(self) -> None:
        """Close the response, from any thread.

        Only so a generator ends that was left where it waits for its client.
        """
        self._slot.give_back()
        if self._loop is not None and not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._frames.aclose(), self._loop)

    async def _stream(self, sent: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        if not self._slot.take_up():
            return
        try:
            self._loop = asyncio.get_running_loop()
            await _release_thread()
            async with aclosing(sent) as frames:
                async for frame in frames:
                    yield frame
        finally:
            self._slot.give_back()


async def _release_thread() -> None:
    """Close what middleware may have opened since, and end the thread.

    Django keeps it for this request.
    """
    await sync_to_async(close_old_connections)()
    context = SyncToAsync.thread_sensitive_context.get(None)
    executor = SyncToAsync.context_to_thread_executor.pop(context, None) if context is not None else None
    if executor is not None:
        executor.shutdown(wait=False)
