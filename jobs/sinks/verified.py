"""Until which event times the continuous check has found queries' results right."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from jobs.protocol import Verified


@dataclass(frozen=True, slots=True)
class _Known:
    plan_id: str | None = None
    """The plan in use; None before this process's first batch."""
    first_batch: int = 0
    """Under that plan."""
    until_us: Mapping[str, int] = field(default_factory=dict)
    """By query."""


class VerifiedTimes:
    """What the web application has said, of the plan in use.

    Under another plan a query may be another version, so nothing is known until it is said again; nor is it
    after a restart.
    """

    def __init__(self) -> None:
        self._known = _Known()
        self._lock = threading.Lock()
        """Batches are committed in one thread, messages are read in another."""

    def committed(self, plan_id: str, batch: int) -> None:
        """Note under which plan a batch was committed."""
        with self._lock:
            if self._known.plan_id != plan_id:
                self._known = _Known(plan_id, batch)

    def take(self, message: Verified) -> bool:
        """Keep what is said; False if it is said of another plan."""
        with self._lock:
            if message.plan_id != self._known.plan_id:
                return False
            said = {**self._known.until_us, **message.until_us}
            until_us = {query: until for query, until in said.items() if until is not None}
            self._known = replace(self._known, until_us=until_us)
            return True

    def of_batch(self, batch: int) -> Mapping[str, int]:
        """By query, as of now; nothing for a batch of an earlier plan."""
        known = self._known
        return known.until_us if batch >= known.first_batch else {}
