"""The flow of tuples through a graph: sent, made, stored, and waiting."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import exp, prod

from optimizer.algebra.expression import Call, Expression, columns_of, inputs_of
from optimizer.algebra.udf_names import calls_user_function
from optimizer.logical.canonical_inputs import conjuncts, sort_key, stream_of
from optimizer.logical.event_time.share import is_inequality, window_share
from optimizer.physical.fanout import fanout, reach_us
from optimizer.physical.graph import Edge, GraphStore, Hold, PhysicalGraph
from optimizer.physical.groups import Groups
from optimizer.physical.rules import (
    AggregateRule,
    DueRule,
    ProbeRule,
    Rule,
    SettleRule,
    SourceRule,
    StoreRule,
)
from optimizer.search.cost_model import lasting_s, mean_life_s
from optimizer.search.problem import BATCH_S
from optimizer.statistics.defaults import EQUALITY, default_selectivity, is_assumed
from optimizer.statistics.observation.chains import chains, partners
from optimizer.statistics.provider import StatisticsProvider
from optimizer.statistics.skew import hash_skew
from optimizer.udf.pair_cost import pair_cost


@dataclass(frozen=True, slots=True)
class Estimated:
    """Expectations for every element of a graph."""

    edges: dict[str, float]
    """Tuples per second sent along each edge, before copies."""
    rules: dict[str, float]
    """Tuples per second that each rule produces: combinations, and of an aggregate rule groups."""
    stores: dict[str, float]
    """Tuples held by each store."""
    probe: float
    """Tuples per second sent in order to probe, copies counted, with the evaluation of user functions.
    What is hashed counts as if all tasks received what the fullest does."""

    @property
    def stored(self) -> float:
        """Tuples held by all stores."""
        return sum(self.stores[store] for store in sorted(self.stores))

    def cost(self, probe_weight: float = 1.0, storage_weight: float = 1.0) -> float:
        """In the cost model's unit, probe tuples per second (dissertation section 6.2)."""
        return probe_weight * self.probe + storage_weight * self.stored


def estimate(graph: PhysicalGraph, statistics: StatisticsProvider, horizon_s: float = 3600.0) -> Estimated:
    """Estimate a graph with the cost model of section 6.2, element by element.

    A step multiplies what arrives by what it was seen to, or where that is not known by the partners inside
    the stored side's window and the selectivities of what it checks; a materialized result holds what its
    feeding orders make. What waits leaves as fast as it comes; it has partners if it meets any, as if they
    were strewn at random.

    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.statistics import statistics_of_workload
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> streams = [Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s")]
    >>> catalog = Catalog.of(streams)
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> known = statistics_of_workload(catalog, ())
    >>> made = estimate(plan([query], catalog, known).graph, known)
    >>> made.probe, made.stored
    (20.0, 20.0)

    Args:
        graph: a valid graph; its own estimates are not looked at.
        statistics: must know, or have a default below it for, every rate; unknown selectivities
            are the documented defaults.
        horizon_s: seconds over which an unbounded window is taken to hold tuples.
    """
    return Flow(graph, statistics, horizon_s).estimated()


