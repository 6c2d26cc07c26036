"""Local search on a partial plan, while that lowers the cost.

Re-routes starts, and adds and drops materialized results and partitionings.

It stops at a local optimum, after a fixed amount of work, or at the time limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from random import Random
from time import perf_counter

from optimizer.methods.solution.assemble import tidy
from optimizer.methods.solution.partial_plan import PartialPlan
from optimizer.methods.solution.store_copies import free_copies
from optimizer.methods.solution.trials import Key
from optimizer.search.state_graph import StateGraph

ROUNDS = 12
"""Sweeps over all moves; sweeps usually stop improving after three to five."""
SHAKE_SEARCHES = 40_000
"""Path searches that replanning targets may take: half a second of CPU. Counted, not timed, so that
equal input gives equal plans on slow and busy machines too."""
HIGHEST_EXCESS_PRICE = 1e4
"""Objective per tuple and second above a task's capacity; a stored or sent tuple costs about 1."""


def unburden(draft: PartialPlan, deadline: float, *, results: bool = True) -> None:
    """Route tuples around tasks beyond their capacity.

    The price of a task's excess rises until no task has any.

    Args:
        results: False leaves the materialized results as they are: only ways and copies change.
    """
    if draft.graph.options.task_capacity is None:
        return
    price = 1.0
    while draft.excess() > 0 and price <= HIGHEST_EXCESS_PRICE:
        draft.limit_loads(price)
        improve(draft, deadline, results=results)
        price *= 4


def improve(draft: PartialPlan, deadline: float, rounds: int = ROUNDS, *, results: bool = True) -> None:
    """Apply improving moves until none is left; the draft is tidy afterwards.

    `results` as for `unburden`.
    """
    tidy(draft)
    moves = Moves(draft, deadline)
    for _ in range(rounds):
        before = draft.total
        moves.reroute(sorted(draft.paths))
        if results:
            moves.add_mirs(moves.candidates())
            moves.drop_mirs(sorted(draft.mirs))
        moves.change_partitionings()
        tidy(draft)
        if draft.total >= before * (1 - 1e-9) - 1e-12 or perf_counter() > deadline:
            return


def shake(draft: PartialPlan, deadline: float) -> None:
    """Replan target after target in random order until a whole sweep gains nothing.

    The order comes from the options' seed, and the end after `SHAKE_SEARCHES` path searches, so
    equal input gives equal plans unless the deadline comes first.
    """
    graph = draft.graph
    if not graph.mir_sites:
        return
    random = Random(graph.options.seed)
    moves = Moves(draft, deadline)
    last = draft.searches + SHAKE_SEARCHES
    while True:
        before = draft.total
        targets = [t for t in draft.targets if graph.states[t].size > 2]
        random.shuffle(targets)
        for target in targets:
            if draft.searches > last or perf_counter() > deadline:
                break
            moves.replan(target, random)
        tidy(draft)
        if draft.total >= before * (1 - 1e-9) - 1e-12 or draft.searches > last or perf_counter() > deadline:
            return


