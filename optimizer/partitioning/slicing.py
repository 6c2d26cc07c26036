"""Time slices for stores without equalities (PSP: Wang, Rundensteiner, EDBT 2009).

Methods plan such a store as spread at random and every probe of it as a broadcast. Here the finished graph
gets slices of event time instead, where that is cheaper. What is weighed is what the paper weighs in
equations 1 to 5, read for stages: a tuple that is sent costs one unit for every task that it reaches (their
T_s, times the hops), and the pairs that it forms cost what evaluating them takes (T_j), divided by the tasks
that share them. A broadcast shares the pairs evenly and reaches all N tasks. Wide slices reach few tasks,
but leave the pairs to few; narrow ones share them out and reach as many tasks as the broadcast. A batch that
spans more event time than a window touches many slices at once, so then few wide slices keep all tasks busy:
see `busiest_share`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import numpy.typing as npt

from optimizer.algebra.digest import digest
from optimizer.physical.fanout import fanout, reach_us
from optimizer.physical.graph import Estimate, GraphStore, Grid, Grids, PhysicalGraph, Slices
from optimizer.physical.rules import ProbeRule, Rule, StoreRule
from optimizer.search.problem import Options, Solution, Status

PAIR = 0.005
"""Cost of forming a pair and checking built-in predicates on it, in probe tuples: some 15 ns beside the 3 µs
of `optimizer.udf.pair_cost.TUPLE_US`."""
LEAST_GAIN = 0.1
"""Of a store's broadcasts, the share that slices have to save; estimates are no better than that."""
_MOST_PER_TASK = 4
"""Slices of one retention per task that are tried: more send more and balance hardly better."""
_PHASES = 8
"""Places of the first boundary that the busiest task's share is averaged over."""
_MANY_PER_TASK = 32
"""Slices at work per task from which on the busiest task has less than a 32nd more than the others."""


def choose_slices(
    graph: PhysicalGraph,
    solution: Solution,
    options: Options,
    batch_s: float = 0.0,
    unbounded: Collection[str] = (),
) -> tuple[PhysicalGraph, Solution]:
    """Slice the stores whose broadcast probes become cheaper by it.

    All of their probes are broadcast. Returns the graph, and the solution at its cost.

    A plan that a task's capacity limits stays as it is: at any moment one task takes in all new tuples of a
    sliced store.

    Args:
        graph: as `optimizer.lower.to_graph` writes it, with its estimates.
        solution: at the cost of `graph`.
        options: the planning's.
        batch_s: event time that a batch spans, seconds; 0 if nothing is known, which favours broadcasts.
        unbounded: streams of which stores will have to keep everything; nothing says how wide their slices
            would be.

    Source: PSP, sections 5.1 and 5.2; the search over counts replaces the derivative of equation 5, because
    tasks and slices are whole numbers.
    """
    if options.task_capacity is not None:
        return graph, solution
    chosen: dict[str, Slices] = {}
    for store in graph.stores:
        probes = _probes(graph, store)
        if store.partitioning is not None or store.tasks == 1 or store.inputs[0].stream in unbounded:
            continue
        if _can_be_sliced(store) and probes:
            best = _best(store, probes, batch_s)
            if best is not None:
                chosen[store.id] = best
    if not chosen:
        return graph, solution
    made = with_slices(graph, chosen)
    saved = _cost_of_probes(graph) - _cost_of_probes(made)
    cost = replace(solution.cost, probe=solution.cost.probe - options.pricing.weights[0] * saved)
    # The method's bound is one for plans without slices.
    return made, replace(solution, cost=cost, bound=None, status=Status.FEASIBLE)


def slice_all(graph: PhysicalGraph, slices: Slices) -> PhysicalGraph:
    """Slice every base store that can be and is kept once, whatever it costs (tests)."""
    held = {hold.store for hold in graph.holds}
    # Where results wait for the next batch nobody looks for event times.
    held |= {stream.derived.store for stream in graph.derived if stream.derived is not None}
    return with_slices(
        graph,
        {
            store.id: slices
            for store in graph.stores
            if store.id not in held
            and _can_be_sliced(store)
            and not isinstance(store.partitioning, Grid | Grids)
        },
    )


