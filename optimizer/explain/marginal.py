"""What one more query would add to a plan, fast enough to show while it is being typed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from optimizer.explain.orders import OrderSearch, installed
from optimizer.plan import Plan
from optimizer.query import Query
from optimizer.translate import to_problem


@dataclass(frozen=True, slots=True)
class MarginalCost:
    """The price of one more query while everything that runs stays as it is."""

    query: str
    probe: float
    """Additional tuples per second sent."""
    storage: float
    """Additional stored tuples, weighted."""
    probe_share: float | None
    """`probe` as a fraction of the plan's probe cost; None if that is zero."""
    new_stores: tuple[str, ...]
    """Streams that nothing stores yet."""
    steps: int
    reused_steps: int
    most_like: str | None
    """The query whose steps it reuses most."""
    most_like_steps: int
    """Steps of that query."""
    most_like_reused: int

    def __str__(self) -> str:
        share = "" if self.probe_share is None else f", +{100 * self.probe_share:.0f} % probes"
        stores = f"+{len(self.new_stores)} store{'' if len(self.new_stores) == 1 else 's'}"
        reuse = f", reuses {self.reused_steps} of {self.steps} steps"
        like = "" if self.most_like is None else f" ({self.most_like_reused} of {self.most_like})"
        return stores + share + reuse + like


def marginal_cost(plan: Plan, query: Query) -> MarginalCost:
    """The cheapest way to answer `query` on top of a plan whose stores and steps stay.

    A step that the plan already takes costs nothing again; a materialized result that it
    keeps may be probed; streams that are not stored yet are stored. For every start the
    cheapest order is found by Dijkstra's algorithm over the connected sub-queries. A full
    optimization can only be cheaper, because it may also change what runs.

    Args:
        plan: the plan in use.
        query: in the plan's catalog; may have any name, also one in the plan.

    Returns:
        Costs in probe tuples per second, the cost model's unit.
    """
    one = to_problem([query], plan.catalog, plan.statistics, retain=plan.retain, tasks=plan.tasks)
    there = installed(plan)
    search, free = OrderSearch(one, there), there.steps.keys()
    orders = [
        search.cheapest(joined, start, free)
        for joined in one.problem.queries
        for start in sorted(joined.relations)
    ]
    found = [order for order in orders if order is not None]
    probe = sum(cost for cost, _ in found)
    steps = {step for _, path in found for step in path}
    reused = steps & free
    overlap = Counter(name for step in reused for name in {n for n, _ in there.steps[step] if n})
    like = min(overlap, key=lambda name: (-overlap[name], name)) if overlap else None
    stored = dict(one.stored)
    new = sorted(set(stored) - set(there.copies))
    total = plan.cost.probe
    return MarginalCost(
        query=query.name,
        probe=probe,
        storage=plan.options.storage_weight * sum(stored[stream] for stream in new),
        probe_share=probe / total if total > 0 else None,
        new_stores=tuple(new),
        steps=len(steps),
        reused_steps=len(reused),
        most_like=like,
        most_like_steps=there.steps_of[like] if like else 0,
        most_like_reused=overlap[like] if like else 0,
    )
