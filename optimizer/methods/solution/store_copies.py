"""Which copies of one store to install, and which of them every arc goes to.

Given the arcs into a store, its partitioning is a decision by itself: each copy costs its
tuples, and an arc whose sender knows none of the installed partitionings is sent to all tasks
(section 6.4.1's chi).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from optimizer.search.join_graph import bits
from optimizer.search.state_graph import StateGraph
from optimizer.search.states import StoreSite

EXHAUSTIVE_PARTITIONINGS = 6
"""Up to this many candidates of one store all sets of copies are tried."""


def best_copies(
    site: StoreSite,
    weights: tuple[float, ...],
    routed: float,
    by_known: dict[int, float],
    *,
    single: bool = False,
) -> tuple[float, int]:
    """The cheapest set of installed copies of one store, and the store's cost.

    Args:
        weights: objective per copy of each candidate partitioning.
        routed: cost of all arcs into the store if none is sent more than once.
        by_known: what each further copy of these arcs costs, by what the senders know (bit mask over the
            candidates).
    """
    extra = site.tasks - 1
    count = len(weights)
    if count == 1 or not extra:
        least = min(weights)
        chosen = weights.index(least)
        unknown = 0.0
        if extra:
            for known, sent in by_known.items():
                if not known & 1:
                    unknown += sent
        return least + routed + extra * unknown, 1 << chosen
    sums = tuple(by_known.items())
    best_cost, chosen = min((copies_cost(weights, routed, sums, extra, 1 << i), 1 << i) for i in range(count))
    if single:
        return best_cost, chosen
    if count <= EXHAUSTIVE_PARTITIONINGS:
        ordered = sorted(weights)
        hopeless = by_known.get(0, 0.0) * extra + routed
        for size in range(2, count + 1):
            if sum(ordered[:size]) + hopeless >= best_cost:
                break
            for picks in combinations(range(count), size):
                copies = sum([1 << i for i in picks])
                total = copies_cost(weights, routed, sums, extra, copies)
                if total < best_cost - 1e-12 * abs(best_cost):
                    best_cost, chosen = total, copies
        return best_cost, chosen
    improved = True
    while improved:
        improved = False
        for i in range(count):
            copies = chosen ^ (1 << i)
            if copies:
                total = copies_cost(weights, routed, sums, extra, copies)
                if total < best_cost - 1e-12 * abs(best_cost):
                    best_cost, chosen, improved = total, copies, True
    return best_cost, chosen


def copies_cost(
    weights: tuple[float, ...],
    routed: float,
    by_known: Iterable[tuple[int, float]],
    extra: int,
    copies: int,
) -> float:
    """What a store costs with the given copies; see `best_copies`. `extra` is N - 1."""
    unknown = 0.0
    for known, sent in by_known:
        if not known & copies:
            unknown += sent
    stored = 0.0
    for i, weight in enumerate(weights):
        if copies >> i & 1:
            stored += weight
    return stored + routed + extra * unknown


Copy = str | int | None
"""Names a copy among those of its store: by column where relations of one stream share it, else by number."""


def copy_of(graph: StateGraph, site: int, partitioning: int) -> Copy:
    """The copy that a partitioning of a site stands for."""
    found = graph.sites[site]
    if found.state.size > 1:
        return partitioning
    attribute = found.partitionings[partitioning]
    return None if attribute is None else attribute.name


@dataclass(frozen=True, slots=True)
class CopyAssignment:
    """Arcs spread over a store's copies so that no task gets more than it must."""

    assigned: Mapping[int, int]
    """The partitioning number, at the arc's own site, of the copy that each arc goes to."""
    loads: Mapping[Copy, float]
    """Tuples per second that one task of each copy receives."""

    def excess(self, capacity: float) -> float:
        """Tuples per second above the capacity, over one task of every copy."""
        over = 0.0
        for load in self.loads.values():
            over += max(0.0, load - capacity)
        return over


def assign_copies(
    graph: StateGraph, arcs: Mapping[int, Sequence[int]], copies: Mapping[int, int]
) -> CopyAssignment:
    """Give every arc, the largest first, the copy whose tasks do least by then.

    A copy that the sender knows takes a part of an arc's tuples per task, any other all of them.

    Args:
        arcs: into each of the sites that share a store: a materialized result, or all relations of
            one stream.
        copies: installed partitionings of each of these sites, as bit masks.
    """
    loads: dict[Copy, float] = {}
    installed: dict[int, list[tuple[int, Copy]]] = {}
    for site in sorted(arcs):
        installed[site] = [(p, copy_of(graph, site, p)) for p in bits(copies[site])]
        inserted = graph.inserted(site) / graph.sites[site].tasks
        loads |= {copy: inserted for _, copy in installed[site]}
    assigned = {}
    pending = [(arc, site) for site, into in arcs.items() for arc in into]
    for arc, site in sorted(pending, key=lambda one: (-graph.rate[one[0]], one[0])):
        known = [(p, copy) for p, copy in installed[site] if graph.known[arc] >> p & 1]
        chosen, copy = min(known or installed[site], key=lambda one: (loads[one[1]], one[0]))
        loads[copy] += graph.rate[arc] / (graph.sites[site].tasks if known else 1)
        assigned[arc] = chosen
    return CopyAssignment(assigned, loads)


def free_copies(graph: StateGraph) -> bool:
    """True if nothing limits or prices copies, so that every useful one is installed."""
    options = graph.options
    return (
        options.cost == "messages"
        and options.storage_weight == 0
        and not options.single_copy
        and options.storage_budget is None
        and options.task_capacity is None
    )
