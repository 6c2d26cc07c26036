"""A partial plan: a path per target and start, at an up-to-date cost.

Given the arcs in use, the total cost is a sum over receiving stores, and each store's
partitioning can be chosen by itself (`optimizer.search.copy_choice`). So a change of one path
touches only the stores on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from math import inf

from optimizer.methods.solution.store_copies import CopyAssignment, assign_copies, copy_of
from optimizer.methods.solution.trials import Key, MirChange, PathChange, Trial
from optimizer.search.copy_choice import best_copies, copies_cost, relieved_copies
from optimizer.search.join_graph import bits
from optimizer.search.state_graph import StateGraph


class PartialPlan:
    """Paths of all active targets, the copies of all active stores, and their cost.

    `price` is added to the objective per stored tuple, which is how heuristics obey a storage
    budget; `limit_loads` does the same for a task capacity. `guide` replaces the arcs' costs
    while paths are searched, not in the total. `targets` limits the plan to some of the required
    targets.
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
        self.searches = 0
        """Paths that were searched: a measure of work that is the same on every machine."""
        self.changes = 0
        """Changes that were kept after a trial."""
        self.changed: dict[int, int] = {}
        """By store: the last such change that reached it."""
        self._trials: list[Trial] = []
        self._store_cost: dict[int, float] = {}
        self._dirty: set[int] = set()
        self._price = price
        self._excess_price: float | None = None
        self._least_copy: dict[tuple[int, int], float] = {}
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
        if self._trials:
            self._trials[-1].changes.append(MirChange(mir, mir in self.mirs))
        self.mirs.add(mir)
        self._activate(mir)

    def drop_mir(self, mir: int) -> None:
        if self._trials:
            self._trials[-1].changes.append(MirChange(mir, mir in self.mirs))
        self.mirs.discard(mir)
        self._dirty.add(mir)

    def begin(self) -> None:
        """Remember changes from here on, so that `rollback` can undo them.

        Trials may nest.
        """
        self.choose_copies()
        self._trials.append(Trial(self.total))

    def commit(self) -> None:
        """Keep what changed since the last `begin`; a trial around it can still undo it."""
        self.choose_copies()
        ended = self._trials.pop()
        if self._trials:
            around = self._trials[-1]
            around.changes += ended.changes
            for site, before in ended.stores.items():
                around.stores.setdefault(site, before)
        else:
            self.changes += 1
            for site in ended.stores:
                self.changed[site] = self.changes

    def changed_keys(self) -> list[Key]:
        """The keys whose paths were set since the last `begin`, sorted."""
        return sorted({c.key for c in self._trials[-1].changes if isinstance(c, PathChange)})

    def rollback(self) -> None:
        """Undo what changed since the last `begin`, to the last digit."""
        trial = self._trials.pop()
        for entry in reversed(trial.changes):
            if isinstance(entry, PathChange):
                self._replace(entry.key, self.paths.pop(entry.key, None), entry.path)
            elif entry.active:
                self.mirs.add(entry.mir)
            else:
                self.mirs.discard(entry.mir)
        for site, (cost, copies) in trial.stores.items():
            if cost is None or copies is None:
                self._store_cost.pop(site, None)
                self.copies.pop(site, None)
            else:
                self._store_cost[site] = cost
                self.copies[site] = copies
        self._dirty.clear()
        self.total = trial.total

    def set_path(self, key: Key, path: tuple[int, ...] | None) -> None:
        """Install, replace or remove (None) the path of a target and start."""
        old = self.paths.pop(key, None)
        if self._trials:
            self._trials[-1].changes.append(PathChange(key, old))
        hop = self.graph.latency(*key) if self.graph.options.latency_weight else 0.0
        if hop:
            self.total += hop * (len(path or ()) - len(old or ()))
        self._replace(key, old, path)

    def _replace(self, key: Key, old: tuple[int, ...] | None, path: tuple[int, ...] | None) -> None:
        use, store_of, arcs_into, dirty = self.use, self.graph.store, self.arcs_into, self._dirty
        if old is not None:
            for arc in old:
                use[arc] -= 1
                if not use[arc]:
                    store = store_of[arc]
                    arcs_into[store].discard(arc)
                    dirty.add(store)
        if path is not None:
            self.paths[key] = path
            for arc in path:
                if not use[arc]:
                    store = store_of[arc]
                    arcs_into.setdefault(store, set()).add(arc)
                    dirty.add(store)
                use[arc] += 1

    def pin(self, site: int, copies: int) -> None:
        self.pinned[site] = copies
        self._dirty.add(site)

    def unpin(self, site: int) -> None:
        self.pinned.pop(site, None)
        self._dirty.add(site)

    # -- cost -----------------------------------------------------------------------

    def choose_copies(self) -> float:
        """Choose the copies of every store that changed; returns the total cost."""
        if not self._dirty:
            return self.total
        states, store_cost, copies = self.graph.states, self._store_cost, self.copies
        before = self._trials[-1].stores if self._trials else None
        if self._excess_price is not None:
            # What one relation's tuples leave of a task is what the others of its stream may use.
            self._dirty |= {other for site in self._dirty for other in self._sharing(site)}
        for site in sorted(self._dirty):
            old = store_cost.pop(site, None)
            if before is not None and site not in before:
                before[site] = (old, copies.get(site))
            if old is not None:
                self.total -= old
            if states[site].size > 1 and site not in self.mirs:
                copies.pop(site, None)
                continue
            cost, copies[site] = self._best_copies(site)
            store_cost[site] = cost
            self.total += cost
        self._dirty.clear()
        return self.total

    def _best_copies(self, index: int) -> tuple[float, int]:
        graph = self.graph
        arc_cost, copy_cost, arc_known = graph.cost, graph.copy_cost, graph.known
        routed = 0.0
        by_known: dict[int, float] = {}
        for arc in sorted(self.arcs_into[index]):
            cost, known = arc_cost[arc], arc_known[arc]
            routed += cost
            by_known[known] = by_known.get(known, 0.0) + copy_cost[arc]
        site, weights, pinned = graph.sites[index], self._weights(index), self.pinned.get(index)
        if self._excess_price is not None:
            return self._spread_copies(index, weights, routed, by_known)
        if pinned is not None:
            return copies_cost(weights, routed, by_known.items(), site.tasks - 1, pinned), pinned
        return best_copies(site.tasks, weights, routed, by_known, single=graph.options.single_copy)

    # -- loads ----------------------------------------------------------------------

    def limit_loads(self, price: float) -> None:
        """Price what tasks get above their capacity.

        `price` is added to the objective per tuple and second of it.

        Every arc is then given a copy of its own (`assigned`), so that the loads can be known.
        """
        self._excess_price = price
        self._dirty |= self._store_cost.keys()
        self.choose_copies()

    def _sharing(self, site: int) -> tuple[int, ...]:
        """The active sites that share their store with a site."""
        return tuple(other for other in self.graph.sharing(site) if other in self.copies)

    def assignment(self, site: int) -> CopyAssignment:
        """All arcs into the store of an active site, assigned to its copies."""
        return self._assignment(site, self.copies[site])

    def _assignment(self, site: int, copies: int) -> CopyAssignment:
        installed = {other: self.copies[other] for other in self._sharing(site)} | {site: copies}
        arcs = {other: sorted(self.arcs_into[other]) for other in installed}
        return assign_copies(self.graph, arcs, installed)

    def assignments(self) -> Iterator[CopyAssignment]:
        """The assignment of every store in use, once for all sites that share one."""
        for site in sorted(self.copies):
            if site == self._sharing(site)[0]:
                yield self.assignment(site)

    def assign(self) -> None:
        """Fix the copy that each arc goes to as its assignment would have it."""
        self.assigned = {arc: copy for found in self.assignments() for arc, copy in found.assigned.items()}

    def excess(self) -> float:
        """Tuples per second that tasks get above their capacity; 0 if the plan keeps it."""
        capacity = self.graph.options.task_capacity
        if capacity is None:
            return 0.0
        limit = capacity * (1 + 1e-9)
        return sum(found.excess(limit) for found in self.assignments())

    def _spread_copies(
        self, index: int, weights: tuple[float, ...], routed: float, by_known: dict[int, float]
    ) -> tuple[float, int]:
        """The cheapest copies of a store and their cost, with tasks' excess load priced.

        The excess of sites that share a store is added to the last of them, once.
        """
        graph = self.graph
        capacity, price = graph.options.task_capacity, self._excess_price
        assert capacity is not None
        assert price is not None
        site = graph.sites[index]
        sums = tuple(by_known.items())

        def stored(copies: int) -> float:
            return copies_cost(weights, routed, sums, site.tasks - 1, copies)

        def cost(copies: int) -> float:
            return stored(copies) + price * self._assignment(index, copies).excess(capacity)

        chosen = self.pinned.get(index)
        if chosen is None:
            chosen = best_copies(site.tasks, weights, routed, by_known, single=graph.options.single_copy)[1]
            if cost(chosen) > stored(chosen):
                chosen = relieved_copies(chosen, len(weights), cost, single=graph.options.single_copy)
        sharing = self._sharing(index)
        last = not sharing or index >= sharing[-1]
        return cost(chosen) if last else stored(chosen), chosen

    def _excess_cost(self, arc: int, store: int, *, routed: bool) -> float:
        """Objective for what one more arc puts above the capacity of the store's tasks."""
        graph = self.graph
        capacity, tasks = graph.options.task_capacity, graph.sites[store].tasks
        assert capacity is not None
        assert self._excess_price is not None
        loads = self.assignment(store).loads
        installed = bits(self.copies[store])
        known = [p for p in installed if graph.known[arc] >> p & 1]
        more = graph.rate[arc] / (tasks if routed else 1)
        least = min(loads[copy_of(graph, store, p)] for p in ((routed and known) or installed))
        return self._excess_price * min(more, max(0.0, least + more - capacity))

    # -- paths ----------------------------------------------------------------------

    def cheapest_path(
        self, key: Key, banned: Collection[int] = (), arcs: Sequence[int] | None = None
    ) -> tuple[float, tuple[int, ...]] | None:
        """The path with the smallest marginal cost over active stores, and that cost.

        Arcs that are in use cost nothing more. Ties go to the arc found first, so the answer is
        the same in every run. `banned` are stores to do without, `arcs` limits the arcs to look
        at, in increasing coverage. None if there is no path.
        """
        graph = self.graph
        target, start = key
        self.searches += 1
        hop = graph.latency(target, start) if graph.options.latency_weight else 0.0
        first = graph.states_of_start(start)
        distance = {first: 0.0}
        via: dict[int, int] = {}
        cost_of, use, copies, reached = self.guide, self.use, self.copies, distance.get
        limited = self._excess_price is not None
        steps = graph.steps(target, start) if arcs is None else [graph.step(arc) for arc in arcs]
        for arc, source, store, end, known in steps:
            so_far = reached(source)
            if so_far is None:
                continue
            installed = copies.get(store)
            if installed is None or store in banned:
                continue
            if hop:
                so_far += hop
            if not use[arc]:
                routed = known & installed
                so_far += cost_of[arc] if routed else self._unknown_cost(arc, known, store)
                if limited:
                    so_far += self._excess_cost(arc, store, routed=bool(routed))
            if so_far < reached(end, inf):
                distance[end] = so_far
                via[end] = arc
        if target not in distance:
            return None
        path = []
        state = target
        while state != first:
            arc = via[state]
            path.append(arc)
            state = graph.source[arc]
        path.reverse()
        return distance[target], tuple(path)

    def _unknown_cost(self, arc: int, known: int, store: int) -> float:
        """Cost of a probe whose sender knows no copy's task.

        Either a broadcast to all tasks, or one more copy that the sender knows, whichever is cheaper.
        """
        graph, cost = self.graph, self.guide[arc]
        whole, copy = graph.cost[arc], graph.copy_cost[arc]
        broadcast = cost * graph.sites[store].tasks
        if copy < whole:
            broadcast = cost * (1 + (graph.sites[store].tasks - 1) * copy / whole)
        if known and store not in self.pinned and not self.graph.options.single_copy:
            least = self._least_copy.get((store, known))
            if least is None:
                weights = self._weights(store)
                least = min(w for i, w in enumerate(weights) if known >> i & 1)
                self._least_copy[store, known] = least
            return min(broadcast, cost + least)
        return broadcast
