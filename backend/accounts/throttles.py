"""Rate limits per address and per account.

Counted in each web process' memory, which needs no Redis.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.decorators import sync_and_async_middleware
from rest_framework.request import Request
from rest_framework.throttling import AnonRateThrottle, SimpleRateThrottle, UserRateThrottle

from backend.http.proxies import holder

AT_ONCE = max(1, (os.cpu_count() or 1) // 2)
"""Passwords that one process looks at together: each takes a processor for a third of a second."""
MOST_WAITING = 20
"""Sign-ins beside those that are looked at; the next one is told to come again."""
WAIT_SECONDS = 10.0
"""For its turn, before a sign-in is told so too."""

_PAGES = ("login", "mfa_authenticate", "account-security")
"""The pages that look at passwords and codes."""


class AccountRate(UserRateThrottle):
    def get_ident(self, request: Request) -> str:
        return holder(request)


class AddressRate(AnonRateThrottle):
    """The rate of an address that is not signed in."""

    def get_ident(self, request: Request) -> str:
        return holder(request)


class SignInRate(SimpleRateThrottle):
    scope = "sign_in"

    def get_cache_key(self, request: Request, view: object) -> str:
        return f"sign-in-{holder(request)}"


@sync_and_async_middleware
def SignIn(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Keeps passwords from being looked at more often than the processors can bear.

    Beyond a rate per address they wait; beyond `AT_ONCE` together the rest of the site would.
    """
    if iscoroutinefunction(get_response):
        places, waiting = asyncio.Semaphore(AT_ONCE), 0

        async def bounded(request: HttpRequest) -> HttpResponseBase:
            nonlocal waiting
            refusal = _refusal(request)
            if refusal is not None:
                return refusal
            if not _looks_at_a_password(request):
                answer: HttpResponseBase = await get_response(request)
                return answer
            if waiting >= MOST_WAITING:
                return _later("too many people sign in at this moment", 503, 5)
            waiting += 1
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await places.acquire()
            except TimeoutError:
                return _later("too many people sign in at this moment", 503, 5)
            finally:
                waiting -= 1
            try:
                slow: HttpResponseBase = await get_response(request)
            finally:
                places.release()
            return slow

        return bounded

    def limited(request: HttpRequest) -> HttpResponseBase:
        refusal = _refusal(request)
        if refusal is not None:
            return refusal
        response: HttpResponseBase = get_response(request)
        return response

    return limited


def _looks_at_a_password(request: HttpRequest) -> bool:
    return request.method == "POST" and request.path in map(reverse, _PAGES)


def _refusal(request: HttpRequest) -> HttpResponse | None:
    if not _looks_at_a_password(request):
        return None
    rate = SignInRate()
    if rate.allow_request(request, None):  # type: ignore[arg-type]  # reads what Django's request has too
        return None
    return _later("too many attempts from this address", 429, int(rate.wait() or 0) + 1)


def _later(reason: str, status: int, seconds: int) -> HttpResponse:
    headers = {"Retry-After": str(seconds)}
    text = f"{reason}; try again in {seconds} s\n"
    return HttpResponse(text, status=status, headers=headers, content_type="text/plain; charset=utf-8")
