"""Gates before the threads of requests.

Strangers, and live pages that open, go through a few at a time. Every request has a thread while it is
answered, and all threads share one interpreter: beside fifty that compute, everybody else's request would
be one more. Who waits here waits in the event loop, in order of arrival.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from django.utils.functional import SimpleLazyObject

STRANGERS = 2
"""Requests at once of those who are not known to be signed in."""
OPENING = 2
"""Streams of events that begin at once: after a restart all pages come back."""
HELD_SECONDS = 0.1
"""What takes longer waits for something, as an explanation does; strangers do not wait for it."""
_MOST_CREDENTIALS = 20_000
"""A few megabytes of them."""


class KnownCredentials:
    """Credentials that signed an account in when they came last.

    They open no door: they only say which requests need not wait with strangers'.
    """

    def __init__(self, most: int = _MOST_CREDENTIALS) -> None:
        self._most = most
        self._known: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, credential: str) -> bool:
        return credential in self._known

    def note(self, credential: str, signed_in: bool) -> None:
        self._known.pop(credential, None)
        if signed_in:
            self._known[credential] = None
            if len(self._known) > self._most:
                self._known.popitem(last=False)


@sync_and_async_middleware
def Gates(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Let strangers and opening pages through a few at a time.

    A test client asks alone.
    """
    if not iscoroutinefunction(get_response):
        return get_response
    strangers, opening = asyncio.Semaphore(STRANGERS), asyncio.Semaphore(OPENING)
    known = KnownCredentials()

    async def gated(request: HttpRequest) -> HttpResponseBase:
        credential = _credential(request)
        is_known = credential in known
        if is_known and not _opens_events(request):
            response: HttpResponseBase = await get_response(request)
        else:
            async with _passing(opening if is_known else strangers):
                response = await get_response(request)
        signed_in = _is_signed_in(request)
        if credential and signed_in is not None:
            known.note(credential, signed_in)
        return response

    return gated


@asynccontextmanager
async def _passing(gate: asyncio.Semaphore) -> AsyncIterator[None]:
    """A place in the gate while the block runs, but for `HELD_SECONDS` at most."""
    await gate.acquire()
    held = True

    def leave() -> None:
        nonlocal held
        if held:
            held = False
            gate.release()

    timer = asyncio.get_running_loop().call_later(HELD_SECONDS, leave)
    try:
        yield
    finally:
        timer.cancel()
        leave()


def _credential(request: HttpRequest) -> str:
    """What the client says who it is by; empty for nothing."""
    return request.headers.get("Authorization", "") or request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")


def _opens_events(request: HttpRequest) -> bool:
    return request.path.startswith("/api/topologies/") and request.path.endswith("/events/")


def _is_signed_in(request: HttpRequest) -> bool | None:
    """Whether an account was found for the request.

    The result is None if none was looked for.

    Django looks when its `user` is first asked for; REST framework puts whom it found in its place.
    """
    user = request.__dict__.get("user")
    if isinstance(user, SimpleLazyObject):
        user = request.__dict__.get("_cached_user")
    return None if user is None else bool(user.is_authenticated)
