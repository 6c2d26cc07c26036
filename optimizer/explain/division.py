"""A plan's cost in cores, memory and latency, divided among its queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from optimizer.estimate import loads
from optimizer.physical.usage import Users, users_of
from optimizer.planner.plan import Plan
from optimizer.search.pricing import CORES, Processor


@dataclass(frozen=True, slots=True)
class Share:
    """What one query pays of a plan, and with whom it shares."""

    cores: float
    """Processor seconds per second."""
    gb: float
    """Of state."""
    steps: int
    """Probes that it needs."""
    shared_steps: int
    """Those of them that others need too."""
    shares_with: tuple[str, ...]
    """The other queries that need one of its probes or stores, sorted."""


@dataclass(frozen=True, slots=True)
class Division:
    """What a plan takes; the queries' shares add up to `cores` and `gb`."""

    cores: float
    gb: float
    latency_ms: float
    """From a tuple's arrival to its results: half a batch's span, and the work on a batch by all tasks."""
    shares: dict[str, Share]
    """By query, in the order of names."""


def divide(plan: Plan) -> Division:
    """Divide a plan's cost among its queries.

    Each step and store is divided equally among those that need it. That is the Shapley value of the game in
    which a set of queries pays for all elements of the plan that one of them needs: an element's cost is
    symmetric in its users and nothing to the others (Shapley 1953, by additivity over elements). It takes
    one pass instead of one plan per subset. Reading a stream is divided among those that it is read for,
    writing results is their query's, and the work of batches as such is divided among all.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> divided = divide(plan([parse_query(text, name, catalog) for name in ("p", "q")], catalog))
    >>> divided.shares["p"] == replace(divided.shares["q"], shares_with=("q",))
    True
    """
    options = replace(plan.options, cost="cores")
    pricing = options.pricing
    assert isinstance(pricing, Processor)
    statistics, horizon_s = plan.context.with_defaults, plan.context.horizon_s
    does = loads(plan.graph, statistics, horizon_s)
    users = users_of(plan.graph)
    names = sorted(query.name for query in plan.graph.queries)
    cores, gb = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)

    def charge(to: dict[str, float], among: Iterable[str], amount: float) -> None:
        paying = sorted(among) or names
        for name in paying:
            to[name] += amount / len(paying)

    for rule, load in does.steps.items():
        charge(cores, users.of_rule(rule), sum(pricing.step(load)))
    for store, copy in does.copies.items():
        work, memory = pricing.copy(copy)
        charge(cores, users.stores[store], work)
        charge(gb, users.stores[store], memory / 1e9)
    for stream, read in does.reading.items():
        charge(cores, users.streams[stream], pricing.source(read))
    for name, written in does.answering.items():
        cores[name] += pricing.source(written)
    charge(cores, names, pricing.batches)
    shares = {name: _share(plan, users, name, CORES * cores[name], gb[name]) for name in names}
    work = sum(share.cores for share in shares.values())
    tasks = max((store.tasks for store in plan.graph.stores), default=1)
    return Division(
        cores=work,
        gb=sum(share.gb for share in shares.values()),
        latency_ms=1000 * options.batch_s * (0.5 + work / tasks),
        shares=shares,
    )


def _share(plan: Plan, users: Users, name: str, cores: float, gb: float) -> Share:
    steps = [needing for needing in users.probes.values() if name in needing]
    stores = [needing for needing in users.stores.values() if name in needing]
    others = frozenset().union(*steps, *stores) - {name}
    return Share(cores, gb, len(steps), sum(len(needing) > 1 for needing in steps), tuple(sorted(others)))
