"""From a topology's metrics to observed statistics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from optimizer.algebra.expression import Expression, inputs_of
from optimizer.logical.canonical_inputs import conjuncts, sort_key, stream_of
from optimizer.physical.at_once import at_once
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, Rule, SourceRule, StoreRule
from optimizer.statistics.observation.chains import chains
from optimizer.statistics.observation.daily import Rate
from optimizer.statistics.observation.evidence import Evidence
from optimizer.statistics.observation.observed import ObservedStatistics, ObservedStep


@dataclass(frozen=True, slots=True)
class Measured:
    """What happened in a topology during some span of event time.

    Counts are summed over batches.
    """

    seconds: float
    """Length of the span in event time."""
    accepted: Mapping[str, int]
    """New tuples by stream."""
    edges: Mapping[str, int]
    """Tuples sent along each edge, before copies."""
    held: Mapping[str, int]
    """Tuples in each store, on average."""
    results: Mapping[str, int]
    """Results by query."""
    rules: Mapping[str, int] = field(default_factory=dict)
    """Tuples that each source and probe rule produced, where the runtime counts them."""
    until_us: int | None = None
    """Event time at the end of the span, where it is known."""


def observe(graph: PhysicalGraph, measured: Measured) -> ObservedStatistics:
    """What the installed probe orders tell about rates and selectivities.

    Section 7.2.1.

    - A source rule's filter: tuples sent on over tuples accepted.
    - A probe of a base store: tuples sent on over the pairs that it compared, which is what
      arrived times what the store holds inside the stored input's window.
    - A leaf sends nothing on. Where the runtime counts what each rule produces, that is what
      matched; else it is known only through its query's results, so it counts if all leaves
      of the query evaluate the same predicates, as in a two-way join.

    Probes of materialized results tell nothing new about predicates, as the orders that feed them do; of
    themselves they tell what they multiply their input by, as every step does. So do steps that look for
    partners of what waited: these lie on both sides of it, and of some only the newest counts.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> graph = plan([query], catalog).graph
    >>> measured = Measured(60.0, {"r": 600, "s": 1200}, {}, {}, {"q": 12})
    >>> round(observe(graph, measured).rate("s").expected, 1)
    20.0

    Raises:
        ValueError: the span is empty.
    """
    if measured.seconds <= 0:
        raise ValueError(f"a span of {measured.seconds} s of event time tells no rates")
    steps = [*_filters(graph, measured), *_waited(graph, measured), *_probes(at_once(graph), measured)]
    return ObservedStatistics(
        steps=tuple(steps),
        rates={
            stream: Rate.of_epoch(measured.seconds, count, measured.until_us)
            for stream, count in sorted(measured.accepted.items())
        },
        event_times=frozenset((stream.name, stream.event_time) for stream in graph.streams),
    )


def _filters(graph: PhysicalGraph, measured: Measured) -> list[ObservedStep]:
    return [
        ObservedStep(
            start=rule.stream,
            predicates=_ordered(conjuncts(rule.filter)),
            compared=measured.accepted.get(rule.stream, 0),
            matched=_produced(rule, measured) or 0,
        )
        for rule in graph.rules
        if isinstance(rule, SourceRule) and rule.filter is not None and _produced(rule, measured) is not None
    ]


def _waited(graph: PhysicalGraph, measured: Measured) -> list[ObservedStep]:
    """What steps behind holds multiply their input by."""
    if not graph.holds:
        return []
    at_arrival = {rule.id for rule in at_once(graph).rules}
    chain, found = chains(graph), []
    for rule in graph.rules:
        if not isinstance(rule, ProbeRule) or rule.id in at_arrival:
            continue
        arrived, matched = measured.edges.get(rule.edge, 0), _produced(rule, measured)
        if arrived and matched is not None:
            start, joined = stream_of(rule.start), Evidence(arrived, matched)
            found.append(ObservedStep(start, (), 0, matched, chain[rule.id], joined=joined))
    return found


def _probes(graph: PhysicalGraph, measured: Measured) -> list[ObservedStep]:
    stores = {store.id: store for store in graph.stores}
    stored = {
        rule.store: measured.edges.get(rule.edge, 0) for rule in graph.rules if isinstance(rule, StoreRule)
    }
    rules = {rule.id: rule for rule in graph.rules}
    senders = {edge.id: rules[edge.origin] for edge in graph.edges}
    chain = chains(graph)
    inner: list[ObservedStep] = []
    leaves: dict[str, list[ObservedStep]] = defaultdict(list)
    for rule in graph.rules:
        if not isinstance(rule, ProbeRule):
            continue
        store = stores[rule.store]
        partners = measured.held.get(rule.store, 0) / store.copies
        window_s = rule.stored_window.seconds if store.is_base else None
        if window_s is not None:
            partners = min(partners, stored[rule.store] / measured.seconds * window_s)
        arrived = measured.edges.get(rule.edge, 0)
        compared = arrived * partners
        conditions: tuple[Expression, ...] = ()
        # What a step that narrows drops of what arrives would be taken for the predicates' doing.
        if store.is_base and not _narrows(rule, senders[rule.edge]):
            equalities = [equality.condition for equality in rule.equalities]
            conditions = _ordered(c for p in (*equalities, *rule.predicates) for c in conjuncts(p))
        matched = _produced(rule, measured)
        joined = Evidence(arrived, matched) if arrived and matched is not None else None
        step = ObservedStep(
            stream_of(rule.start), conditions, compared, matched or 0, chain[rule.id], joined=joined
        )
        if matched is not None:
            inner.append(step)
        elif (
            conditions and len(rule.emits) == 1 and not rule.emits[0].residuals and not rule.emits[0].windows
        ):
            leaves[rule.emits[0].query].append(step)
    for query, ends in sorted(leaves.items()):
        inputs = next(len(q.inputs) for q in graph.queries if q.name == query)
        if len(ends) == inputs and len({end.predicates for end in ends}) == 1:
            inner += _shared_out(ends, measured.results.get(query, 0))
    return inner


def _narrows(rule: ProbeRule, sender: Rule) -> bool:
    """True if a rule checks windows or filters again, on inputs bound before it."""
    if any(inputs_of(predicate) <= set(rule.bound) for predicate in rule.predicates):
        return True
    if not isinstance(sender, ProbeRule):
        return False
    before = sender.window_of
    return any(before.get(bound.input, bound.window) != bound.window for bound in rule.windows)


def _produced(rule: SourceRule | ProbeRule, measured: Measured) -> int | None:
    """Tuples that left a rule; None if nothing tells."""
    if rule.id in measured.rules:
        return measured.rules[rule.id]
    return measured.edges.get(rule.out[0], 0) if rule.out else None


def _shared_out(ends: list[ObservedStep], results: int) -> list[ObservedStep]:
    """A query's results spread over its leaves by what each compared.

    Only their sum is known.
    """
    compared = sum(end.compared for end in ends)
    return [
        ObservedStep(end.start, end.predicates, end.compared, results * end.compared / compared)
        for end in ends
        if compared > 0
    ]


def _ordered(expressions: Iterable[Expression]) -> tuple[Expression, ...]:
    return tuple(sorted(set(expressions), key=sort_key))
