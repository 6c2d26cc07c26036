"""The marginal cost of one more query, fast enough to show while it is typed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from optimizer.explain.orders import OrderSearch, installed, pricing_of
from optimizer.formulate.base_stores import stream_of_store
from optimizer.formulate.branches import expanded
from optimizer.formulate.covering import covering_relations
from optimizer.formulate.model import Translation
from optimizer.logical.query import Query, derived_of
from optimizer.lower.to_graph import to_graph
from optimizer.planner.plan import Plan
from optimizer.planner.waiting import looks, with_branches

_MOST_INPUTS = 6
"""Of larger queries only their own relations are priced: each attempt takes as long as somebody waits."""


@dataclass(frozen=True, slots=True)
class MarginalCost:
    """The price of one more query while everything that runs stays as it is."""

    query: str
    probe: float
    """Of additional steps, in the plan's unit: tuples per second sent, or millionths of a core."""
    storage: float
    """Of additional stored tuples, in the same unit."""
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
    exact: bool = True
    """False if there were too many orders to look at all: `probe` is then at most so much, not less."""

    def __str__(self) -> str:
        most = "" if self.exact else "at most "
        share = "" if self.probe_share is None else f", {most}+{100 * self.probe_share:.0f} % probes"
        stores = f"+{len(self.new_stores)} store{'' if len(self.new_stores) == 1 else 's'}"
        return f"{stores}{share}, {self.reuse}"

    @property
    def reuse(self) -> str:
        """Which steps that are taken already the query would take too.

        >>> MarginalCost("q", 0.0, 0.0, None, (), 5, 4, "departures_in_wind", 4, 3).reuse
        'reuses 3 of 4 steps of departures_in_wind and 1 of others'
        """
        if self.most_like is None:
            many = f"{self.steps} step{'' if self.steps == 1 else 's'}"
            return f"reuses none of its {many}" if self.steps else "takes no steps"
        others = self.reused_steps - self.most_like_reused
        more = f" and {others} of others" if others else ""
        return f"reuses {self.most_like_reused} of {self.most_like_steps} steps of {self.most_like}{more}"


def marginal_cost(plan: Plan, query: Query) -> MarginalCost:
    """The cheapest way to answer `query` on top of a plan whose stores and steps stay.

    A step that the plan already takes costs nothing again, also one of a wider relation that holds
    all that the query asks for: the query's own filters and windows are applied behind it. A
    materialized result that the plan keeps may be probed; streams that are not stored yet are
    stored, and those that the query needs for longer are kept for longer. For every start the
    cheapest order is found by Dijkstra's algorithm over the connected sub-queries. A full
    optimization can only be cheaper, because it may also change what runs.

    The branches of a query with outer joins or groups are priced one by one, and what waits behind them as if
    nothing of it was there: that is at most what it costs.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> print(marginal_cost(plan([query], catalog), query))
    +0 stores, +0 % probes, reuses 2 of 2 steps of q

    Args:
        plan: the plan in use.
        query: in the plan's catalog; may have any name, also one in the plan.

    Returns:
        Costs in the unit of the plan's `Options.pricing`.
    """
    # The plan may read no results of others.
    context = replace(plan.context, catalog=plan.context.catalog.beside([query]))
    plan = replace(plan, context=context)
    return _of_branches(plan, query) if query.branches or query.derived else _of_join(plan, query)


def _of_join(plan: Plan, query: Query) -> MarginalCost:
    """What a conjunctive query costs."""
    plain = plan.context.translate([query])
    best = _priced(plan, query.name, plain)
    large = len(query.inputs) > _MOST_INPUTS
    for subsumption in () if large else covering_relations(plain.queries[0], plan.translation.queries):
        if best.probe == 0:
            break
        one = plan.context.translate([query], subsumption)
        best = min(best, _priced(plan, query.name, one), key=lambda priced: priced.probe)
    return replace(best, storage=_growth(plan, plain))


def _of_branches(plan: Plan, query: Query) -> MarginalCost:
    """What a query costs at most, its branches and what it reads priced one by one."""
    answered = (query, *(one.query for one in derived_of([query])))
    joins, branches = expanded(answered, plan.catalog)
    parts = [_of_join(plan, one) for one in joins]
    likest = max(parts, key=lambda part: part.most_like_reused)
    forest, _ = plan.context.solve(joins)
    graph, waits = with_branches(to_graph(forest, method=plan.method), branches, plan.context)
    probe = sum(part.probe for part in parts) + waits.probe - waits.written
    total = plan.cost.probe
    there = installed(plan).copies
    like = likest.most_like
    named = {one.name: one.results.label for one in plan.catalog.derived if one.results is not None}
    return replace(
        likest,
        query=query.name,
        most_like=None if like is None else named.get(like, like),
        probe=probe,
        storage=_growth(plan, plan.context.translate(joins)) + waits.storage,
        probe_share=probe / total if total > 0 else None,
        new_stores=tuple(stream.name for stream in graph.streams if stream.name not in there),
        steps=sum(part.steps for part in parts) + len(looks(graph)),
        reused_steps=sum(part.reused_steps for part in parts),
        exact=False,
    )


def _growth(plan: Plan, one: Translation) -> float:
    """What storing costs beyond the plan's, of new streams and of longer windows."""
    copies, kept = installed(plan).copies, dict[str, float]()
    for store, held in plan.translation.stored:
        kept[stream_of_store(store)] = max(held, kept.get(stream_of_store(store), 0.0))
    pricing, work, memory = plan.options.pricing, 0.0, 0.0
    for stream, wanted in one.stored:
        stored, amount = pricing.copy(one.copy_load(stream))
        if stream not in copies:
            work, memory = work + stored, memory + amount
        elif wanted > 0:
            memory += amount / wanted * (len(copies[stream]) * max(0.0, wanted - kept[stream]))
    return work + pricing.memory * memory


def _priced(plan: Plan, name: str, one: Translation) -> MarginalCost:
    """The cheapest orders of the one query of `one`; the caller adds its storage."""
    there = installed(plan)
    search, free = OrderSearch(one, there, pricing_of(plan.options)), there.steps.keys()
    orders = [
        search.cheapest(joined, start, free)
        for joined in one.problem.queries
        for start in sorted(joined.relations)
    ]
    found = [order for order in orders if order is not None]
    if len(found) < len(orders):
        raise ValueError(f"query {name} has an input from which no order leads to its results")
    probe = sum(cost for cost, _ in found)
    steps = {step for _, path in found for step in path}
    reused = steps & free
    overlap = Counter(name for step in reused for name in {n for n, _ in there.steps[step] if n})
    like = min(overlap, key=lambda name: (-overlap[name], name)) if overlap else None
    new = sorted({stream for stream, _ in one.stored} - set(there.copies))
    total = plan.cost.probe
    return MarginalCost(
        query=name,
        probe=probe,
        storage=0.0,
        probe_share=probe / total if total > 0 else None,
        new_stores=tuple(new),
        steps=len(steps),
        reused_steps=len(reused),
        most_like=None if like is None else plan.names.get(like, like),
        most_like_steps=there.steps_of[like] if like else 0,
        most_like_reused=overlap[like] if like else 0,
        exact=search.exact,
    )
