"""Having worker processes load what batches need, before there is a batch.

A worker imports the engine's libraries, reads the plan and prepares its rules when it gets its first
work, which takes longer than many a batch. Spark needs about as long to start the source's planner, so
both are done at the same time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jobs.join.probe_plan import plan_of
from jobs.plan.index import index_of
from jobs.sources.formats.arrow_types import stream_schema
from jobs.worker.ingest import ingest
from jobs.worker.task import load_graph
from optimizer.physical.rules import ProbeRule


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What a task does that has nothing to do yet, under the plan at this path."""

    plan: str

    def __call__(self, task: int, rows: Iterable[object]) -> Iterator[object]:
        graph = load_graph(self.plan)
        index = index_of(graph)
        for rule in graph.rules:
            if isinstance(rule, ProbeRule):
                plan_of(index, rule)
        for stream in graph.streams:
            ingest(graph, stream.name, stream_schema(stream.columns).empty_table(), None, 0, None)
        # As in `load_graph`: what is there now stays.
        gc.freeze()
        yield from ()
