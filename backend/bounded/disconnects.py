"""Requests that know when their client has gone."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping

Scope = Mapping[str, object]
Message = Mapping[str, object]
GONE = "millrace.gone"
"""The key of a `threading.Event` in a request's ASGI scope."""


def telling_of_disconnects(application: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """An ASGI application whose requests know when their client has gone.

    Django asks for the message that says so while it answers, and then cancels the answer; but a thread
    that works at one hears nothing of that.
    """

    async def answering(scope: Scope, receive: Callable[[], Awaitable[Message]], send: object) -> None:
        gone = threading.Event()

        async def listening() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        try:
            await application({**scope, GONE: gone}, listening, send)
        finally:
            gone.set()

    return answering
