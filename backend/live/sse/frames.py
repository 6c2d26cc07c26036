"""Server-sent events as bytes.

https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

from __future__ import annotations

from backend.live.queries import parse_event
from backend.live.redaction import told_event
from backend.topologies.sight import Sight
from jobs.protocol import EVENTS, AnyEvent

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
    return _framed(f"id: {entry}", event)


def told_frame(frame: bytes, sight: Sight) -> bytes:
    """A frame as one may be told it who sees so much; what is no event stays as it is."""
    place, found, data = frame.decode().partition("\ndata: ")
    if sight.queries is None or not found or frame == RESET:
        return frame
    event = EVENTS.validate_json(data)
    return _framed(place.partition("\n")[0], told_event(event, sight))


def _framed(place: str, event: AnyEvent) -> bytes:
    return f"{place}\nevent: {event.type}\ndata: {event.model_dump_json()}\n\n".encode()
