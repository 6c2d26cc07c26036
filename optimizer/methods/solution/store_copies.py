"""The copies of a state graph's stores: their names, and the arcs into each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.search.copy_choice import assign_probes
from optimizer.search.join_graph import bits
from optimizer.search.state_graph import StateGraph

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
    pending = sorted(
        ((arc, site) for site, into in arcs.items() for arc in into),
        key=lambda one: (-graph.rate[one[0]], one[0]),
    )
    probes = []
    for arc, site in pending:
        known = [copy for p, copy in installed[site] if graph.known[arc] >> p & 1]
        ways = known or [copy for _, copy in installed[site]]
        probes.append((graph.rate[arc], ways, graph.sites[site].tasks if known else 1))
    numbers = {site: {copy: p for p, copy in found} for site, found in installed.items()}
    chosen = assign_probes(probes, loads)
    assigned = {arc: numbers[site][copy] for (arc, site), copy in zip(pending, chosen, strict=True)}
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
