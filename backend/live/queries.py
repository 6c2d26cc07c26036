"""Reading events, and the state that they make."""

from __future__ import annotations

import logging
from typing import cast

import redis.exceptions
from pydantic import ValidationError

from backend.live.models import LiveRecord
from backend.live.state import LiveState, fold
from backend.redis import connection, read_entries
from backend.topologies.models import Topology
from jobs.protocol import EVENTS, AnyEvent, entry_order, events_key

log = logging.getLogger(__name__)

PAGE_EVENTS = 1000
START = "0-0"


def parse_event(entry: str, fields: dict[str, str]) -> AnyEvent | None:
    """A stream entry's event; None, with a line in the log, for another version's."""
    try:
        return EVENTS.validate_json(fields.get("message", ""))
    except ValidationError as error:
        log.warning("event %s is unreadable and left out: %s", entry, error.errors()[0]["msg"])
        return None


def events_after(topology: str, last_id: str) -> list[tuple[str, AnyEvent | None]]:
    """The next events after an id, oldest first; None stands for an unreadable one."""
    entries = connection().xrange(events_key(topology), min=f"({last_id}", count=PAGE_EVENTS)
    return [(entry, parse_event(entry, fields)) for entry, fields in read_entries(entries)]


def last_generated(topology: str) -> str:
    """The id of the newest event ever written to the stream, 0-0 without one."""
    try:
        return cast(str, connection().xinfo_stream(events_key(topology))["last-generated-id"])
    except redis.exceptions.ResponseError:
        return START


def folded(state: LiveState, events: list[tuple[str, AnyEvent | None]]) -> LiveState:
    for entry, event in events:
        state = (
            state.model_copy(update={"last_event_id": entry}) if event is None else fold(state, entry, event)
        )
    return state


def stored_state(record: LiveRecord | None) -> LiveState:
    if record is None:
        return LiveState()
    state = LiveState.model_validate_json(record.state) if record.state else LiveState()
    return state.model_copy(update={"last_event_id": record.last_event_id})


def live_state(topology: Topology) -> LiveState:
    """What the topology does now: what is stored, and every event since."""
    state = stored_state(LiveRecord.objects.filter(topology=topology).first())
    if entry_order(state.last_event_id) > entry_order(last_generated(topology.name)):
        # Redis came back empty: what it will write is numbered from the clock, but until then the
        # cursor points behind its end.
        state = state.model_copy(update={"last_event_id": START})
    while events := events_after(topology.name, state.last_event_id):
        state = folded(state, events)
    return state
