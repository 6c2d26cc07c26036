"""The joint plan as a flow problem on the state graph, a mixed-integer program.

Sets      q: queries (distinct targets); r: starts; a = (r, t, m -> u): arcs of the state graph;
          m: stores; p: candidate partitionings of a store; P1(a): those that a's sender knows.
Data      c_a: weighted probe tuples per second of an arc when routed; N_m: tasks of a store;
          s_mp: objective of an installed copy (storage weight times tuples).
Variables y_a: the arc is used (shared by everything); w_m: an MIR is kept; z_mp: a copy is
          installed; b_a: the arc is broadcast; f_qa: flow of query q along a.

    min  sum c_a y_a + sum (N_m - 1) c_a b_a + sum s_mp z_mp + latency
    (1)  unit flow of q from {r} to q's state, for each q and start r
    (2)  f_qa <= y_a
    (3)  sum of f_qa over arcs of (q, r) that probe MIR m <= w_m
    (4)  y_a <= w_m for an MIR m;  y_a <= sum of y over arcs of the same start into t
    (5)  w_m <= sum of y over arcs of start r into m's state, for each r in m
    (6)  cut-sets: for each q and nonempty proper subset U, what leaves U towards q - U,
         weighted by one over the sender's size, is at least 1
    (7)  z_mp <= w_m <= sum_p z_mp;  y_a <= sum of z over P1(a) + b_a, and the same per
         (q, r, m, P) for flows

An arc that completes a query and feeds nothing has y = f, one variable without (2) and (4).
(6) and (7)'s flow form are implied for integers; they make the relaxation tight. A store
with one task or one candidate needs no z: its copy costs what w costs, and broadcast is a
property of the arc. With a task capacity every arc is assigned to one copy instead
(`v`), because a copy's load then matters.

Source: dissertation section 7.1, reformulated from choose-one probe orders to flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from optimizer.methods.ilp.flow_columns import FlowColumns
from optimizer.methods.ilp.program import Program
from optimizer.methods.solution.store_copies import Copy, copy_of, free_copies
from optimizer.search.state_graph import StateGraph

CUT_RELATIONS = 8
"""Queries over more relations get cut-sets of at most two relations on one side."""


class FlowProgram:
    """The program of some targets of a graph.

    `columns` leads from its points to partial plans and back.

    Args:
        targets: required targets that share nothing with any other (one component).
        budget: stored tuples that all copies together may hold.
        capacity: tuples per second that one task may receive; `inf` makes the largest load
            the objective instead, to find the smallest capacity that works.
    """

    def __init__(
        self,
        graph: StateGraph,
        targets: Sequence[int],
        *,
        budget: float | None = None,
        capacity: float | None = None,
    ) -> None:
        self.graph = graph
        self.targets = tuple(targets)
        self.program = Program()
        self._budget = budget
        self._capacity = capacity
        self.columns = FlowColumns(
            graph, self.targets, self.program, pins=budget is not None or capacity is not None
        )
        self._final: set[int] = set()
        """Arcs that complete one query and nothing else: their y is that query's flow."""
        self._bases: dict[int, None] = {}
        self._build()

    # -- variables and rows ------------------------------------------------------------

    def _build(self) -> None:
        graph = self.graph
        seen: dict[int, None] = {}
        for target in self.targets:
            for start in graph.states[target].members:
                self._bases[graph.states_of_start(start)] = None
                for arc in graph.routes(target, start):
                    seen[arc] = None
        self.columns.arcs = list(seen)
        sites = dict.fromkeys(graph.store[arc] for arc in self.columns.arcs)
        mirs = [site for site in sorted(sites) if graph.states[site].size > 1]
        self._add_stores(mirs)
        self._add_arcs()
        for target in self.targets:
            self._add_flows(target)
            self._add_cuts(target)
        self._add_production(mirs)
        if self._budget is not None:
            self._add_budget(self._budget)
        if self._capacity is not None:
            self._add_loads(self._capacity)

    def has_choice(self, site: int) -> bool:
        """True if which copies are installed is a decision of its own."""
        if self._capacity is not None:
            return True
        found = self.graph.sites[site]
        if len(found.partitionings) == 1 or found.tasks == 1:
            return False
        return not free_copies(self.graph)

    def _add_stores(self, mirs: list[int]) -> None:
        graph, program = self.graph, self.program
        for site in mirs:
            choice = self.has_choice(site)
            cost = 0.0 if choice else min(graph.sites[site].weights)
            self.columns.w[site] = program.add_column(self._objective(cost), integer=True, name=f"w{site}")
        for site in [*sorted(self._bases), *mirs]:
            if not self.has_choice(site):
                continue
            columns = []
            for p, weight in enumerate(graph.sites[site].weights):
                column = program.add_column(self._objective(weight), integer=True, name=f"z{site}.{p}")
                self.columns.z[site, p] = column
                columns.append(column)
            kept = self.columns.w.get(site)
            if kept is None:
                program.add_row(columns, [1.0] * len(columns), 1.0, inf)
            else:
                program.at_most_sum(kept, columns)
                for column in columns:
                    program.at_most_sum(column, [kept])
            if graph.options.single_copy and len(columns) > 1:
                program.add_row(columns, [1.0] * len(columns), -inf, 1.0)

    def _objective(self, cost: float) -> float:
        """Costs count, unless the smallest load is looked for."""
        return 0.0 if self._capacity == inf else cost

    def _add_arcs(self) -> None:
        graph, program = self.graph, self.program
        finals = {target for target in self.targets if target not in self.columns.w}
        into: dict[tuple[int, int], list[int]] = {}
        for arc in self.columns.arcs:
            site = graph.sites[graph.store[arc]]
            tasks, known = site.tasks, graph.known[arc]
            static = self._capacity is None and not known
            cost = graph.broadcast_cost(arc) if static else graph.cost[arc]
            if graph.target[arc] in finals:
                cost += graph.latency(graph.target[arc], graph.start[arc])
                self._final.add(arc)
            y = program.add_column(self._objective(cost), integer=True, name=f"y{arc}")
            self.columns.y[arc] = y
            into.setdefault((graph.start[arc], graph.target[arc]), []).append(y)
            if self._capacity is not None:
                self._assign(arc, y)
            elif known and self.has_choice(graph.store[arc]):
                knowing = [self.columns.z[graph.store[arc], p] for p in _ones(known)]
                if len(knowing) < len(site.partitionings):
                    extra = self._objective(graph.copy_cost[arc] * (tasks - 1))
                    b = program.add_column(extra, integer=True, name=f"b{arc}")
                    self.columns.b[arc] = b
                    program.at_most_sum(y, [*knowing, b])
        for arc in self.columns.arcs:
            if arc in self._final:
                continue
            kept = self.columns.w.get(graph.store[arc])
            if kept is not None:
                program.at_most_sum(self.columns.y[arc], [kept])
            if graph.states[graph.source[arc]].size > 1:
                before = into.get((graph.start[arc], graph.source[arc]), [])
                program.at_most_sum(self.columns.y[arc], before)
        self._into = into

    def _assign(self, arc: int, y: int) -> None:
        graph, program = self.graph, self.program
        site = graph.sites[graph.store[arc]]
        columns = []
        for p in range(len(site.partitionings)):
            known = graph.known[arc] >> p & 1
            extra = 0.0 if known else self._objective(graph.copy_cost[arc] * (site.tasks - 1))
            column = program.add_column(extra, integer=True, name=f"v{arc}.{p}")
            self.columns.v[arc, p] = column
            program.at_most_sum(column, [self.columns.z[graph.store[arc], p]])
            columns.append(column)
        program.add_row([y, *columns], [1.0] + [-1.0] * len(columns), 0.0, 0.0)

    def _add_flows(self, target: int) -> None:
        graph, program = self.graph, self.program
        state = graph.states[target]
        for start in state.members:
            latency = self._objective(graph.latency(target, start))
            first = graph.states_of_start(start)
            finals = {self.columns.y[arc] for arc in graph.routes(target, start) if arc in self._final}
            out: dict[int, list[int]] = {}
            into: dict[int, list[int]] = {}
            at_mir: dict[int, list[int]] = {}
            by_known: dict[tuple[int, int], list[int]] = {}
            for arc in graph.routes(target, start):
                if arc in self._final:
                    f = self.columns.y[arc]
                else:
                    f = program.add_column(latency, integer=False, name=f"f{target}.{arc}")
                    program.at_most_sum(f, [self.columns.y[arc]])
                self.columns.f[target, arc] = f
                out.setdefault(graph.source[arc], []).append(f)
                into.setdefault(graph.target[arc], []).append(f)
                store = graph.store[arc]
                if store in self.columns.w:
                    at_mir.setdefault(store, []).append(f)
                if arc in self.columns.b:
                    by_known.setdefault((store, graph.known[arc]), []).append(arc)
            program.add_row(out[first], [1.0] * len(out[first]), 1.0, 1.0)
            for middle, arriving in into.items():
                if middle != target:
                    leaving = out.get(middle, [])
                    signs = [1.0] * len(arriving) + [-1.0] * len(leaving)
                    program.add_row(arriving + leaving, signs, 0.0, 0.0)
            for mir, flows in at_mir.items():
                if len(flows) > 1 or flows[0] in finals:
                    program.add_row([*flows, self.columns.w[mir]], [1.0] * len(flows) + [-1.0], -inf, 0.0)
            for (store, known), arcs in by_known.items():
                knowing = [self.columns.z[store, p] for p in _ones(known)]
                right = knowing + [self.columns.b[arc] for arc in arcs]
                flows = [self.columns.f[target, arc] for arc in arcs]
                signs = [1.0] * len(flows) + [-1.0] * len(right)
                program.add_row(flows + right, signs, -inf, 0.0)
        first_state = graph.states_of_start(state.members[0])
        if first_state == target:
            raise ValueError(f"target {target} has no join")

    def _add_cuts(self, target: int) -> None:
        graph = self.graph
        state = graph.states[target]
        arcs = [
            (
                graph.states[graph.source[arc]].relations,
                graph.states[graph.store[arc]].relations,
                self.columns.y[arc],
            )
            for start in state.members
            for arc in graph.routes(target, start)
        ]
        for inside in _subsets(state.members):
            columns = []
            values = []
            for source, store, y in arcs:
                if not source & ~inside and not store & inside:
                    columns.append(y)
                    values.append(1.0 / source.bit_count())
            self.program.add_row(columns, values, 1.0, inf)

    def _add_production(self, mirs: list[int]) -> None:
        for mir in mirs:
            for start in self.graph.states[mir].members:
                self.program.at_most_sum(self.columns.w[mir], self._into.get((start, mir), []))

    def _add_budget(self, budget: float) -> None:
        """Stored tuples of all copies, as a fraction of the budget."""
        graph = self.graph
        columns, values = [], []
        fixed = 0.0
        for site in [*sorted(self._bases), *sorted(self.columns.w)]:
            share = graph.sites[site].tuples / budget if budget > 0 else inf
            if self.has_choice(site):
                for p in range(len(graph.sites[site].partitionings)):
                    columns.append(self.columns.z[site, p])
                    values.append(share)
            elif site in self.columns.w:
                columns.append(self.columns.w[site])
                values.append(share)
            else:
                fixed += share
        self.program.add_row(columns, values, -inf, 1.0 - fixed)

    def _add_loads(self, capacity: float) -> None:
        """What each task of a copy receives: new tuples and probes, against the capacity."""
        graph, program = self.graph, self.program
        if capacity == inf:
            self.columns.load = program.add_column(1.0, integer=False, name="load", upper=inf)
        arcs_into: dict[int, list[int]] = {}
        for arc in self.columns.arcs:
            arcs_into.setdefault(graph.store[arc], []).append(arc)
        copies: dict[tuple[int, Copy], list[tuple[int, int]]] = {}
        for site, p in self.columns.z:
            first = graph.sharing(site)[0]
            copies.setdefault((first, copy_of(graph, site, p)), []).append((site, p))
        for key, parts in copies.items():
            tasks = graph.sites[key[0]].tasks
            columns, values = [self._kept_column(key, parts)], [graph.inserted(key[0]) / tasks]
            for site, p in parts:
                for arc in arcs_into.get(site, []):
                    columns.append(self.columns.v[arc, p])
                    known = graph.known[arc] >> p & 1
                    values.append(graph.rate[arc] / (tasks if known else 1))
            if self.columns.load is not None:
                program.add_row([*columns, self.columns.load], [*values, -1.0], -inf, 0.0)
            else:
                scale = max(capacity, 1e-12)
                program.add_row(columns, [v / scale for v in values], -inf, 1.0)

    def _kept_column(self, key: tuple[int, Copy], parts: list[tuple[int, int]]) -> int:
        """The column of whether a copy is kept, whichever relations of its stream use it."""
        if len(parts) == 1:
            return self.columns.z[parts[0]]
        kept = self.program.add_column(0.0, integer=True, name=f"k{key[0]}.{key[1]}")
        self.columns.kept[key] = kept
        for part in parts:
            self.program.at_most_sum(self.columns.z[part], [kept])
        return kept

    # -- without a solver ----------------------------------------------------------------

    def first_sends(self) -> float:
        """A bound without a solver: each start sends its tuples at least once."""
        graph = self.graph
        least: dict[int, float] = {}
        for target in self.targets:
            for start in graph.states[target].members:
                first = graph.states_of_start(start)
                sends = [graph.cost[a] for a in graph.routes(target, start) if graph.source[a] == first]
                least[start] = max(least.get(start, 0.0), min(sends))
        return sum(least[start] for start in sorted(least))

    def fixed_storage(self) -> float:
        """Objective of base stores left out of the program, whose copies are no decision."""
        sites = self.graph.sites
        return sum(min(sites[site].weights) for site in sorted(self._bases) if not self.has_choice(site))


def _ones(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _subsets(members: Sequence[int]) -> list[int]:
    """Nonempty proper subsets as masks; for large queries only those next to the ends."""
    count = len(members)
    everything = (1 << count) - 1
    local: list[int] = []
    if count <= CUT_RELATIONS:
        local = list(range(1, everything))
    else:
        pairs = [1 << i | 1 << j for i in range(count) for j in range(i + 1)]
        local = sorted({*pairs, *(everything ^ pair for pair in pairs)})
    return [sum(1 << members[i] for i in _ones(mask)) for mask in local]
