"""Flat plans: every query probes base stores alone, and equal prefixes are merged.

Each query gets its own best probe orders first. Small queries are solved exhaustively:
for every partitioning scheme of its stores (Figure 6.7) the best order of every start is a
shortest path through the query's states, which covers all (n-1)! sequences. Larger ones use
Algorithm 1 of dissertation section 5.3.2.
"""

from __future__ import annotations

from itertools import product
from math import inf, prod
from time import perf_counter

from optimizer.methods.heuristic.local_search import unburden
from optimizer.methods.solution.assemble import assemble, check_limits, empty
from optimizer.methods.solution.partial_plan import PartialPlan
from optimizer.methods.solution.store_copies import free_copies
from optimizer.search.problem import Options, Problem, Solution
from optimizer.search.state_graph import StateGraph

SCHEME_LIMIT = 128
"""Partitioning schemes of one query up to which all are tried; more are improved one by one."""
EXHAUSTIVE_RELATIONS = 8
"""Queries over more relations get Algorithm 1's probe orders."""


class Flat:
    name = "flat"

    def solve(self, problem: Problem, options: Options, running: Solution | None = None) -> Solution:
        """The best flat plan of each query, merged; see `Method.solve`."""
        begun = perf_counter()
        graph = StateGraph(problem, options, mirs=False, running=running)
        built = perf_counter()
        if not graph.required:
            return empty(self.name)
        draft = PartialPlan(graph)
        draft.choose_copies()
        for target in graph.required:
            route_flat(draft, target)
        draft.choose_copies()
        unburden(draft, built + options.time_limit_s, results=False)
        solution = assemble(draft, self.name, built - begun, perf_counter() - built)
        return check_limits(problem, options, solution)


def route_flat(draft: PartialPlan, target: int) -> None:
    """Install the probe orders over base stores that are the target's best if alone."""
    graph = draft.graph
    state = graph.states[target]
    if state.size > EXHAUSTIVE_RELATIONS:
        for start in state.members:
            draft.set_path((target, start), algorithm_1(graph, target, start))
        return
    sites = [graph.states_of_start(member) for member in state.members]
    choices = [_schemes(graph, site) for site in sites]
    if prod(len(c) for c in choices) <= SCHEME_LIMIT:
        cost, paths = inf, {}
        for scheme in product(*choices):
            found_cost, found = _route_under(draft, target, dict(zip(sites, scheme, strict=True)), cost)
            if found_cost < cost:
                cost, paths = found_cost, found
    else:
        scheme_of = {site: c[0] for site, c in zip(sites, choices, strict=True)}
        cost, paths = _route_under(draft, target, scheme_of, inf)
        improved = True
        while improved:
            improved = False
            for site, options in zip(sites, choices, strict=True):
                for option in options:
                    changed = {**scheme_of, site: option}
                    found_cost, found = _route_under(draft, target, changed, cost)
                    if found_cost < cost:
                        cost, paths, scheme_of, improved = found_cost, found, changed, True
    for start, path in paths.items():
        draft.set_path((target, start), path)


def _schemes(graph: StateGraph, site: int) -> list[int]:
    """Single copies of each candidate partitioning, and all where copies may coexist."""
    count = len(graph.sites[site].partitionings)
    if graph.sites[site].tasks == 1:
        return [1]
    if free_copies(graph):
        return [(1 << count) - 1]
    singles = [1 << i for i in range(count)]
    if count > 1 and not graph.options.single_copy:
        singles.append((1 << count) - 1)
    return singles


def _route_under(
    draft: PartialPlan, target: int, scheme: dict[int, int], limit: float
) -> tuple[float, dict[int, tuple[int, ...]]]:
    """Cost and path per start of one query under fixed copies; stops above `limit`."""
    graph = draft.graph
    cost = sum(
        weight
        for site, copies in scheme.items()
        for i, weight in enumerate(graph.sites[site].weights)
        if copies >> i & 1
    )
    paths = {}
    for start in graph.states[target].members:
        if cost >= limit:
            return inf, {}
        found = _shortest(graph, target, start, scheme)
        cost += found[0]
        paths[start] = found[1]
    return cost, paths


def _shortest(
    graph: StateGraph, target: int, start: int, scheme: dict[int, int]
) -> tuple[float, tuple[int, ...]]:
    latency = graph.targets[target].latency[graph.targets[target].state.members.index(start)]
    first = graph.states_of_start(start)
    distance = {first: 0.0}
    via: dict[int, int] = {}
    for arc in graph.routes(target, start):
        copies = scheme.get(graph.store[arc])
        so_far = distance.get(graph.source[arc])
        if copies is None or so_far is None:
            continue
        routed = graph.known[arc] & copies
        sent = graph.cost[arc] if routed else graph.broadcast_cost(arc)
        so_far += sent + latency
        if so_far < distance.get(graph.target[arc], inf):
            distance[graph.target[arc]] = so_far
            via[graph.target[arc]] = arc
    return distance[target], unwind(graph, via, target, first)


def unwind(graph: StateGraph, via: dict[int, int], target: int, first: int) -> tuple[int, ...]:
    """The arcs from state `first` to `target`, given those that led to each."""
    path = []
    state = target
    while state != first:
        path.append(via[state])
        state = graph.source[via[state]]
    return tuple(reversed(path))


def algorithm_1(graph: StateGraph, target: int, start: int) -> tuple[int, ...]:
    """A probe order by Algorithm 1.

    Each step takes the cheapest next send plus the send that must follow it.

    In each step the pair (R_j, R_k) minimizes what is sent to R_j plus what is then sent to
    R_k, with N copies where the receiver's partitioning is not known to the sender (under the
    first partitioning that is, which is the optimistic reading of equation 6.2).
    """
    by_source: dict[int, list[int]] = {}
    for arc in graph.routes(target, start):
        if graph.states[graph.store[arc]].size == 1:
            by_source.setdefault(graph.source[arc], []).append(arc)

    def sent(arc: int) -> float:
        return graph.cost[arc] if graph.known[arc] else graph.broadcast_cost(arc)

    ends = _reaching(graph, by_source, target)
    path = []
    state = graph.states_of_start(start)
    while state != target:
        arcs = [arc for arc in by_source[state] if graph.target[arc] in ends]
        best = min(
            arcs,
            key=lambda arc: (
                sent(arc)
                + min((sent(follow) for follow in by_source.get(graph.target[arc], ())), default=0.0),
                arc,
            ),
        )
        path.append(best)
        state = graph.target[best]
    return tuple(path)


def _reaching(graph: StateGraph, by_source: dict[int, list[int]], target: int) -> set[int]:
    """States from which the target can still be reached."""
    ends = {target}
    for source in sorted(by_source, key=lambda s: -graph.states[s].size):
        if any(graph.target[arc] in ends for arc in by_source[source]):
            ends.add(source)
    return ends
