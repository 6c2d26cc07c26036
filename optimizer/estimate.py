"""What a physical graph does under given statistics: tuples sent, made and stored.

A plan is chosen for the statistics of its day. To compare the plan in use with another one, both
are estimated under the same statistics, from the graph alone: so it works for any plan, whoever made
it and however long ago.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from optimizer.algebra.expression import Call, Column, Expression, columns_of, inputs_of
from optimizer.algebra.udf_names import calls_user_function
from optimizer.logical.canonical_inputs import conjuncts, sort_key
from optimizer.physical.at_once import at_once
from optimizer.physical.fanout import fanout
from optimizer.physical.graph import Edge, GraphStore, PhysicalGraph
from optimizer.physical.rules import ProbeRule, Rule, SourceRule, StoreRule
from optimizer.search.cost_model import lasting_s, mean_life_s
from optimizer.search.pricing import COMPACTED, CopyLoad, Pricing, SourceLoad, StepLoad
from optimizer.search.problem import Options
from optimizer.search.widths import POSITION_BYTES, TEXT_BYTES, width
from optimizer.statistics.defaults import default_selectivity
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
    """Tuples per second that each source and probe rule produces."""
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


def cost_of(
    graph: PhysicalGraph, statistics: StatisticsProvider, options: Options, horizon_s: float = 3600.0
) -> float:
    """What a graph costs under given statistics, as `Options.pricing` says."""
    if options.cost == "cores":
        return loads(graph, statistics, horizon_s).cost(options.pricing)
    return estimate(graph, statistics, horizon_s).cost(options.probe_weight, options.storage_weight)


def estimate(graph: PhysicalGraph, statistics: StatisticsProvider, horizon_s: float = 3600.0) -> Estimated:
    """Estimate a graph with the cost model of section 6.2, element by element.

    A step multiplies what arrives by what it was seen to, or where that is not known by the partners inside
    the stored side's window and the selectivities of what it checks; a materialized result holds what its
    feeding orders make.

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
    return _Estimator(at_once(graph), statistics, horizon_s).estimated()


@dataclass(frozen=True, slots=True)
class Loads:
    """What the elements of a graph do, as a `Pricing` wants to know it."""

    steps: dict[str, StepLoad]
    """By probe rule."""
    copies: dict[str, CopyLoad]
    """By store."""
    source: SourceLoad

    def cost(self, pricing: Pricing) -> float:
        """The graph's total cost in the pricing's unit."""
        steps = sum(sum(pricing.step(load)) for load in self.steps.values())
        kept = [pricing.copy(load) for load in self.copies.values()]
        copies = sum(work + pricing.memory * amount for work, amount in kept)
        return pricing.source(self.source) + steps + copies


def loads(
    graph: PhysicalGraph,
    statistics: StatisticsProvider,
    horizon_s: float = 3600.0,
    text_bytes: float = TEXT_BYTES,
) -> Loads:
    """What the graph's steps and stores do under given statistics.

    Args:
        text_bytes: mean length of texts.
    """
    return _Estimator(at_once(graph), statistics, horizon_s).loads(text_bytes)


