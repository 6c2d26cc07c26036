"""A plan under construction: a path per target and start, with the cost kept up to date.

Given the arcs in use, the total cost is a sum over receiving stores, and each store's
partitioning can be chosen by itself: installed copies cost their tuples, every arc whose
sender knows none of the installed partitionings is sent to all tasks. So a change of one
path touches only the stores on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf

from optimizer.states import StateGraph, StoreSite

EXHAUSTIVE_PARTITIONINGS = 6
"""Up to this many candidates of one store all sets of copies are tried."""

Key = tuple[int, int]
"""(target state, start relation)"""


@dataclass(frozen=True, slots=True)
class _PathChange:
    key: Key
    path: tuple[int, ...] | None
    """What it was."""


@dataclass(frozen=True, slots=True)
class _MirChange:
    mir: int
    active: bool
    """Whether it was."""


class Draft:
    """Paths of all active targets, the copies of all active stores, and their cost.

    `price` is added to the objective per stored tuple, which is how heuristics obey a storage
    budget. `guide` replaces the arcs' costs while paths are searched, not in the total. `targets` limits
    the plan to some of the required targets.
    """

    def __init__(
        self,
        graph: StateGraph,
        price: float = 0.0,
        guide: list[float] | None = None,
        targets: Iterable[int] | None = None,
    ) -> None:
        self.graph = graph
        self.targets = tuple(graph.required if targets is None else targets)
        self.guide = graph.cost if guide is None else guide
        self.paths: dict[Key, tuple[int, ...]] = {}
        self.use = [0] * len(graph.start)
        self.arcs_into: dict[int, set[int]] = {}
        self.mirs: set[int] = set()
        self.copies: dict[int, int] = {}
        """Installed partitionings of active stores, as bit masks."""
        self.pinned: dict[int, int] = {}
        """Stores whose copies are fixed for the moment."""
        self.assigned: dict[int, int] = {}
        """Arcs whose copy of the receiving store is decided, as partitioning numbers."""
        self.total = 0.0
        self._journal: list[_PathChange | _MirChange] | None = None
        self._store_cost: dict[int, float] = {}
        self._dirty: set[int] = set()
        self._price = price
        for target in self.targets:
            for start in graph.states[target].members:
                self._activate(graph.states_of_start(start))

    def _weights(self, index: int) -> tuple[float, ...]:
        site = self.graph.sites[index]
        return tuple(w + self._price * site.tuples for w in site.weights) if self._price else site.weights

    # -- changing -------------------------------------------------------------------

    def _activate(self, site: int) -> None:
        self.arcs_into.setdefault(site, set())
        self._dirty.add(site)

    def add_mir(self, mir: int) -> None:
        if self._journal is not None:
            self._journal.append(_MirChange(mir, mir in self.mirs))
        self.mirs.add(mir)
        self._activate(mir)

    def drop_mir(self, mir: int) -> None:
        if self._journal is not None:
            self._journal.append(_MirChange(mir, mir in self.mirs))
        self.mirs.discard(mir)
        self._dirty.add(mir)

    def begin(self) -> None:
        """Remember changes from here on, so that `rollback` can undo them."""
        self._journal = []

    def commit(self) -> None:
        self._journal = None

    def rollback(self) -> None:
        """Undo what changed since `begin`. Copies are chosen again, the same as before."""
        journal, self._journal = self._journal or [], None
        for entry in reversed(journal):
            if isinstance(entry, _PathChange):
                self.set_path(entry.key, entry.path)
            elif entry.active:
                self.add_mir(entry.mir)
            else:
                self.drop_mir(entry.mir)
        self.settle()

    def set_path(self, key: Key, path: tuple[int, ...] | None) -> None:
        """Install, replace or remove (None) the path of a target and start."""
        graph, use = self.graph, self.use
        old = self.paths.pop(key, None)
        if self._journal is not None:
            self._journal.append(_PathChange(key, old))
        if old is not None:
            self.total -= self._latency(key) * len(old)
            for arc in old:
                use[arc] -= 1
                if not use[arc]:
                    self.arcs_into[graph.store[arc]].discard(arc)
                    self._dirty.add(graph.store[arc])
        if path is not None:
            self.paths[key] = path
            self.total += self._latency(key) * len(path)
            for arc in path:
                if not use[arc]:
                    self.arcs_into.setdefault(graph.store[arc], set()).add(arc)
                    self._dirty.add(graph.store[arc])
                use[arc] += 1

    def _latency(self, key: Key) -> float:
        target = self.graph.targets[key[0]]
        return target.latency[target.state.members.index(key[1])]

    def pin(self, site: int, copies: int) -> None:
        self.pinned[site] = copies
        self._dirty.add(site)

    def unpin(self, site: int) -> None:
        self.pinned.pop(site, None)
        self._dirty.add(site)

    # -- cost -----------------------------------------------------------------------

    def settle(self) -> float:
        """Choose the copies of every store that changed; returns the total cost."""
        for site in sorted(self._dirty):
            self.total -= self._store_cost.pop(site, 0.0)
            if self.graph.sites[site].state.size > 1 and site not in self.mirs:
                self.copies.pop(site, None)
                continue
            cost, self.copies[site] = self._best_copies(site)
            self._store_cost[site] = cost
            self.total += cost
        self._dirty.clear()
        return self.total

    def _best_copies(self, index: int) -> tuple[float, int]:
        graph = self.graph
        site = graph.sites[index]
        routed = 0.0
        by_known: dict[int, float] = {}
        for arc in sorted(self.arcs_into[index]):
            routed += graph.cost[arc]
            by_known[graph.known[arc]] = by_known.get(graph.known[arc], 0.0) + graph.cost[arc]
        return best_copies(
            site,
            self._weights(index),
            routed,
            by_known,
            single=graph.options.single_copy,
            pinned=self.pinned.get(index),
        )

    # -- paths ----------------------------------------------------------------------

    def cheapest_path(
        self, key: Key, banned: int | None = None, arcs: Sequence[int] | None = None
    ) -> tuple[float, tuple[int, ...]] | None:
        """The path with the smallest marginal cost over active stores, and that cost.

        Arcs that are in use cost nothing more. Ties go to the arc found first, so the answer is
        the same in every run. `banned` is a store to do without, `arcs` limits the arcs to look
        at, in increasing coverage. None if there is no path.
        """
        graph = self.graph
        target, start = key
        hop = self._latency(key)
        first = graph.states_of_start(start)
        distance = {first: 0.0}
        via: dict[int, int] = {}
        source_of, store_of, target_of, cost_of = graph.source, graph.store, graph.target, self.guide
        known_of, use, copies = graph.known, self.use, self.copies
        for arc in graph.routes(target, start) if arcs is None else arcs:
            so_far = distance.get(source_of[arc])
            if so_far is None:
                continue
            store = store_of[arc]
            installed = copies.get(store)
            if installed is None or store == banned:
                continue
            so_far += hop
            if not use[arc]:
                if known_of[arc] & installed:
                    so_far += cost_of[arc]
                else:
                    so_far += self._unknown_cost(arc, store, cost_of[arc])
            if so_far < distance.get(target_of[arc], inf):
                distance[target_of[arc]] = so_far
                via[target_of[arc]] = arc
        if target not in distance:
            return None
        path = []
        state = target
        while state != first:
            path.append(via[state])
            state = source_of[via[state]]
        return distance[target], tuple(reversed(path))

    def _unknown_cost(self, arc: int, store: int, cost: float) -> float:
        """Broadcast to all tasks, or one more copy that the sender knows, whichever is cheaper."""
        site = self.graph.sites[store]
        broadcast = cost * site.tasks
        known = self.graph.known[arc]
        if known and store not in self.pinned and not self.graph.options.single_copy:
            weights = self._weights(store)
            least = min(w for i, w in enumerate(weights) if known >> i & 1)
            return min(broadcast, cost + least)
        return broadcast


def best_copies(
    site: StoreSite,
    weights: tuple[float, ...],
    routed: float,
    by_known: dict[int, float],
    *,
    single: bool = False,
    pinned: int | None = None,
) -> tuple[float, int]:
    """The cheapest set of installed copies of one store, and the store's cost.

    Args:
        weights: objective per copy of each candidate partitioning.
        routed: cost of all arcs into the store at chi = 1.
        by_known: the same by what the senders know (bit mask over the candidates).
    """
    extra = site.tasks - 1
    count = len(site.partitionings)

    def cost(copies: int) -> float:
        stored = sum(weights[i] for i in range(count) if copies >> i & 1)
        unknown = sum(c for known, c in by_known.items() if not known & copies)
        return stored + routed + extra * unknown

    if pinned is not None:
        return cost(pinned), pinned
    best = min((cost(1 << i), i) for i in range(count))
    best_cost, chosen = best[0], 1 << best[1]
    if single or count == 1 or not extra:
        return best_cost, chosen
    if count <= EXHAUSTIVE_PARTITIONINGS:
        for size in range(2, count + 1):
            for picks in combinations(range(count), size):
                copies = sum(1 << i for i in picks)
                total = cost(copies)
                if total < best_cost - 1e-12 * abs(best_cost):
                    best_cost, chosen = total, copies
        return best_cost, chosen
    improved = True
    while improved:
        improved = False
        for i in range(count):
            copies = chosen ^ (1 << i)
            if copies and cost(copies) < best_cost - 1e-12 * abs(best_cost):
                best_cost, chosen, improved = cost(copies), copies, True
    return best_cost, chosen
