"""Server-sent events as bytes.

https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

from __future__ import annotations

from backend.live.queries import parse_event

RETRY = b"retry: 2000\n\n"
"""The first word: the stream is open, and how soon to try again when it breaks."""
BEAT = b": beat\n\n"
"""A comment, so that proxies keep the connection."""
RESET = b"event: reset\ndata: {}\n\n"
"""Fetch the snapshot (again): what lies before is not sent."""


def place_frame(entry: str) -> bytes:
    """No event, but where the client stands: it comes back with this id."""
    return f"id: {entry}\n\n".encode()


def event_frame(entry: str, message: str) -> bytes | None:
    """An event as every listener is sent it; None for one that cannot be read.

    Written anew: one line of JSON, whatever the writer's layout was.
    """
    event = parse_event(entry, {"message": message})
    if event is None:
        return None
    return f"id: {entry}\nevent: {event.type}\ndata: {event.model_dump_json()}\n\n".encode()