class Moves:
    """The neighbourhood of a partial plan; methods keep only what lowers the total."""

    def __init__(self, draft: PartialPlan, deadline: float) -> None:
        self.draft = draft
        self.deadline = deadline
        self._users = _users(draft.graph, draft.targets)
        self._near: dict[int, frozenset[int]] = {}
        self._tried: dict[tuple[str, int], int] = {}
        self._again = False
        """True while moves are tried whether or not they failed before."""

    def _worth_trying(self, move: str, site: int) -> bool:
        """Don't look bits: false if a move failed and nothing near has changed since."""
        draft = self.draft
        before = self._tried.get((move, site), -1)
        self._tried[move, site] = draft.changes
        if before < 0:
            return True
        if site not in self._near:
            graph = draft.graph
            self._near[site] = frozenset(
                step[2] for key in self._users.get(site, ()) for step in graph.steps(*key)
            )
        changed = draft.changed
        return any(changed.get(store, 0) > before for store in self._near[site])

    def _late(self) -> bool:
        return perf_counter() > self.deadline

    def _keep_if_better(self, before: float) -> bool:
        draft = self.draft
        if draft.choose_copies() < before - 1e-9 * abs(before) - 1e-12:
            draft.commit()
            return True
        draft.rollback()
        return False

    def reroute(self, keys: Iterable[Key]) -> None:
        """Give each start of each target the cheapest path around all the others."""
        draft = self.draft
        for key in keys:
            if self._late():
                return
            before, old = draft.total, draft.paths[key]
            draft.begin()
            draft.set_path(key, None)
            route(draft, key)
            if draft.paths[key] == old:
                draft.rollback()
            else:
                self._keep_if_better(before)

    def candidates(self) -> list[int]:
        """The MIRs that any of the draft's targets could use."""
        return [site for site in self._users if self.draft.graph.states[site].size > 1]

    def add_mirs(self, candidates: Iterable[int]) -> None:
        """Materialize each candidate in turn, if what it saves pays for it."""
        draft = self.draft
        for mir in candidates:
            if self._late():
                return
            if mir in draft.mirs or not (self._again or self._worth_trying("add", mir)):
                continue
            before = draft.total
            draft.begin()
            if self._install(mir) and self._route_all(self._users.get(mir, ())):
                self._keep_if_better(before)
            else:
                draft.rollback()

    def _install(self, mir: int) -> bool:
        draft = self.draft
        draft.add_mir(mir)
        draft.choose_copies()
        for start in draft.graph.states[mir].members:
            if (mir, start) not in draft.paths and not route(draft, (mir, start)):
                return False
        return True

    def drop_mirs(self, candidates: Iterable[int]) -> None:
        """Do without each materialized result in turn, if that costs less than it saves."""
        draft = self.draft
        for mir in candidates:
            if self._late():
                return
            if mir not in draft.mirs or not (self._again or self._worth_trying("drop", mir)):
                continue
            before = draft.total
            draft.begin()
            if self._do_without([mir]):
                self._keep_if_better(before)
            else:
                draft.rollback()

    def _do_without(self, mirs: Sequence[int]) -> bool:
        """Take results away and route every order around them; false if one cannot be."""
        draft = self.draft
        graph = draft.graph
        gone = set(mirs)
        for mir in mirs:
            if not graph.targets[mir].queries:
                for start in graph.states[mir].members:
                    draft.set_path((mir, start), None)
        through = dict.fromkeys(key for mir in mirs for key in self._through(mir))
        for key in through:
            draft.set_path(key, None)
        for mir in mirs:
            draft.drop_mir(mir)
        return all(route(draft, key, gone) for key in through)

    def replan(self, target: int, random: Random) -> bool:
        """Drop all MIRs inside one target and choose among its candidates in a new order.

        Single moves cannot exchange several materialized results for others; this can.
        """
        draft = self.draft
        graph = draft.graph
        around = ~graph.states[target].relations
        inside = [m for m in self.candidates() if not graph.states[m].relations & around]
        before = draft.total
        draft.begin()
        if not self._do_without([mir for mir in inside if mir in draft.mirs]):
            draft.rollback()
            return False
        draft.choose_copies()
        random.shuffle(inside)
        self._again = True
        self.add_mirs(inside)
        self.reroute(key for key in draft.changed_keys() if key in draft.paths)
        self.drop_mirs(inside)
        self._again = False
        return self._keep_if_better(before)

    def change_partitionings(self) -> None:
        """Try other copies of each store and let everybody who probes it choose again."""
        draft = self.draft
        graph = draft.graph
        if free_copies(graph):
            return
        for site in sorted(draft.copies):
            count = len(graph.sites[site].partitionings)
            if count == 1 or graph.sites[site].tasks == 1 or not self._worth_trying("copies", site):
                continue
            singles = {1 << i for i in range(count)}
            if not graph.options.single_copy:
                singles |= {draft.copies[site] ^ (1 << i) for i in range(count)} - {0}
            for copies in sorted(singles - {draft.copies[site]}):
                if self._late():
                    return
                if copies == draft.copies.get(site):
                    continue
                before = draft.total
                draft.begin()
                draft.pin(site, copies)
                draft.choose_copies()
                routed = self._route_all(self._through(site))
                draft.unpin(site)
                if routed:
                    self._keep_if_better(before)
                else:
                    draft.rollback()

    def _through(self, site: int) -> list[Key]:
        """The keys whose path probes a store."""
        arcs, paths = self.draft.arcs_into[site], self.draft.paths
        return [key for key in self._users.get(site, ()) if not arcs.isdisjoint(paths.get(key, ()))]

    def _route_all(self, keys: Iterable[Key]) -> bool:
        """Take the paths of all keys away, then give each the cheapest at that moment."""
        draft = self.draft
        present = [key for key in keys if key in draft.paths]
        for key in present:
            draft.set_path(key, None)
        routed = [route(draft, key) for key in present]
        return all(routed)


def route(draft: PartialPlan, key: Key, banned: Collection[int] = ()) -> bool:
    found = draft.cheapest_path(key, banned)
    if found is None:
        return False
    draft.set_path(key, found[1])
    return True


def _users(graph: StateGraph, targets: Iterable[int]) -> dict[int, tuple[Key, ...]]:
    """For each store the targets and starts that have an arc into it, in sorted order."""
    users: dict[int, dict[Key, None]] = {}
    pending = sorted(targets)
    seen = set(pending)
    while pending:
        target = pending.pop()
        for start in graph.states[target].members:
            for arc in graph.routes(target, start):
                store = graph.store[arc]
                users.setdefault(store, {})[target, start] = None
                if store not in seen and graph.states[store].size > 1:
                    seen.add(store)
                    pending.append(store)
    return {store: tuple(sorted(users[store])) for store in sorted(users)}
