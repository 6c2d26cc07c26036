"""What a query published, as its live tail still has it."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass

from backend.redis import connection, read_entries
from jobs.protocol import results_key

MOST_ENTRIES = 1_000
"""The job cuts a tail only above so many entries, the oldest first; a batch appends at most so many of its
results (`jobs.sinks.redis_tail`)."""


@dataclass(frozen=True, slots=True)
class Published:
    """A batch's results in the tail."""

    rows: tuple[dict[str, object], ...]
    whole: bool
    """True if neither the tail nor the batch was cut here: a result that it lacks was not published."""


def published(topology: str, query: str, batches: Collection[int]) -> dict[int, Published]:
    """The results of these batches, by batch; every batch has an entry."""
    rows: dict[int, list[dict[str, object]]] = {batch: [] for batch in batches}
    entries = read_entries(connection().xrevrange(results_key(topology, query)))
    oldest: int | None = None
    cut = len(entries) >= MOST_ENTRIES
    for _, fields in entries:
        batch = int(fields["batch"])
        if oldest is not None and batch > oldest:
            # Of a time before the topology began anew; all of what is newer is there.
            cut = False
            break
        oldest = batch
        if batch in rows:
            rows[batch].append(json.loads(fields["json"], parse_constant=str))
    return {
        batch: Published(
            tuple(found), len(found) < MOST_ENTRIES and (not cut or (oldest is not None and oldest < batch))
        )
        for batch, found in rows.items()
    }
