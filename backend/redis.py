"""Connections to Redis, and the two streams of a topology's control plane."""

from __future__ import annotations

from functools import cache
from typing import TypeVar, cast

import redis
import redis.asyncio
import redis.asyncio.retry
from django.conf import settings
from pydantic import BaseModel, ValidationError
from redis.backoff import NoBackoff
from redis.typing import StreamRangeResponse

from backend.errors import Unavailable
from jobs.protocol import AnyEvent, Control, control_key, events_key

Entry = tuple[str, dict[str, str]]
"""The id and the fields of a stream's entry."""
BinaryEntry = tuple[bytes, dict[bytes, bytes]]
"""The same as `binary_connection` reads it."""
BatchPart = TypeVar("BatchPart", bound=BaseModel)

CONTROL_MESSAGES_KEPT = 1000
"""Control messages kept; the job follows them within seconds."""
MOST_CONNECTIONS = 32
"""Of a process' pool: requests, each a thread, wait for one of them."""
EVENTS_KEPT = 20_000
"""Events kept when the backend writes one, about an hour of a busy topology."""


def connection() -> redis.Redis:
    """The process' pool of connections. Raises `Unavailable` when no REDIS_URL is set."""
    return _connection(_url())


def binary_connection() -> redis.Redis:
    """Like `connection`, but replies are bytes, as entries may hold Arrow data."""
    return binary_connection_to(_url())


def binary_connection_to(url: str) -> redis.Redis:
    """The same, without settings, for callers told the URL, such as a worker process."""
    return _connection(url, decode=False)


def _url() -> str:
    if not settings.REDIS_URL:
        raise Unavailable("redis-unavailable", "REDIS_URL is not set")
    return str(settings.REDIS_URL)


@cache
def _connection(url: str, decode: bool = True) -> redis.Redis:
    pool: redis.BlockingConnectionPool = redis.BlockingConnectionPool.from_url(
        url,
        max_connections=MOST_CONNECTIONS,
        timeout=10,
        socket_timeout=10,
        socket_connect_timeout=3,
        decode_responses=decode,
    )
    return redis.Redis(connection_pool=pool)


def async_connection() -> redis.asyncio.Redis:
    """A client for one task of the event loop: `async with` closes its connection.

    Not pooled: it blocks in XREAD for as long as somebody listens to the topology. It waits for ever:
    with a timeout, redis-py sends by `asyncio.wait_for`, which before Python 3.12 may swallow the
    cancellation of its task (https://github.com/python/cpython/issues/86296). Callers have `asyncio.timeout`.
    """
    return redis.asyncio.Redis.from_url(
        _url(),
        socket_connect_timeout=3,
        socket_timeout=None,
        decode_responses=True,
        # Whoever reads on has to find out first what was lost.
        retry=redis.asyncio.retry.Retry(NoBackoff(), 0),
    )


def send_control(topology: str, message: Control) -> str:
    """Append a control message; returns its Redis id."""
    return _append(control_key(topology), message.model_dump_json(), CONTROL_MESSAGES_KEPT)


def send_event(topology: str, message: AnyEvent) -> str:
    """Append an event on behalf of a run that is starting or dead."""
    return _append(events_key(topology), message.model_dump_json(), EVENTS_KEPT)


def read_entries(reply: StreamRangeResponse | None) -> list[Entry]:
    """Read what XRANGE and XREVRANGE answer on a `connection`, decoding or not."""
    return cast(list[Entry], reply)


def read_binary_entries(reply: StreamRangeResponse | None) -> list[BinaryEntry]:
    """The same on a `binary_connection`."""
    return cast(list[BinaryEntry], reply)


def _append(key: str, text: str, kept: int) -> str:
    return cast(str, connection().xadd(key, {"message": text}, maxlen=kept, approximate=True))


def read_batch(part: type[BatchPart], fields: dict[str, str]) -> BatchPart | None:
    """As much of a batch's event as a model asks for; None for every other event.

    None also for what a job of another release wrote; the live state says so in the log.
    """
    message = fields.get("message", "")
    if '"type":"batch"' not in message:
        return None
    try:
        return part.model_validate_json(message)
    except ValidationError:
        return None
