"""Time every request by route.

Labels are the lines of the URLconf, whatever is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from backend.observation.registry import REQUESTS


@sync_and_async_middleware
def RequestMetrics(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    if iscoroutinefunction(get_response):

        async def observed(request: HttpRequest) -> HttpResponseBase:
            began = time.perf_counter()
            answer: Awaitable[HttpResponseBase] = get_response(request)
            return _observe(request, await answer, began)

        return observed

    def observed_at_once(request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        return _observe(request, get_response(request), began)

    return observed_at_once


def _observe(request: HttpRequest, response: HttpResponseBase, began: float) -> HttpResponseBase:
    match = request.resolver_match
    route = match.route if match is not None else "none"
    labels = (_method(request.method), route, str(response.status_code))
    REQUESTS.labels(*labels).observe(time.perf_counter() - began)
    return response


def _method(name: str | None) -> str:
    """A client may write anything there; a label's values must be few."""
    known = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
    return name if name in known else "other"
