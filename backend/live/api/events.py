"""Server-sent events: a topology's event stream, from where the client stopped.

The view runs in the request's thread and decides who is let in; what follows is a coroutine of the
event loop without thread, database or Redis connection of its own (`backend.live.sse.hub`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from django.db import close_old_connections
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.live.sse.admission import Admission, TopologySeen, admission_of
from backend.live.sse.answer import JSONToAll, event_stream
from backend.live.sse.connection_limits import SLOTS, Slot
from backend.live.sse.hub import hub
from backend.redis import connection
from backend.topologies.queries import topologies
from backend.topologies.sight import Sight, sight_of
from jobs.protocol import entry_order


@extend_schema(exclude=True)
class Events(APIView):
    """Events after `Last-Event-ID` (or `?last_event_id=`), then each as it happens."""

    content_negotiation_class = JSONToAll
    reads = Reads.TOPOLOGY

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
        last_id, slot, sight = self._let_in(request, name)
        admission = admission_of(request, TopologySeen(name, sight))
        return event_stream(slot, _frames(name, last_id, admission))

    def head(self, request: AccountRequest, name: str) -> Response:
        """Say whether a stream would be let in.

        `EventSource` does not tell a page why it was refused.
        """
        self._let_in(request, name)[1].give_back()
        return Response()

    def _let_in(self, request: AccountRequest, name: str) -> tuple[str | None, Slot, Sight]:
        topology = get_object_or_404(topologies(request.user), name=name)
        last_id = request.headers.get("Last-Event-ID") or request.GET.get("last_event_id") or None
        try:
            if last_id is not None:
                entry_order(last_id)
        except ValueError as error:
            raise ValidationError({"last_event_id": [str(error)]}) from error
        # Asked before the answer begins, so that an unreachable Redis is a status and not a broken stream.
        connection().ping()
        return last_id, SLOTS.take(request.user.pk), sight_of(request.user, topology)


async def _frames(name: str, last_id: str | None, admission: Admission) -> AsyncGenerator[bytes]:
    """What the hub of the event loop sends: the request's thread has no loop."""
    async with aclosing(hub().frames(name, last_id, admission)) as frames:
        async for frame in frames:
            yield frame