@dataclass(slots=True)
class _Estimator:
    graph: PhysicalGraph
    statistics: StatisticsProvider
    horizon_s: float
    rules: dict[str, Rule] = field(init=False)
    origins: dict[str, str] = field(init=False)
    stores: dict[str, GraphStore] = field(init=False)
    feeds: dict[str, list[StoreRule]] = field(init=False)
    chains: dict[str, str] = field(init=False)
    made: dict[str, float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.chains = chains(self.graph)
        self.rules = {rule.id: rule for rule in self.graph.rules}
        self.origins = {edge.id: edge.origin for edge in self.graph.edges}
        self.stores = {store.id: store for store in self.graph.stores}
        self.feeds = {store.id: [] for store in self.graph.stores}
        for rule in self.graph.rules:
            if isinstance(rule, StoreRule):
                self.feeds[rule.store].append(rule)

    def estimated(self) -> Estimated:
        edges = {edge.id: self._produced(edge.origin) for edge in self.graph.edges}
        probes = {rule.edge: rule for rule in self.graph.rules if isinstance(rule, ProbeRule)}
        probe = sum(
            edges[edge.id] * fanout(edge, self.stores[edge.target], probes[edge.id]) * self._skew(edge)
            for edge in self.graph.edges
            if edge.id in probes
        ) + sum(self._evaluation(rule) for rule in self.graph.rules if isinstance(rule, ProbeRule))
        made = {rule.id: self._produced(rule.id) for rule in self.graph.rules if rule.kind != "store"}
        return Estimated(edges, made, {store: self._held(store) for store in self.stores}, probe)

    def loads(self, text_bytes: float) -> Loads:
        edges = {edge.id: edge for edge in self.graph.edges}
        types = {(s.name, name): kind for s in self.graph.streams for name, kind in s.columns}
        rules = [rule for rule in self.graph.rules if isinstance(rule, ProbeRule)]

        def bytes_of(columns: Iterable[Column]) -> float:
            return POSITION_BYTES + sum(width(column.type, text_bytes) for column in columns)

        def made_bytes(rule: ProbeRule | SourceRule) -> float:
            sent = {column for edge in rule.out for column in edges[edge].columns}
            for leaf in rule.emits:
                sent |= {c for _, value in leaf.outputs for c in columns_of(value)}
            return bytes_of(sent)

        steps = {
            rule.id: self._step_load(
                rule, edges[rule.edge], bytes_of(edges[rule.edge].columns), made_bytes(rule)
            )
            for rule in rules
        }
        copies = {
            store.id: CopyLoad(
                tuples=self._held(store.id),
                inserted=self._stored_rate(store.id) * store.copies,
                bytes=bytes_of(
                    Column(one.input, name, types[one.stream, name])
                    for one in store.inputs
                    for name in one.columns
                ),
                tasks=store.tasks,
                is_base=store.is_base,
            )
            for store in self.graph.stores
        }
        answering = [
            (self._produced(rule.id), made_bytes(rule), len(rule.emits))
            for rule in self.graph.rules
            if isinstance(rule, SourceRule | ProbeRule) and rule.emits
        ]
        read = {stream.name: 0.0 for stream in self.graph.streams}
        for rule in self.graph.rules:
            if isinstance(rule, SourceRule):
                read[rule.stream] = max(read[rule.stream], made_bytes(rule))
        rates = {name: self._rate(name) for name in read}
        source = SourceLoad(
            streams=tuple(rates.values()),
            sources=tuple(self._produced(r.id) for r in self.graph.rules if isinstance(r, SourceRule)),
            read_bytes=sum(rate * read[name] for name, rate in rates.items()),
            results=sum(rate * count for rate, _, count in answering),
            result_bytes=sum(rate * size * count for rate, size, count in answering),
            leaves=tuple(rate for rate, _, count in answering for _ in range(count)),
        )
        return Loads(steps, copies, source)

    def _step_load(self, rule: ProbeRule, edge: Edge, arriving_bytes: float, made_bytes: float) -> StepLoad:
        store = self.stores[rule.store]
        inserted = self._stored_rate(store.id)
        if store.is_base:
            held_s = lasting_s(rule.stored_window.seconds, self.horizon_s)
        else:
            held_s = COMPACTED * self._in_one_copy(store.id) / inserted if inserted > 0 else 0.0
        equalities = [equality.condition for equality in rule.equalities]
        # Without keys pairs are found along the most selective condition, or all are formed.
        selecting: list[Expression] = [*equalities] or list(rule.predicates)
        shares = [self._share(condition) for condition in selecting]
        copies = fanout(edge, store, rule)
        return StepLoad(
            arriving=self._produced(edge.origin) * copies,
            made=self._produced(rule.id),
            equal=(prod(shares) if equalities else min(shares, default=1.0)) / copies,
            evaluated=self._evaluation(rule),
            inserted=inserted,
            held_s=held_s,
            tasks=store.tasks,
            checks=bool(rule.predicates),
            arriving_bytes=arriving_bytes,
            made_bytes=made_bytes,
        )

    def _skew(self, edge: Edge) -> float:
        """What the fullest task receives over the mean.

        A step is done when its last task is.
        """
        return hash_skew(self.stores[edge.target], self.statistics) if edge.kind == "group_by" else 1.0

    def _produced(self, rule: str) -> float:
        """Tuples per second that a source or probe rule makes."""
        if rule not in self.made:
            found = self.rules[rule]
            if isinstance(found, SourceRule):
                passed = 1.0 if found.filter is None else self._share(found.filter)
                self.made[rule] = self._rate(found.stream) * passed
            elif isinstance(found, ProbeRule):
                arriving = self._produced(self.origins[found.edge])
                self.made[rule] = arriving * self._partners(found)
            else:
                raise ValueError(f"nothing leaves the store rule {rule}")
        return self.made[rule]

    def _evaluation(self, rule: ProbeRule) -> float:
        """Cost per second of the user functions that a probe calls, in probe tuples."""
        costs = {function.name: function.cost_us for function in self.graph.functions}
        costly = [(p, pair_cost(p, costs)) for p in rule.predicates if calls_user_function(p)]
        if not costly:
            return 0.0
        left = self._produced(self.origins[rule.edge])
        left *= self._partners(rule, frozenset(predicate for predicate, _ in costly))
        cost = 0.0
        for predicate, of_pair in costly:
            cost += left * of_pair
            left *= self._share(predicate)
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
            return self._volume(store.id) * self._shares(checked)
        name, held = rule.renames[0][1], self._stored_rate(store.id)
        # The store holds what any query's filter passes: a query's own passes a part of the stream, not
        # the same part of that.
        filters = {condition for condition in checked if inputs_of(condition) == {name}}
        if filters:
            held = min(held, self._rate(store.inputs[0].stream) * self._shares(filters))
        window_s = lasting_s(rule.window_of[name].seconds, self.horizon_s)
        return held * window_s * self._shares(checked - filters)

    def _shares(self, conditions: Iterable[Expression]) -> float:
        return prod(self._share(condition) for condition in sorted(conditions, key=sort_key))

    def _stored_rate(self, store: str) -> float:
        return sum(self._produced(self.origins[rule.edge]) for rule in self.feeds[store])

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
            found[sender.start] = self._produced(sender.id)
        return dict(sorted(found.items()))

    def _windows(self, store: str) -> dict[str, float]:
        sender = self.rules[self.origins[self.feeds[store][0].edge]]
        assert isinstance(sender, ProbeRule)
        return {name: lasting_s(window.seconds, self.horizon_s) for name, window in sender.window_of.items()}

    def _held(self, store: str) -> float:
        return self.stores[store].copies * self._in_one_copy(store)

    def _in_one_copy(self, store: str) -> float:
        held = self.stores[store]
        if held.is_base:
            seconds = lasting_s(held.retention[0].seconds, self.horizon_s)
            return self._stored_rate(store) * seconds
        windows = self._windows(store)
        return sum(
            rate * mean_life_s(windows[start], [w for other, w in windows.items() if other != start])
            for start, rate in self._feeding(store).items()
        )

    def _rate(self, stream: str) -> float:
        known = self.statistics.rate(stream)
        if known is None:
            raise ValueError(f"no rate of stream {stream}, and no default below")
        return known.expected

    def _share(self, condition: Expression) -> float:
        """Selectivity of a condition; conjuncts and alternatives count as independent."""
        if isinstance(condition, Call) and condition.function == "or":
            known = self.statistics.selectivity(condition)
            if known is not None:
                return known.expected
            return 1.0 - prod(1.0 - self._share(a) for a in condition.arguments)
        shares = []
        for part in sorted(conjuncts(condition), key=sort_key):
            if part != condition and isinstance(part, Call) and part.function == "or":
                shares.append(self._share(part))
                continue
            known = self.statistics.selectivity(part)
            shares.append((known or default_selectivity(part)).expected)
        return prod(shares)