def with_slices(graph: PhysicalGraph, chosen: Mapping[str, Slices]) -> PhysicalGraph:
    """The graph with some base stores partitioned anew; edges and estimates follow.

    A store's identity says that it is sliced, but not into how many slices: at a change of their number it
    goes on, and its boundaries move with the tuples to come (docs/design/psp.md).

    Args:
        chosen: by the store's id; all of them bounded in time.
    """
    if not chosen:
        return graph
    names = {store: digest("S", store, "slices") for store in chosen}
    stores = tuple(
        replace(
            store,
            id=names[store.id],
            label=f"{store.inputs[0].input}[time/{chosen[store.id].count}]",
            partitioning=chosen[store.id],
        )
        if store.id in chosen
        else store
        for store in graph.stores
    )
    edges = tuple(
        replace(edge, target=names[edge.target], kind="slices", key=None) if edge.target in chosen else edge
        for edge in graph.edges
    )
    rules = tuple(_receiving(rule, names) for rule in graph.rules)
    made = replace(
        graph,
        stores=tuple(sorted(stores, key=lambda s: (len(s.inputs), s.label, s.id))),
        edges=edges,
        rules=rules,
        holds=tuple(hold.among(names) for hold in graph.holds),
    )
    return replace(made, estimates=_estimates(graph, made, names))


@dataclass(frozen=True, slots=True)
class _Probe:
    """What the cost model knows of the probes that travel along one edge."""

    tuples_per_second: float
    reach_us: int | None
    window_us: int
    """Of the stored input, in this probe."""
    evaluation: float
    """Of pairs, per second, in probe tuples."""


def _probes(graph: PhysicalGraph, store: GraphStore) -> list[_Probe]:
    """The probes of a store, if all of them are broadcast; else none."""
    estimates = {estimate.id: estimate for estimate in graph.estimates}
    edges = {edge.id: edge for edge in graph.edges}
    held, retention = estimates.get(store.id), store.retention[0].reach_us
    found = []
    for rule in graph.rules:
        if not isinstance(rule, ProbeRule) or rule.store != store.id:
            continue
        expected = estimates.get(rule.edge)
        if edges[rule.edge].kind != "all" or expected is None or held is None or not retention:
            return []
        rate, window = expected.tuples_per_second or 0.0, _window_us(rule)
        costly = max(0.0, (expected.cost or 0.0) - rate * store.tasks)
        # An equality that cannot route still joins by hashing: its pairs are few.
        partners = 0.0 if rule.equalities else (held.tuples or 0.0) * min(1.0, window / retention)
        found.append(_Probe(rate, reach_us(rule), window, costly + rate * partners * PAIR))
    return found


def _window_us(rule: ProbeRule) -> int:
    window_us = rule.stored_window.reach_us
    assert window_us is not None, "a bounded store is probed in a bounded window"
    return window_us


def _best(store: GraphStore, probes: list[_Probe], batch_s: float) -> Slices | None:
    """The number of slices of least cost; None if a broadcast is nearly as cheap."""
    broadcast = sum(probe.tuples_per_second * store.tasks + probe.evaluation for probe in probes)
    costs = {
        count: sum(_cost(store, Slices(count), probe, batch_s) for probe in probes)
        for count in range(1, _MOST_PER_TASK * store.tasks + 1)
    }
    count = min(costs, key=lambda tried: (costs[tried], tried))
    return Slices(count) if costs[count] < (1.0 - LEAST_GAIN) * broadcast else None


def _cost(store: GraphStore, slices: Slices, probe: _Probe, batch_s: float) -> float:
    """Cost per second of slices: tuples sent, and pairs.

    Pairs count as often as the busiest task makes the others wait for it.
    """
    width = slices.width_us(store.retention[0])
    reached = store.tasks if probe.reach_us is None else min(store.tasks, probe.reach_us / width + 1.0)
    share = busiest_share(width, probe.window_us, batch_s * 1e6, store.tasks)
    return probe.tuples_per_second * reached + probe.evaluation * store.tasks * share


