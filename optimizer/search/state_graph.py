"""The state graph: what every optimization method searches.

A probe order matters only by what it has covered so far, so prefixes with the same start
and the same coverage are one *state*, shared by all queries whose predicates on those
relations agree. An *arc* is a step of one starting relation: tuples that started at r and
have become `source` are sent to the store of `store` and become `target`. An arc's cost
belongs to its receiving store, and so does the choice between routing and broadcasting:
given the arcs in use, every store's partitioning can be chosen by itself.

Relations, predicates, states and arcs are numbered in sorted order; sets are bit masks.
"""

from __future__ import annotations

from itertools import chain, groupby

from optimizer.search.cost_model import MOST_TUPLES, CostModel, evaluation
from optimizer.search.equality_classes import EqualityClasses
from optimizer.search.incumbent import Incumbent, NamedArc
from optimizer.search.join_graph import (
    Shape,
    bits,
    widest_shape,
)
from optimizer.search.pricing import StepLoad
from optimizer.search.problem import Attribute, JoinQuery, Options, Problem, Solution
from optimizer.search.states import State, Step, StoreSite, Target


class StateGraph:
    """Everything that the queries of a problem can be answered by.

    Args:
        problem: rates per second, windows in seconds.
        options: weights, and whether MIRs are candidates.
        mirs: overrides `options.mirs`.
        running: the plan in use; what it has costs `options.stay_discount` less.
    """

    def __init__(
        self,
        problem: Problem,
        options: Options,
        mirs: bool | None = None,
        running: Solution | None = None,
    ) -> None:
        self.problem = problem
        self.options = options
        self.model = CostModel(problem)
        self.pricing = options.pricing
        self._by_messages = options.cost == "messages"
        self.relations = tuple(sorted(problem.relations, key=lambda r: r.id))
        self.predicates = tuple(sorted(problem.predicates, key=lambda p: p.id))
        self._bit = {r.id: i for i, r in enumerate(self.relations)}
        self._predicate_bit = {p.id: i for i, p in enumerate(self.predicates)}
        self._masks = [sum(1 << self._bit[r] for r in p.relations) for p in self.predicates]
        self._contents = [self.model.content(r.id) for r in self.relations]
        self._windows = [self.model.window_s(r.id) for r in self.relations]
        self._mirs = options.mirs if mirs is None else mirs
        self._reach: dict[int, tuple[float, float]] = {}
        """By store: tuples per second that come in, and for how many seconds probes find them."""
        self._kept = Incumbent(running) if running and options.stay_discount > 0 else None

        self.states: list[State] = []
        self._state_of: dict[tuple[int, int], State] = {}
        self._classes = EqualityClasses(self.predicates, self._bit)
        self.sites: dict[int, StoreSite] = {}
        """By state index; base relations in use and candidate MIRs."""
        self.targets: dict[int, Target] = {}
        """By state index; queries first, then candidate MIRs."""
        self.required: list[int] = []
        """State indices of the distinct queries over two or more relations."""

        self.start: list[int] = []
        self.source: list[int] = []
        self.store: list[int] = []
        self.target: list[int] = []
        self.cost: list[float] = []
        """Objective if routed (chi = 1): expensive predicates included."""
        self.copy_cost: list[float] = []
        """The part of it that each further copy costs again: tasks share out what predicates cost."""
        self.rate: list[float] = []
        """Probe tuples per second, unweighted."""
        self.known: list[int] = []
        """Per arc: bit mask over the receiving site's partitionings that the sender knows."""
        self._routes: dict[tuple[int, int], tuple[int, ...]] = {}
        self._runs_of: dict[tuple[int, int], list[tuple[int, tuple[int, ...]]]] = {}
        self._steps: dict[tuple[int, int], tuple[Step, ...]] = {}
        self._step_of: list[Step] = []
        """By arc; filled when first asked for, and shared by all `_steps`."""
        self._parents: dict[int, int] = {}
        self._kept_in: dict[str, tuple[int, ...]] = {}
        """Base sites by the store that keeps them, in order; filled when first asked for."""
        self._build()

    # -- construction ---------------------------------------------------------------

    def _build(self) -> None:
        grouped: dict[tuple[int, int], list[JoinQuery]] = {}
        for query in sorted(self.problem.queries, key=lambda q: q.id):
            if len(query.relations) > 1:
                relations = sum(1 << self._bit[r] for r in query.relations)
                predicates = sum(1 << self._predicate_bit[p] for p in query.predicates)
                grouped.setdefault((relations, predicates), []).append(query)
        shapes = []
        candidates: dict[int, set[Attribute]] = {}
        for (relations, predicates), queries in sorted(grouped.items()):
            shape, members, local = self._shape(relations, predicates)
            states = {m: self._intern(m, members, local) for m in shape.states}
            top = states[(1 << len(members)) - 1]
            self.required.append(top.index)
            self.targets[top.index] = self._query_target(top, queries)
            stored = [states[1 << i] for i in range(len(members))]
            stored += [states[m] for m in shape.materializable]
            for state in stored:
                self._parents.setdefault(state.index, top.index)
                candidates.setdefault(state.index, set()).update(self._classes.leaving(state, predicates))
            shapes.append((shape, states, top))
        for index in sorted(candidates):
            state = self.states[index]
            if state.size > 1 and index not in self.targets:
                self.targets[index] = Target(state, (), (0.0,) * state.size)
            self.sites[index] = self._site(state, tuple(sorted(candidates[index])))
        arcs: dict[tuple[int, int, int, int], int] = {}
        for shape, states, top in shapes:
            self._add_arcs(arcs, shape, states, top)

    def _shape(self, relations: int, predicates: int) -> tuple[Shape, tuple[int, ...], list[tuple[int, int]]]:
        """A query's shape, relations in local order, and (local mask, bit) per predicate."""
        members = bits(relations)
        position = {member: i for i, member in enumerate(members)}
        local = [
            (sum(1 << position[r] for r in bits(self._masks[p])), p)
            for p in bits(predicates)
            if self._masks[p].bit_count() > 1
        ]
        masks = tuple(sorted({mask for mask, _ in local}))
        contents = [self._contents[member] for member in members]
        factors = [(inside, self.predicates[predicate].selectivity) for inside, predicate in local]
        return widest_shape(masks, self._mirs, contents, factors), members, local

    def _volume(self, mask: int, members: tuple[int, ...], local: list[tuple[int, int]]) -> float:
        volume = 1.0
        for i in bits(mask):
            volume *= self._contents[members[i]]
        volume = min(MOST_TUPLES, volume)
        for inside, predicate in local:
            if inside & ~mask == 0:
                volume *= self.predicates[predicate].selectivity
        return volume

    def _intern(self, mask: int, members: tuple[int, ...], local: list[tuple[int, int]]) -> State:
        inside = tuple(members[i] for i in bits(mask))
        relations = 0
        for member in inside:
            relations |= 1 << member
        predicates = 0
        for predicate_mask, predicate in local:
            if predicate_mask & ~mask == 0:
                predicates |= 1 << predicate
        state = self._state_of.get((relations, predicates))
        if state is None:
            volume = self._volume(mask, members, local)
            state = State(len(self.states), relations, predicates, inside, volume)
            self.states.append(state)
            self._state_of[relations, predicates] = state
        return state

    def _query_target(self, state: State, queries: list[JoinQuery]) -> Target:
        weight = self.options.latency_weight * len(queries)
        rates = [self.rate_at(member, state) for member in state.members]
        total = sum(rates)
        shares = [rate / total if total > 0 else 1 / len(rates) for rate in rates]
        return Target(state, tuple(q.id for q in queries), tuple(weight * share for share in shares))

    def _site(self, state: State, attributes: tuple[Attribute, ...]) -> StoreSite:
        relations, predicates = self.names(state)
        partitionings: tuple[Attribute | None, ...] = attributes or (None,)
        load = self.model.copy_load(relations, predicates)
        work, memory = self.pricing.copy(load)
        weight = work + self.pricing.memory * memory
        stay = 1 - self.options.stay_discount
        weights = tuple(
            weight * stay if self._kept and self._kept.has_copy(relations, predicates, p) else weight
            for p in partitionings
        )
        return StoreSite(state, partitionings, load.tasks, load.tuples, weights)

    def _add_arcs(
        self,
        arcs: dict[tuple[int, int, int, int], int],
        shape: Shape,
        states: dict[int, State],
        top: State,
    ) -> None:
        routes: list[list[int]] = [[] for _ in range(shape.size)]
        members = top.members
        for step in shape.steps:
            source, store, target = states[step.source], states[step.store], states[step.target]
            known = -1
            for local in step.starts:
                key = (members[local], source.index, store.index, target.index)
                arc = arcs.get(key)
                if arc is None:
                    if known < 0:
                        known = self._classes.known(source, self.sites[store.index], target)
                        over_window = self._step_load(source, store, target)
                    arc = arcs[key] = len(self.start)
                    self._add_arc(members[local], source, store, target, known, over_window)
                routes[local].append(arc)
        for local, route in enumerate(routes):
            self._routes[top.index, members[local]] = tuple(route)

    def _add_arc(
        self, start: int, source: State, store: State, target: State, known: int, over: StepLoad
    ) -> None:
        window = self._windows[start]
        rate = source.volume / window
        once, sent = self.pricing.step(
            StepLoad(rate, over.made / window, over.equal, over.evaluated / window, *over[4:])
        )
        cost = sent + once
        if self._kept and self._kept.has_arc(self._named(start, source, store, target)):
            cost *= 1 - self.options.stay_discount
            sent *= 1 - self.options.stay_discount
        self.start.append(start)
        self.source.append(source.index)
        self.store.append(store.index)
        self.target.append(target.index)
        self.cost.append(cost)
        self.copy_cost.append(sent)
        self.rate.append(rate)
        self.known.append(known)

    def _step_load(self, source: State, store: State, target: State) -> StepLoad:
        """What a step does over a start's window.

        Nothing but messages where only these are priced.
        """
        left = target.predicates & ~source.predicates & ~store.predicates
        checked = [self.predicates[p] for p in bits(left)]
        costly = any(predicate.pair_cost for predicate in checked)
        evaluated = evaluation(source.volume * store.volume, checked) if costly else 0.0
        if self._by_messages:
            return StepLoad(source.volume, 0.0, 1.0, evaluated, 0.0, 0.0, 1, False, 0.0, 0.0)
        fresh = [predicate.id for predicate in checked]
        if store.index not in self._reach:
            names = self.names(store)
            self._reach[store.index] = self.model.inserted(*names), self.model.held_s(*names)
        return StepLoad(
            source.volume,
            target.volume,
            self.model.equal(fresh),
            evaluated,
            *self._reach[store.index],
            self.sites[store.index].tasks,
            self.model.checks(fresh, self.names(store)[0]),
            self.model.bytes(*self.names(source)),
            self.model.bytes(*self.names(target)),
        )

    # -- questions ------------------------------------------------------------------

    def routes(self, target: int, start: int) -> tuple[int, ...]:
        """Arcs on which tuples of `start` can become `target`, by growing coverage."""
        found = self._routes.get((target, start))
        if found is None:
            outside = ~self.states[target].relations
            runs = self._runs(self._parents[target], start)
            found = tuple(chain.from_iterable(arcs for reached, arcs in runs if not reached & outside))
            self._routes[target, start] = found
        return found

    def _runs(self, target: int, start: int) -> list[tuple[int, tuple[int, ...]]]:
        """A query's `routes` in their order, in runs of one state each.

        Runs are cut where the state that they lead to changes: its relations and the arcs. There are far
        fewer states than arcs to compare with each result inside.
        """
        found = self._runs_of.get((target, start))
        if found is None:
            grouped = groupby(self._routes[target, start], key=self.target.__getitem__)
            found = [(self.states[reached].relations, tuple(arcs)) for reached, arcs in grouped]
            self._runs_of[target, start] = found
        return found

    def broadcast_cost(self, arc: int) -> float:
        """Objective of an arc that is sent to all tasks of its store."""
        copy = self.copy_cost[arc]
        return copy * self.sites[self.store[arc]].tasks + (self.cost[arc] - copy)

    def step(self, arc: int) -> Step:
        """An arc's number and all that a search asks about it, the same object every time."""
        if not self._step_of:
            arcs = range(len(self.start))
            self._step_of = list(zip(arcs, self.source, self.store, self.target, self.known, strict=True))
        return self._step_of[arc]

    def steps(self, target: int, start: int) -> tuple[Step, ...]:
        """The `step` of all `routes`, kept as searches ask a hundred thousand times."""
        found = self._steps.get((target, start))
        if found is None:
            found = self._steps[target, start] = tuple(map(self.step, self.routes(target, start)))
        return found

    def states_of_start(self, start: int) -> int:
        """The index of the state that holds new tuples of a relation and nothing else."""
        return self._state_of[1 << start, 0].index

    @property
    def has_running(self) -> bool:
        """True if what runs already is discounted."""
        return self._kept is not None

    def is_running(self, arc: int) -> bool:
        """True if the running plan has this step of this start."""
        source, store, target = (
            self.states[index] for index in (self.source[arc], self.store[arc], self.target[arc])
        )
        return self._kept is not None and self._kept.has_arc(
            self._named(self.start[arc], source, store, target)
        )

    def _named(self, start: int, source: State, store: State, target: State) -> NamedArc:
        return NamedArc(
            self.relations[start].id, self.names(source), self.names(store), self.fresh(source, store, target)
        )

    def fresh(self, source: State, store: State, target: State) -> frozenset[str]:
        """The predicates that a step applies itself, by id.

        Neither its sender nor its store has.
        """
        left = target.predicates & ~source.predicates & ~store.predicates
        return frozenset(self.predicates[p].id for p in bits(left))

    def latency(self, target: int, start: int) -> float:
        """Objective of one hop on the way of a start to a target."""
        found = self.targets[target]
        return found.latency[found.state.members.index(start)]

    def predicate_mask(self, predicate: int) -> int:
        """The relations that a predicate reads."""
        return self._masks[predicate]

    def inserted(self, site: int) -> float:
        """Tuples per second that one copy of a store takes in."""
        return self.model.inserted(*self.names(self.states[site]))

    def sharing(self, site: int) -> tuple[int, ...]:
        """The sites that share a site's store, itself included."""
        if not self._kept_in:
            for base in sorted(self.base_sites):
                kept_in = self.relations[self.states[base].members[0]].kept_in
                self._kept_in[kept_in] = (*self._kept_in.get(kept_in, ()), base)
        state = self.states[site]
        return (site,) if state.size > 1 else self._kept_in[self.relations[state.members[0]].kept_in]

    def rate_at(self, start: int, state: State) -> float:
        return state.volume / self._windows[start]

    def names(self, state: State) -> tuple[frozenset[str], frozenset[str]]:
        """The state's relations and predicates by id."""
        return (
            frozenset(self.relations[i].id for i in state.members),
            frozenset(self.predicates[i].id for i in bits(state.predicates)),
        )

    @property
    def base_sites(self) -> list[int]:
        return [i for i, site in self.sites.items() if site.state.size == 1]

    @property
    def mir_sites(self) -> list[int]:
        return [i for i, site in self.sites.items() if site.state.size > 1]
