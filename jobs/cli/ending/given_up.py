"""The error that ends a replay when a batch is given up.

A replay has no user who would give it another plan.
"""

from __future__ import annotations

from pathlib import Path

from jobs.driver.coordinator import Excess
from jobs.join.probe import CHECKED
from optimizer.algebra.errors import InputError, Place
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule
from optimizer.physical.usage import users_of


def given_up(excess: Excess, graph: PhysicalGraph, queries: Path) -> InputError:
    """Name the query that fails, or the query and the step that make too much.

    The batch is not committed, so the same command goes on with it under another bound. Batches keep the size
    with which a replay has begun.

    Args:
        excess: what the batch was given up for.
        graph: the plan of the batch.
        queries: the folder of their texts.
    """
    if excess.failed:
        return InputError(
            "failing-query",
            Place(", ".join(str(queries / f"{query}.sql") for query in sorted(excess.failed))),
            next(iter(excess.failed.values())),
            "a query whose expressions can be evaluated",
        )
    step = min(excess.too_many, key=lambda rule: (-excess.too_many[rule], rule))
    (rule,) = (r for r in graph.rules if isinstance(r, ProbeRule) and r.id == step)
    (store,) = (s for s in graph.stores if s.id == rule.store)
    first, *others = sorted(users_of(graph).of_rule(step))
    beside = f", for {', '.join(others)} too" if others else ""
    return InputError(
        "too-many-combinations",
        Place(str(queries / f"{first}.sql"), path=f"step {' * '.join(rule.bound)} with {store.label}"),
        f"{excess.too_many[step]:,} combinations to make or check in batch {excess.batch}{beside}",
        f"at most {excess.most:,} made and {excess.most * CHECKED:,} checked in a task: raise "
        "--most-combinations, have fewer --batch-rows in another --out, or narrow a window or condition",
    )