def busiest_share(width: float, window: float, batch: float, tasks: int) -> float:
    """The busiest task's part of a batch's pairs, slices dealt out to tasks in turn.

    A stored tuple meets those of the batch that are newer, by at most the window. So pairs lie over the
    stored tuples' event time like a trapezoid: they become more from a window before the batch on for as long
    as the shorter of window and batch lasts, and fewer towards the end of the batch. A slice has the part of
    it that it covers. Where boundaries are when a batch comes is chance: the mean over places is returned.

    >>> [round(busiest_share(width, 8.0, 2.0, 4), 3) for width in (8.0, 4.0, 2.0)]
    [0.746, 0.495, 0.25]

    Args:
        width: event time that a slice spans; all three times have the same unit.
        window: how much older than a tuple of the batch a partner may be.
        batch: event time that a batch spans.
        tasks: of the store.

    Source: PSP, section 5.5, where slices are ages of tuples and all of them at work for every tuple.
    """
    longer, shorter = max(window, batch), min(window, batch)
    busy = (window + batch) / width
    if busy >= _MANY_PER_TASK * tasks:
        return 1.0 / tasks
    if busy == 0.0:
        return 1.0
    begins = (np.arange(_PHASES) + 0.5) / _PHASES
    rounds = ceil((busy + 1.0) / tasks)
    boundaries = width * (np.arange(rounds * tasks + 1) - begins[:, None])
    parts = np.diff(_pairs_before(boundaries, longer, shorter), axis=1)
    by_task = parts.reshape(_PHASES, rounds, tasks).sum(axis=1)
    return float(by_task.max(axis=1).mean())


def _pairs_before(times: npt.NDArray[np.float64], longer: float, shorter: float) -> npt.NDArray[np.float64]:
    """The part of a batch's pairs with stored tuples before each time.

    Times count from the first of them.

    Args:
        times: event times.
        longer: the longer one of window and batch.
        shorter: the other one.
    """
    if shorter == 0.0:
        return np.clip(times / longer, 0.0, 1.0)
    rise, level, fall, end = (
        np.maximum(times - begin, 0.0) ** 2 / 2 for begin in (0.0, shorter, longer, longer + shorter)
    )
    found: npt.NDArray[np.float64] = (rise - level - fall + end) / (longer * shorter)
    return found


def _cost_of_probes(graph: PhysicalGraph) -> float:
    """Per second, in probe tuples."""
    costs = {one.id: one.cost or 0.0 for one in graph.estimates}
    return sum(costs.get(rule.edge, 0.0) for rule in graph.rules if isinstance(rule, ProbeRule))


def _can_be_sliced(store: GraphStore) -> bool:
    """True if there is one event time, and an end to what is kept.

    A table has none: which version is in force at a time, and of what age, its slices do not say.
    """
    return store.is_base and not store.key and store.retention[0].is_bounded


def _receiving(rule: Rule, names: Mapping[str, str]) -> Rule:
    if isinstance(rule, StoreRule | ProbeRule) and rule.store in names:
        return replace(rule, store=names[rule.store])
    return rule


def _estimates(before: PhysicalGraph, after: PhysicalGraph, names: Mapping[str, str]) -> tuple[Estimate, ...]:
    """Estimates under the stores' new identities, with new copies of probes."""
    old = {edge.id: edge for edge in before.edges}
    new = {edge.id: edge for edge in after.edges}
    stores = {store.id: store for store in (*before.stores, *after.stores)}
    saved: dict[str, float] = {}
    rates = {estimate.id: estimate.tuples_per_second or 0.0 for estimate in before.estimates}
    for rule in after.rules:
        if isinstance(rule, ProbeRule):
            was, now = (fanout(edge, stores[edge.target], rule) for edge in (old[rule.edge], new[rule.edge]))
            saved[rule.edge] = saved[rule.id] = (was - now) * rates.get(rule.edge, 0.0)
    estimates = (
        replace(
            estimate,
            id=names.get(estimate.id, estimate.id),
            cost=None if estimate.cost is None else estimate.cost - saved.get(estimate.id, 0.0),
        )
        for estimate in before.estimates
    )
    return tuple(sorted(estimates, key=lambda e: e.id))