@dataclass(slots=True)
class Flow:
    """Rates and amounts of a graph's elements, each computed when asked for."""

    graph: PhysicalGraph
    statistics: StatisticsProvider
    horizon_s: float
    rules: dict[str, Rule] = field(init=False)
    origins: dict[str, str] = field(init=False)
    stores: dict[str, GraphStore] = field(init=False)
    feeds: dict[str, list[StoreRule]] = field(init=False)
    holds: dict[str, Hold] = field(init=False)
    """By store, and by name."""
    chains: dict[str, str] = field(init=False)
    event_times: dict[str, str] = field(init=False)
    """By stream."""
    made: dict[str, float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.chains = chains(self.graph)
        self.event_times = {stream.name: stream.event_time for stream in self.graph.streams}
        self.rules = {rule.id: rule for rule in self.graph.rules}
        self.origins = {edge.id: edge.origin for edge in self.graph.edges}
        self.stores = {store.id: store for store in self.graph.stores}
        self.feeds = {store.id: [] for store in self.graph.stores}
        self.holds = {key: hold for hold in self.graph.holds for key in (hold.store, hold.name)}
        for rule in self.graph.rules:
            if isinstance(rule, StoreRule):
                self.feeds[rule.store].append(rule)

    def estimated(self) -> Estimated:
        edges = {edge.id: self.produced(edge.origin) for edge in self.graph.edges}
        probes = {rule.edge: rule for rule in self.graph.rules if isinstance(rule, ProbeRule)}
        probe = sum(
            edges[edge.id] * fanout(edge, self.stores[edge.target], probes[edge.id]) * self._skew(edge)
            for edge in self.graph.edges
            if edge.id in probes
        ) + sum(self.evaluation(rule) for rule in self.graph.rules if isinstance(rule, ProbeRule))
        made = {rule.id: self.produced(rule.id) for rule in self.graph.rules if rule.kind != "store"}
        return Estimated(edges, made, {store: self.held(store) for store in self.stores}, probe)

    def _skew(self, edge: Edge) -> float:
        """What the fullest task receives over the mean.

        A step is done when its last task is.
        """
        return hash_skew(self.stores[edge.target], self.statistics) if edge.kind == "group_by" else 1.0

    def produced(self, rule: str) -> float:
        """Tuples per second that a rule makes."""
        if rule not in self.made:
            self.made[rule] = self._made(self.rules[rule])
        return self.made[rule]

    def _made(self, rule: Rule) -> float:
        match rule:
            case SourceRule():
                return self.rate(rule.stream) * (1.0 if rule.filter is None else self.share(rule.filter))
            case ProbeRule():
                return self.produced(self.origins[rule.edge]) * self._partners(rule)
            case DueRule():
                return self._falling_due(self.holds[rule.hold])
            case SettleRule():
                due = self.produced(self.origins[rule.edge])
                return due * prod(
                    self._fits(self.origins[found.edge], due, found.present)
                    for found in rule.found
                    if found.present or not found.newest
                )
            case AggregateRule():
                return self._groups_finished(self.holds[rule.hold])
            case StoreRule():
                raise ValueError(f"nothing leaves the store rule {rule.id}")

    def _fits(self, looking: str, due: float, present: bool) -> float:
        """The share of what is due that has partners, or has none."""
        none = exp(-self.produced(looking) / due) if due > 0 else 1.0
        return 1.0 - none if present else none

    def _falling_due(self, hold: Hold) -> float:
        """Rows per second that leave a hold: all that come, or merged ones."""
        arriving = self.stored_rate(hold.store)
        if hold.groups is None or not hold.groups.merges or hold.groups.gap_us:
            return arriving
        return self._groups_finished(hold)

    def _groups_finished(self, hold: Hold) -> float:
        groups = hold.groups
        assert groups is not None
        if groups.running:
            # Of a busy group a batch makes one row.
            return min(self.stored_rate(hold.store), self._groups(hold, groups) / BATCH_S)
        # There is a gap before each session of a key, at least.
        period_s = (groups.gap_us or (groups.slide_us if groups.overlapping > 1 else groups.size_us)) / 1e6
        taken = self.stored_rate(hold.store) * groups.overlapping
        return min(taken, self._groups(hold, groups) / period_s)

    def _groups(self, hold: Hold, groups: Groups) -> float:
        """Groups of one bucket, if it has combinations enough.

        A key of a stream has as many values as the conditions over it say: where one in a hundred pairs is
        equal there are a hundred.
        """
        leaf = next(
            leaf
            for rule in self.graph.rules
            if not isinstance(rule, StoreRule)
            for leaf in rule.emits
            if leaf.query == hold.name
        )
        keys = [value for name, value in leaf.outputs if name in groups.key_names and name != groups.bucket]
        return prod(1.0 / self._equal_share(key) for key in keys)

    def _equal_share(self, key: Expression) -> float:
        """The share of pairs of values that are equal, as far as equalities tell."""
        read = columns_of(key)
        told = [
            self.share(equality.condition)
            for rule in self.graph.rules
            if isinstance(rule, ProbeRule)
            for equality in rule.equalities
            if key in (equality.probe, equality.stored)
        ]
        return max(min(told, default=EQUALITY.expected), 1e-9) if read else 1.0

    def evaluation(self, rule: ProbeRule) -> float:
        """Cost per second of the user functions that a probe calls, in probe tuples."""
        costs = {function.name: function.cost_us for function in self.graph.functions}
        costly = [(p, pair_cost(p, costs)) for p in rule.predicates if calls_user_function(p)]
        if not costly:
            return 0.0
        left = self.produced(self.origins[rule.edge])
        left *= self._partners(rule, frozenset(predicate for predicate, _ in costly))
        cost = 0.0
        for predicate, of_pair in costly:
            cost += left * of_pair
            left *= self.share_in(predicate, rule)
        return cost

    def _partners(self, rule: ProbeRule, without: frozenset[Expression] = frozenset()) -> float:
        """Stored tuples that one arriving tuple is joined with, some predicates left out."""
        equalities = [equality.condition for equality in rule.equalities]
        checked = {*equalities, *rule.predicates} - without
        store = self.stores[rule.store]
        learnt = partners(self.statistics, self.chains[rule.id])
        if learnt is not None and not without:
            return learnt.expected
        if not store.is_base:
            return self._volume(store.id) * self._shares(checked, rule)
        name, held = rule.renames[0][1], self.stored_rate(store.id)
        # The store holds what any query's filter passes: a query's own passes a part of the stream, not
        # the same part of that.
        filters = {condition for condition in checked if inputs_of(condition) == {name}}
        if filters:
            held = min(held, self.rate(store.inputs[0].stream) * self._shares(filters, rule))
        found = held * self.asked_s(rule) * self._shares(checked - filters, rule)
        return 1.0 - exp(-found) if rule.newest else found

    def asked_s(self, rule: ProbeRule) -> float:
        """Seconds of event time in which partners of one tuple lie in a base store.

        What arrives meets older tuples only, what waited also those that have come since.
        """
        if not self.waited(rule):
            return lasting_s(rule.stored_window.seconds, self.horizon_s)
        reach = reach_us(rule)
        return lasting_s(None if reach is None else reach / 1e6, self.horizon_s)

    def waited(self, rule: Rule) -> bool:
        """True of a step that looks for partners of what falls due."""
        while self.holds and isinstance(rule, ProbeRule):
            rule = self.rules[self.origins[rule.edge]]
        return isinstance(rule, DueRule)

    def _shares(self, conditions: Iterable[Expression], rule: ProbeRule) -> float:
        return prod(self.share_in(condition, rule) for condition in sorted(conditions, key=sort_key))

    def share_in(self, condition: Expression, rule: ProbeRule) -> float:
        """Selectivity of a condition among the pairs inside a step's windows.

        Of one on event times these tell more than a guess.
        """
        if not (is_inequality(condition) and is_assumed(condition, self.statistics.selectivity(condition))):
            return self.share(condition)
        names = inputs_of(condition)
        times = {name: self.event_times.get(stream_of(name), "") for name in names}
        lasting = {
            bound.input: lasting_s(bound.window.seconds, self.horizon_s)
            for bound in rule.windows
            if bound.input in names
        }
        within = window_share(condition, times, lasting)
        return self.share(condition) if within is None else within

    def stored_rate(self, store: str) -> float:
        hold = self.holds.get(store)
        if hold is not None and hold.is_running:
            return sum(self.produced(rule) for rule, _ in hold.edges)
        return sum(self.produced(self.origins[rule.edge]) for rule in self.feeds[store])

    def _volume(self, store: str) -> float:
        """Results of a materialized relation whose tuples all lie within the windows."""
        feeding = self._feeding(store)
        start, rate = next(iter(feeding.items()))
        return rate * self._windows(store)[start]

    def _feeding(self, store: str) -> dict[str, float]:
        """Results per second by the input that starts them."""
        found = {}
        for rule in self.feeds[store]:
            sender = self.rules[self.origins[rule.edge]]
            assert isinstance(sender, ProbeRule), "a materialized result is fed by a probe"
            found[sender.start] = self.produced(sender.id)
        return dict(sorted(found.items()))

    def _windows(self, store: str) -> dict[str, float]:
        sender = self.rules[self.origins[self.feeds[store][0].edge]]
        assert isinstance(sender, ProbeRule)
        return {name: lasting_s(window.seconds, self.horizon_s) for name, window in sender.window_of.items()}

    def held(self, store: str) -> float:
        return self.stores[store].copies * self.in_one_copy(store)

    def in_one_copy(self, store: str) -> float:
        held = self.stores[store]
        if store in self.holds:
            return self._waiting(self.holds[store])
        if held.is_base:
            seconds = lasting_s(held.retention[0].seconds, self.horizon_s)
            return self.stored_rate(store) * seconds
        windows = self._windows(store)
        return sum(
            rate * mean_life_s(windows[start], [w for other, w in windows.items() if other != start])
            for start, rate in self._feeding(store).items()
        )

    def _waiting(self, hold: Hold) -> float:
        """Rows of a hold: combinations before their deadline, or states of groups.

        The watermark, by which they are due, stays behind by the most that a stream may be late.
        """
        arriving, groups = self.stored_rate(hold.store), hold.groups
        if groups is not None and groups.running:
            rows = arriving * self.horizon_s
            return min(rows, self._groups(hold, groups)) if groups.merges else rows
        late_s = max((stream.lateness_us / 1e6 for stream in self.graph.streams), default=0.0)
        if groups is None:
            wait_s = max(
                min(lasting_s(bound.window.seconds, self.horizon_s) for bound in bounds)
                for bounds in hold.deadlines
            )
            return arriving * (wait_s + late_s)
        size_s, wait_s = (groups.gap_us or groups.size_us) / 1e6, groups.wait_us / 1e6 + late_s
        rows = arriving * (size_s / 2 + wait_s)
        return min(rows, self._groups_finished(hold) * (size_s + wait_s)) if groups.merges else rows

    def rate(self, stream: str) -> float:
        known = self.statistics.rate(stream)
        if known is None:
            raise ValueError(f"no rate of stream {stream}, and no default below")
        return known.expected

    def share(self, condition: Expression) -> float:
        """Selectivity of a condition; conjuncts and alternatives count as independent."""
        if isinstance(condition, Call) and condition.function == "or":
            known = self.statistics.selectivity(condition)
            if known is not None:
                return known.expected
            return 1.0 - prod(1.0 - self.share(a) for a in condition.arguments)
        shares = []
        for part in sorted(conjuncts(condition), key=sort_key):
            if part != condition and isinstance(part, Call) and part.function == "or":
                shares.append(self.share(part))
                continue
            known = self.statistics.selectivity(part)
            shares.append((known or default_selectivity(part)).expected)
        return prod(shares)
