"""Solve the joint plan whose results each join the same two parts.

All starts of a result do so: a small program, good plans.

A result may be found by joining two stored parts: tuples that complete either part probe the
store of the other, so each start needs one step more than its part does. Such plans are a
fraction of all, but the best of them is at or near the optimum where equal rates make many
ties, and that is where the flow program's relaxation says least about which results to keep.

Sets      u: queries and MIRs; (A, B): the ways to split u into two storable parts; m: stores;
          p: candidate partitionings of a store.
Data      c_uAB: weighted probe tuples per second of all starts' last steps into u when routed;
          s_mp: objective of an installed copy.
Variables w_m: an MIR is kept; z_mp: a copy is installed; b_uAB: what has become A is sent to all
          tasks of B, binary; h_uAB >= 0: u is found by joining A and B.

    min  sum c_uAB h_uAB + sum (N_B - 1) c_uA b_uAB + sum s_mp z_mp + sum s_m w_m
    (1)  sum over splits of h_uAB  = 1 for a query, >= w_u for an MIR
    (2)  h_uAB <= w_A,  h_uAB <= w_B
    (3)  z_mp <= w_m <= sum_p z_mp;  h_uAB <= sum of z_Bp over what A knows + b_uAB

Source: Algorithm 2 (tree-shaped methods, section 5.3) with its trees chosen jointly.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from optimizer.methods.ilp.program import Program
from optimizer.methods.solution.partial_plan import PartialPlan
from optimizer.search.join_graph import bits
from optimizer.search.state_graph import StateGraph

Split = tuple[int, int]
"""Two states that together are a third, the lower index first."""


class SplitProgram:
    """The program over the splits of some targets, and the way back to a draft.

    Args:
        targets: required targets of one component.
        choices: stores whose installed copies are a decision of their own.
    """

    def __init__(self, graph: StateGraph, targets: Sequence[int], choices: frozenset[int]) -> None:
        self.graph = graph
        self.targets = tuple(targets)
        self.program = Program()
        self._choices = choices
        self._arcs: dict[tuple[int, int, int], dict[int, int]] = {}
        """(source, store, target) to the arc of each start."""
        self._splits: dict[int, dict[Split, int]] = {}
        """The splits of each result, with their columns."""
        self._w: dict[int, int] = {}
        self._z: dict[tuple[int, int], int] = {}
        for target in self.targets:
            for start in graph.states[target].members:
                for arc in graph.routes(target, start):
                    key = (graph.source[arc], graph.store[arc], graph.target[arc])
                    self._arcs.setdefault(key, {})[start] = arc
        self._add_stores()
        self._add_splits()
        self._add_results()

    def _add_stores(self) -> None:
        graph, program = self.graph, self.program
        for site in sorted({store for _, store, _ in self._arcs} | {source for source, _, _ in self._arcs}):
            found = graph.sites.get(site)
            if found is None:
                continue
            choice = site in self._choices
            if found.state.size > 1:
                cost = 0.0 if choice else min(found.weights)
                self._w[site] = program.add_column(cost, integer=True, name=f"w{site}")
            if not choice:
                continue
            columns = [
                program.add_column(weight, integer=True, name=f"z{site}.{p}")
                for p, weight in enumerate(found.weights)
            ]
            self._z.update({(site, p): column for p, column in enumerate(columns)})
            if site in self._w:
                program.at_most_sum(self._w[site], columns)
                for column in columns:
                    program.at_most_sum(column, [self._w[site]])
            else:
                program.add_row(columns, [1.0] * len(columns), 1.0, inf)
            if graph.options.single_copy and len(columns) > 1:
                program.add_row(columns, [1.0] * len(columns), -inf, 1.0)

    def _add_splits(self) -> None:
        program = self.program
        for source, store, result in sorted(self._arcs):
            if source > store or not self._is_split(source, store, result):
                continue
            column = program.add_column(0.0, integer=False, name=f"h{source}.{store}")
            self._splits.setdefault(result, {})[source, store] = column
            for part in (source, store):
                if part in self._w:
                    program.at_most_sum(column, [self._w[part]])
            program.cost[column] = self._add_send(column, source, store, result)
            program.cost[column] += self._add_send(column, store, source, result)

    def _is_split(self, source: int, store: int, result: int) -> bool:
        """True if both parts can be stored and every start of either has its step."""
        states, sites = self.graph.states, self.graph.sites
        if source not in sites or store not in sites:
            return False
        there = self._arcs[source, store, result].keys()
        back = self._arcs.get((store, source, result), {}).keys()
        return there == set(states[source].members) and back == set(states[store].members)

    def _add_send(self, column: int, source: int, store: int, result: int) -> float:
        """What the starts of `source` pay to probe `store`.

        A broadcast gets a column if it may pay.
        """
        graph, program = self.graph, self.program
        arcs = [arc for _, arc in sorted(self._arcs[source, store, result].items())]
        routed, copy = sum(graph.cost[arc] for arc in arcs), sum(graph.copy_cost[arc] for arc in arcs)
        site, known = graph.sites[store], graph.known[arcs[0]]
        if not known:
            return copy * site.tasks + (routed - copy)
        if store in self._choices:
            knowing = [self._z[store, p] for p in bits(known)]
            if len(knowing) < len(site.partitionings):
                b = program.add_column(copy * (site.tasks - 1), integer=True, name=f"b{source}.{store}")
                program.at_most_sum(column, [*knowing, b])
        return routed

    def _add_results(self) -> None:
        program = self.program
        for target in self.targets:
            columns = list(self._splits.get(target, {}).values())
            program.add_row(columns, [1.0] * len(columns), 1.0, inf)
        for mir, kept in self._w.items():
            program.at_most_sum(kept, list(self._splits.get(mir, {}).values()))

    def draft(self, values: Sequence[float]) -> PartialPlan:
        """The plan that rounded values describe."""
        draft = PartialPlan(self.graph, targets=self.targets)
        pending = list(self.targets)
        seen = set(pending)
        while pending:
            result = pending.pop()
            for start in self.graph.states[result].members:
                draft.set_path((result, start), self._path(values, result, start))
            for part in self._split(values, result):
                if self.graph.states[part].size > 1 and part not in draft.mirs:
                    draft.add_mir(part)
                    if part not in seen:
                        seen.add(part)
                        pending.append(part)
        draft.choose_copies()
        return draft

    def _split(self, values: Sequence[float], result: int) -> Split:
        chosen = max(self._splits[result].items(), key=lambda item: (values[item[1]], -item[1]))
        return chosen[0]

    def _path(self, values: Sequence[float], result: int, start: int) -> tuple[int, ...]:
        """The steps from a start's own tuples to a result, part by part."""
        path: list[int] = []
        while self.graph.states[result].size > 1:
            first, second = self._split(values, result)
            if not self.graph.states[first].relations >> start & 1:
                first, second = second, first
            path.append(self._arcs[first, second, result][start])
            result = first
        return tuple(reversed(path))
