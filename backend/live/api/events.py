"""Server-sent events: a topology's event stream, from where the client stopped.

https://html.spec.whatwg.org/multipage/server-sent-events.html. One coroutine and one Redis
connection per client; no thread waits.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any

import redis.asyncio
import redis.exceptions
from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from rest_framework.exceptions import AuthenticationFailed

from backend.bus import async_connection, entry_order
from backend.errors import MillraceError
from backend.live.queries import START, parse_event
from backend.tokens.authentication import token_of
from backend.topologies.models import Topology
from jobs.protocol import events_key

BEAT_SECONDS = 15.0
"""A comment goes out after this much silence, so that proxies keep the connection."""
PAGE = 500


async def events(request: HttpRequest, name: str) -> HttpResponseBase:
    """Events after `Last-Event-ID` (or `?last_event_id=`), then each as it happens."""
    if not await _may_read(request):
        return JsonResponse({"detail": "Authentication credentials were not provided."}, status=403)
    if request.method != "GET":
        return HttpResponse(status=405, headers={"Allow": "GET"})
    if not await Topology.objects.filter(name=name).aexists():
        return JsonResponse({"detail": "No Topology matches the given query."}, status=404)
    last_id = request.headers.get("Last-Event-ID") or request.GET.get("last_event_id") or START
    try:
        entry_order(last_id)
        client = async_connection()
        # Asked before the answer begins, so that an unreachable Redis is a status and not a broken stream.
        await client.ping()
        lost = await _lost(client, events_key(name), last_id)
    except ValueError as error:
        return JsonResponse({"last_event_id": [str(error)]}, status=400)
    except MillraceError as error:
        return JsonResponse({"code": error.code, "detail": str(error)}, status=error.status)
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
        await client.aclose()
        return JsonResponse(
            {"code": "redis-unavailable", "detail": "Redis does not answer; try again"}, status=503
        )
    return StreamingHttpResponse(
        _stream(client, name, last_id, lost),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"},
    )


async def _may_read(request: HttpRequest) -> bool:
    """True in a session, and for a token that is not a stream's."""
    account = await request.auser()
    if account.is_authenticated:
        return True
    try:
        token = await sync_to_async(token_of)(request)
    except AuthenticationFailed:
        return False
    return token is not None and token.stream_id is None


async def _lost(client: redis.asyncio.Redis, key: str, last_id: str) -> bool:
    """True if events after `last_id` may be gone: trimmed, or Redis came back empty."""
    if last_id == START:
        return False
    if await client.xrange(key, min=last_id, max=last_id):
        return False
    first: list[Any] = await client.xrange(key, count=1)
    if not first or entry_order(first[0][0]) > entry_order(last_id):
        return True
    last: list[Any] = await client.xrevrange(key, count=1)
    return entry_order(last_id) > entry_order(last[0][0])


async def _stream(client: redis.asyncio.Redis, name: str, last_id: str, lost: bool) -> AsyncIterator[bytes]:
    key = events_key(name)
    try:
        # Says that the stream is open before there is an event, and how soon to try again.
        yield b"retry: 2000\n\n"
        if lost:
            # Read before the client is told: what comes later is either in its new snapshot or sent.
            last_id = await _newest(client, key)
            yield _frame("reset", "{}")
        while True:
            reply = await client.xread({key: last_id}, count=PAGE, block=int(BEAT_SECONDS * 1000))
            if not reply:
                yield b": beat\n\n"
                continue
            for entry, fields in reply[0][1]:
                last_id = entry
                frame = _event_frame(entry, fields.get("message", ""))
                if frame is not None:
                    yield frame
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
        # The connection ends; the browser comes back with its last id.
        return
    finally:
        await asyncio.shield(client.aclose())


async def _newest(client: redis.asyncio.Redis, key: str) -> str:
    newest: list[Any] = await client.xrevrange(key, count=1)
    return newest[0][0] if newest else START


@lru_cache(maxsize=64)
def _event_frame(entry: str, message: str) -> bytes | None:
    """What every page is sent of an event: an event of 300 stores takes ten milliseconds to read and
    write, which two hundred pages would each pay for. None for an event that cannot be read."""
    event = parse_event(entry, {"message": message})
    # Written anew: one line of JSON, whatever the writer's layout was.
    return None if event is None else _frame(event.type, json.dumps(event.model_dump(mode="json")), entry)


def _frame(event: str, data: str, entry: str | None = None) -> bytes:
    identity = f"id: {entry}\n" if entry else ""
    return f"{identity}event: {event}\ndata: {data}\n\n".encode()
