"""A physical graph, indexed by what the runtime asks of it."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from functools import cached_property
from itertools import permutations

from jobs.plan.stage_fusion import Stages, stages_of
from jobs.plan.tuples import column_name
from optimizer.algebra.expression import Column, Expression, inputs_of, rename_inputs
from optimizer.algebra.types import ColumnType
from optimizer.logical.window import UNBOUNDED, Window
from optimizer.physical.graph import Edge, GraphStore, Hold, PhysicalGraph
from optimizer.physical.rules import (
    AggregateRule,
    DueRule,
    ProbeRule,
    Rule,
    SettleRule,
    SourceRule,
    StoreRule,
    received_on,
)
from optimizer.physical.usage import users_of


class RuleIndex:
    """Look-ups over one graph, built by `index_of` once per process and graph."""

    def __init__(self, graph: PhysicalGraph) -> None:
        self.graph = graph
        self.holds: dict[str, Hold] = {hold.name: hold for hold in graph.holds}
        self.held_edges = {(hold.name, rule): edge for hold in graph.holds for rule, edge in hold.edges}
        """By hold and rule, the edge along which what the rule's leaf holds goes to the store."""
        self.direct_edges = {(hold.name, rule): edge for hold in graph.holds for rule, edge in hold.direct}
        """By hold and rule, the edge along which what is due as it is found goes past the store."""
        self.derived_edges = {
            (stream.name, rule): edge
            for stream in graph.streams
            if stream.derived is not None
            for rule, edge in stream.derived.edges
        }
        """By derived stream and rule, the edge along which what the rule's leaf finds is kept."""
        self.streams = {
            stream.name: stream for stream in (*graph.streams, *(hold.stream for hold in graph.holds))
        }
        self.stores = {store.id: store for store in graph.stores}
        self.edges = {edge.id: edge for edge in graph.edges}
        self.queries = {query.name: query for query in graph.queries}
        self.users = users_of(graph)
        self.rules: dict[str, Rule] = {rule.id: rule for rule in graph.rules}
        self.sources: dict[str, list[SourceRule]] = defaultdict(list)
        self.store_rules: dict[int, list[StoreRule]] = defaultdict(list)
        self.probe_rules: dict[int, list[ProbeRule]] = defaultdict(list)
        self.due_rules: dict[str, list[DueRule]] = defaultdict(list)
        """By hold."""
        self.settle_rules: dict[int, list[SettleRule]] = defaultdict(list)
        self.aggregate_rules: dict[int, list[AggregateRule]] = defaultdict(list)
        for rule in graph.rules:
            match rule:
                case SourceRule():
                    self.sources[rule.stream].append(rule)
                case StoreRule():
                    self.store_rules[self.edges[rule.edge].level].append(rule)
                case ProbeRule():
                    self.probe_rules[self.edges[rule.edge].level].append(rule)
                case DueRule():
                    self.due_rules[rule.hold].append(rule)
                case SettleRule():
                    self.settle_rules[self.edges[rule.edge].level].append(rule)
                case AggregateRule():
                    self.aggregate_rules[self.edges[rule.edge].level].append(rule)
        self.store_edges = frozenset(rule.edge for rule in graph.rules if isinstance(rule, StoreRule))
        self.receivers: dict[str, Rule] = {edge: rule for rule in graph.rules for edge in received_on(rule)}
        """What receives on each edge."""
        self.input_streams = {
            **{rule.input: rule.stream for rule in graph.rules if isinstance(rule, SourceRule)},
            **{stored.input: stored.stream for store in graph.stores for stored in store.inputs},
            **{i.input: i.stream for query in graph.queries for i in query.inputs},
            **{
                name: stream
                for rule in graph.rules
                if isinstance(rule, DueRule)
                for name, stream in rule.inputs
            },
            **{
                name: self.stores[rule.store].inputs[0].stream
                for rule in graph.rules
                if isinstance(rule, ProbeRule) and self.stores[rule.store].is_base
                for _, name in rule.renames
            },
        }
        self.behind_all = 1 + max((edge.level for edge in graph.edges), default=0)
        """A level at which nothing arrives."""
        self.staying = frozenset(edge.id for edge in graph.edges if self._stays(edge))
        """Edges whose tuples are already in the task that they are for: the sending probe's store and
        the receiving store have as many tasks and are partitioned by values that are equal, or have one."""
        self.stages = stages_of(graph, self.staying)
        self.marks_late = any(query.marks_late for query in graph.queries)
        self._staying_under: dict[frozenset[str], frozenset[str]] = {}
        self._stages_under: dict[frozenset[str], Stages] = {}

    @cached_property
    def text(self) -> bytes:
        """The graph as its plan file has it."""
        return self.graph.to_json().encode()

    def time_column(self, canonical_input: str) -> Column:
        """The event-time column of an input."""
        stream = self.streams[self.stream_of(canonical_input)]
        return Column(canonical_input, stream.event_time, ColumnType.TIMESTAMP)

    def outputs(self, name: str) -> dict[str, ColumnType]:
        """The columns that a leaf gives, for a query or for a hold."""
        held = self.holds.get(name)
        if held is None:
            return dict(self.queries[name].outputs)
        return dict(held.stream.columns if held.groups is None else held.groups.taken)

    def gives_late(self, name: str) -> bool:
        """True if the results of a leaf's query say whether they are late."""
        return name in self.queries and self.queries[name].marks_late

    def stream_of(self, canonical_input: str) -> str:
        return self.input_streams[canonical_input]

    def stored_times(self, store: GraphStore) -> tuple[str, ...]:
        """The event-time column of each input of a store."""
        return tuple(f"{stored.input}.{self.streams[stored.stream].event_time}" for stored in store.inputs)

    def start_of(self, edge: Edge) -> str:
        """The canonical input whose new tuples travel, joined or not, on an edge."""
        return self.start(edge.origin)

    def start(self, rule_id: str) -> str:
        """The canonical input whose new tuples began what a source or probe rule makes."""
        rule = self.rules[rule_id]
        assert not isinstance(rule, StoreRule)
        return rule.input if isinstance(rule, SourceRule) else rule.start

    def staying_under(self, spread: frozenset[str]) -> frozenset[str]:
        """The edges of `staying` that stay in their task in this batch too.

        While the tuples of the stores `spread` lie under several numbers of tasks, what is found in such a
        store may be found in any task, and so may its partners.
        """
        if not spread:
            return self.staying
        if spread not in self._staying_under:
            self._staying_under[spread] = frozenset(
                edge
                for edge in self.staying
                if not {self._origin_store(edge), self.edges[edge].target} & spread
            )
        return self._staying_under[spread]

    def stages_under(self, spread: frozenset[str]) -> Stages:
        """A batch's stages while tuples of `spread` lie under several numbers of tasks."""
        if not spread:
            return self.stages
        if spread not in self._stages_under:
            self._stages_under[spread] = stages_of(self.graph, self.staying_under(spread))
        return self._stages_under[spread]

    def _origin_store(self, edge: str) -> str:
        rule = self.rules[self.edges[edge].origin]
        assert isinstance(rule, ProbeRule), "only what a probe has found is in a task already"
        return rule.store

    def _stays(self, edge: Edge) -> bool:
        rule = self.rules[edge.origin]
        # What is held stays where earlier plans put it, which may have had more tasks.
        if not isinstance(rule, ProbeRule) or edge.kind in ("home", "group"):
            return False
        into = self.edges[rule.edge]
        tasks = self.stores[edge.target].tasks
        if tasks != self.stores[into.target].tasks:
            return False
        by_key = edge.kind == into.kind == "group_by"
        return tasks == 1 or (by_key and edge.key in self._equal_columns(rule, into.key))

    def _equal_columns(self, rule: Rule, column: Column | None) -> set[Column | None]:
        """Columns of a rule's output that probes on the way found equal to one of them."""
        pairs: list[set[Expression]] = []
        while isinstance(rule, ProbeRule):
            stored = {name for name, _ in rule.renames} - {name for _, name in rule.renames}
            for equality in rule.equalities:
                held = equality.stored
                if inputs_of(held) & stored:
                    held = rename_inputs(held, dict(rule.renames))
                # Equal values of two types may be different values of a third.
                if equality.probe.type is held.type:
                    pairs.append({equality.probe, held})
            rule = self.rules[self.edges[rule.edge].origin]
        equal: set[Column | None] = {column}
        for _ in pairs:
            for pair in pairs:
                if pair & equal:
                    equal |= {side for side in pair if isinstance(side, Column)}
        return equal

    def unchecked_windows(self, rule: ProbeRule) -> tuple[tuple[str, str, Window], ...]:
        """The (newer, older, window of the older) conditions that a probe has to check.

        All ordered pairs of the rule's inputs, less those that the rules on the way have
        checked with the same or a smaller window already.
        """
        windows, checked = rule.window_of, self._checked(self.edges[rule.edge])
        return tuple(
            (newer, older, windows[older])
            for newer, older in permutations(sorted(windows), 2)
            if not windows[older].covers(checked.get((newer, older), UNBOUNDED))
        )

    def _checked(self, edge: Edge) -> dict[tuple[str, str], Window]:
        """By (newer, older), the narrowest window that the rules on the way have checked."""
        checked: dict[tuple[str, str], Window] = {}
        rule = self.rules[edge.origin]
        while isinstance(rule, ProbeRule):
            windows = rule.window_of
            for pair in permutations(windows, 2):
                checked[pair] = windows[pair[1]].intersection(checked.get(pair, UNBOUNDED))
            rule = self.rules[self.edges[rule.edge].origin]
        return checked


def edge_columns(edge: Edge) -> tuple[str, ...]:
    return tuple(column_name(column) for column in edge.columns)


_INDEXES: OrderedDict[int, RuleIndex] = OrderedDict()


def index_of(graph: PhysicalGraph) -> RuleIndex:
    """The graph's index, built once: callers keep one graph object per plan.

    Found by identity, because hashing a graph would cost more than a small batch. The index
    holds its graph, so an identity in the table cannot be taken over by another graph.

    >>> graph = PhysicalGraph(streams=(), stores=(), edges=(), rules=(), queries=())
    >>> index_of(graph) is index_of(graph)
    True
    """
    index = _INDEXES.get(id(graph))
    if index is None:
        index = _INDEXES[id(graph)] = RuleIndex(graph)
        while len(_INDEXES) > 8:
            _INDEXES.popitem(last=False)
    return index
