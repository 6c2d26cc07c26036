"""Server-sent events: a topology's event stream, from where the client stopped.

The view runs in the request's thread and decides who is let in; what follows is a coroutine of the
event loop without thread, database or Redis connection of its own (`backend.live.sse.hub`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing

from asgiref.sync import SyncToAsync, sync_to_async
from django.db import close_old_connections
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.requests import AccountRequest
from backend.live.sse.admission import Admission, admission_of
from backend.live.sse.connection_limits import SLOTS, Slot
from backend.live.sse.hub import hub
from backend.redis import connection
from backend.topologies.models import Topology
from jobs.protocol import entry_order


class _JSONToAll(BaseContentNegotiation):
    """A refusal is JSON, although the client asked for events."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


@extend_schema(exclude=True)
class Events(APIView):
    """Events after `Last-Event-ID` (or `?last_event_id=`), then each as it happens."""

    content_negotiation_class = _JSONToAll

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        finally:
            # The request lasts as long as its stream, which needs no database.
            close_old_connections()

    def check_permissions(self, request: Request) -> None:
        """Strangers are refused, but not as often as they like."""
        super().check_throttles(request)
        super().check_permissions(request)

    def check_throttles(self, request: Request) -> None:
        """Counted already."""

    def get(self, request: AccountRequest, name: str) -> StreamingHttpResponse:
        last_id, slot = self._let_in(request, name)
        return StreamingHttpResponse(
            _Answer(slot, name, last_id, admission_of(request)),
            content_type="text/event-stream",
            headers={"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"},
        )

    def head(self, request: AccountRequest, name: str) -> Response:
        """Say whether a stream would be let in.

        `EventSource` does not tell a page why it was refused.
        """
        self._let_in(request, name)[1].give_back()
        return Response()

    def _let_in(self, request: AccountRequest, name: str) -> tuple[str | None, Slot]:
        get_object_or_404(Topology, name=name)
        last_id = request.headers.get("Last-Event-ID") or request.GET.get("last_event_id") or None
        try:
            if last_id is not None:
                entry_order(last_id)
        except ValueError as error:
            raise ValidationError({"last_event_id": [str(error)]}) from error
        # Asked before the answer begins, so that an unreachable Redis is a status and not a broken stream.
        connection().ping()
        return last_id, SLOTS.take(request.user.pk)


class _Answer:
    """The frames of one response.

    Django calls `close` in the end, also if it never asked for a frame.
    """

    def __init__(self, slot: Slot, name: str, last_id: str | None, admission: Admission) -> None:
        self._slot = slot
        self._loop: asyncio.AbstractEventLoop | None = None
        self._frames = self._stream(name, last_id, admission)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._frames

    def close(self) -> None:
        """Close the response, from any thread.

        Only so a generator ends that was left where it waits for its client.
        """
        self._slot.give_back()
        if self._loop is not None and not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._frames.aclose(), self._loop)

    async def _stream(self, name: str, last_id: str | None, admission: Admission) -> AsyncGenerator[bytes]:
        if not self._slot.take_up():
            return
        try:
            self._loop = asyncio.get_running_loop()
            await _release_thread()
            async with aclosing(hub().frames(name, last_id, admission)) as frames:
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
