"""What the demo's job says of itself, as lines for the console."""

from __future__ import annotations

from collections.abc import Iterator

import pydantic
import redis

from backend.redis import read_entries
from jobs.protocol import EVENTS, JobFailed, JobStarted, events_key


class JobNews:
    """The starts and failures of one topology's job, each told once."""

    def __init__(self, client: redis.Redis, topology: str) -> None:
        self._client, self._topology = client, topology
        self._last: str | None = None

    def lines(self) -> Iterator[str]:
        """Lines for what happened since the last call; none, for now, while Redis is away."""
        key = events_key(self._topology)
        try:
            if self._last is None:
                newest = read_entries(self._client.xrevrange(key, count=1))
                self._last = newest[0][0] if newest else "0"
            entries = read_entries(self._client.xrange(key, min=f"({self._last}", count=100))
        except redis.RedisError:
            return
        for self._last, fields in entries:
            line = self._line(fields["message"])
            if line is not None:
                yield line

    def _line(self, message: str) -> str | None:
        try:
            event = EVENTS.validate_json(message)
        except pydantic.ValidationError as error:
            return f"topology {self._topology}: an event that cannot be read ({error.error_count()} mistakes)"
        if isinstance(event, JobStarted):
            return f"topology {self._topology} runs (process {event.pid})"
        if isinstance(event, JobFailed):
            return f"topology {self._topology} failed and will be restarted: {event.error}"
        return None
