"""Plans with partitionings that no cost model asked for."""

from __future__ import annotations

import random
from pathlib import Path

from optimizer.partitioning.slicing import slice_all
from optimizer.physical.graph import PhysicalGraph, Slices
from optimizer.physical.validate import validate
from optimizer.planner.plan import plan
from optimizer.statistics import statistics_of_workload
from optimizer.workload import load_workload


def sliced_plan(workload: Path, method: str | None, tasks: int, seed: int) -> PhysicalGraph:
    """A plan whose base stores are all cut into slices of event time, as far as they are bounded.

    Args:
        workload: its directory.
        method: as for a replay.
        tasks: of streams that set none themselves.
        seed: decides how many slices there are, and whether their boundaries move.
    """
    loaded = load_workload(workload)
    made = plan(
        loaded.queries,
        loaded.catalog,
        statistics_of_workload(loaded.catalog, loaded.selectivities),
        method or "ilp",
        # Whatever plan follows finds what it needs.
        retain="everything",
        tasks=tasks,
        texts=dict(loaded.sql),
    )
    chance = random.Random(f"slices {seed}")
    graph = slice_all(made.graph, Slices(chance.choice((1, 2, 3, 5, 8)), smoothed=chance.random() < 0.8))
    if not graph.holds:
        # What is checked of branches is checked before they are put together.
        validate(graph)
    return graph
