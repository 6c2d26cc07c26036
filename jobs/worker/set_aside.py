"""Dead letters of tuples that were set aside, because their batch fails with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl
import pyarrow as pa

from jobs.failures.dead_letters import DEAD_LETTERS, letters_of, undecodable_letters
from jobs.failures.task_failure import Failure
from jobs.plan.index import index_of
from jobs.plan.tuples import ARRIVAL
from jobs.sources.connector import Descriptor
from jobs.sources.read import read
from jobs.worker.task import load_graph

Aside: TypeAlias = tuple[Descriptor, Failure]
"""Tuples, and what the batch fails with beside them."""
SET_ASIDE = "set aside: "
"""With what the reasons of these letters begin."""


@dataclass(frozen=True, slots=True)
class Describe:
    """A task that describes set-aside descriptors under the plan at this path."""

    plan: str
    redis_url: str | None

    def __call__(
        self, task: int, groups: Iterable[Sequence[tuple[Descriptor, Failure]]]
    ) -> Iterator[pa.Table]:
        graph = load_graph(self.plan)
        streams = index_of(graph).streams
        for descriptor, failure in (one for group in groups for one in group):
            stream = streams[descriptor.stream]
            raw = read(descriptor, stream, [name for name, _ in stream.columns], self.redis_url)
            frame = pl.DataFrame(pl.from_arrow(raw.table)).with_columns(pl.lit(None, pl.Int64).alias(ARRIVAL))
            parts = [letters_of(stream.name, SET_ASIDE + failure.error, stream.event_time, frame)]
            if raw.undecodable is not None:
                parts.append(undecodable_letters(stream.name, raw.undecodable))
            letters = pl.concat(parts).with_columns(pl.lit(_whose(failure), pl.String).alias("query"))
            yield letters.to_arrow().cast(DEAD_LETTERS)


def letters_of_places(aside: Sequence[Aside]) -> pa.Table:
    """Letters that say where the tuples are, for tuples that cannot even be read."""
    letters = [
        {
            "stream": descriptor.stream,
            "reason": SET_ASIDE + failure.error,
            "tuple": descriptor.place,
            "query": _whose(failure),
        }
        for descriptor, failure in aside
    ]
    return pa.Table.from_pylist(letters, DEAD_LETTERS)


def _whose(failure: Failure) -> str | None:
    return ", ".join(failure.queries) or None
