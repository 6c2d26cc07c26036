"""What a topology's newest batches read and answered, as its job told it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from backend.redis import connection, read_batch, read_entries
from jobs.protocol import QueryMetrics, StreamMetrics, events_key

_PAGE_EVENTS = 200


class Batch(BaseModel, frozen=True, extra="ignore"):
    """Of a batch's event what the oracle needs; stores and edges are not even read."""

    batch: int
    plan_id: str
    streams: dict[str, StreamMetrics]
    queries: dict[str, QueryMetrics]
    watermark: datetime | Literal["untold"] | None = "untold"
    """The topology's, under which the batch ran; jobs of older releases do not tell it."""


class Ledger:
    """Batches by age, 0 the newest, without a gap, read as far as a caller looks."""

    def __init__(self, told: Iterator[Batch]) -> None:
        self._told = told
        self._read: list[Batch] = []

    def get(self, age: int) -> Batch | None:
        """None behind the oldest batch that is known."""
        while len(self._read) <= age:
            batch = next(self._told, None)
            if batch is None:
                return None
            self._read.append(batch)
        return self._read[age]

    def begins_with(self, age: int) -> bool:
        """True if the batch of this age is the topology's first: nothing was read before."""
        batch = self.get(age)
        return batch is not None and batch.batch == 0


def told_batches(topology: str) -> Iterator[Batch]:
    """The topology's batches, newest first, up to the first gap.

    A batch that was done again after a crash is told again; the newest telling counts.
    """
    last: int | None = None
    end = "+"
    while entries := read_entries(connection().xrevrange(events_key(topology), max=end, count=_PAGE_EVENTS)):
        for entry, fields in entries:
            end = f"({entry}"
            batch = read_batch(Batch, fields)
            if batch is None or batch.batch == last:
                continue
            if last is not None and batch.batch != last - 1:
                # Events were lost, or the topology began anew: numbers before mean other batches.
                return
            last = batch.batch
            yield batch
