"""Results of a topology as tuples of its own derived streams.

What a batch finds is stored with its commit, and comes in with the tuples of the next one. So it gets arrival
numbers as any tuple, by which every result of what reads it is found once; a batch that is repeated reads
the same runs; and a batch takes no longer for the streams that are derived from what it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import polars as pl

from jobs.plan.tuples import first_arrival
from jobs.sources.connector import Asked, Connector, Numbered, Raw
from jobs.sources.formats.arrow_types import stream_schema
from jobs.storage.partition import state_root
from jobs.storage.run import RunRef
from optimizer.physical.graph import PhysicalGraph


@dataclass(frozen=True, slots=True)
class FoundBefore(Numbered):
    """Rows `first` to `first + rows` (exclusive, from 0) of a run of results."""

    connector: ClassVar[str] = "results"

    stream: str
    state: str
    """Root of the runs."""
    run: RunRef
    first: int
    rows: int
    kind: Literal["results"] = "results"

    @property
    def place(self) -> str:
        return f"{self.run.path}: rows {self.first} to {self.first + self.rows - 1}, from 0"


def found_before(
    graph: PhysicalGraph, runs: Sequence[RunRef], state: str, batch: int
) -> tuple[FoundBefore, ...]:
    """What the batch before has found of a graph's derived streams.

    Args:
        graph: the plan of the batch.
        runs: of the last commit.
        state: their root.
        batch: the one that they come in with.
    """
    streams = {stream.derived.store: stream.name for stream in graph.derived if stream.derived is not None}
    begins = first_arrival(batch - 1, 0)
    found = [run for run in runs if run.store in streams and run.max_arrival >= begins]
    assert all(run.min_arrival >= begins for run in found), "a run is not merged before its batch is over"
    ordered = sorted(found, key=lambda run: (streams[run.store], run.partition, run.min_arrival))
    return tuple(FoundBefore(streams[run.store], state, run, 0, run.rows) for run in ordered)


class ResultsConnector(Connector):
    """Reads runs of results."""

    descriptors = (FoundBefore,)

    def read(self, descriptor: Any, asked: Asked) -> Raw:
        """The tuples of a run, in its order."""
        frame = state_root(descriptor.state).read(descriptor.run)
        rows = frame.slice(descriptor.first, descriptor.rows)
        names = [name for name, _ in asked.columns]
        table = rows.select(pl.col(f"{asked.stream.name}.{name}").alias(name) for name in names).to_arrow()
        return Raw(table.cast(stream_schema(asked.columns)), None, None)


CONNECTOR = ResultsConnector()
