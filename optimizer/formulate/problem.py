"""Queries, a catalog and statistics to a `Problem`, with the way back."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from optimizer.algebra.digest import digest
from optimizer.algebra.expression import Call, Column, Expression, columns_of, inputs_of, rename_inputs
from optimizer.formulate.base_stores import SeparateStores, store_of, stream_of_store
from optimizer.formulate.model import Conjunction, Occurrence, QueryTerms, Retain, Translation, Variant, over
from optimizer.logical.canonical_inputs import canonical_names, sort_key
from optimizer.logical.catalog import Catalog
from optimizer.logical.event_time.share import window_share
from optimizer.logical.query import Query
from optimizer.logical.retention import with_retentions
from optimizer.physical.equalities import hashes_agree
from optimizer.physical.rules import WindowBound
from optimizer.search.cost_model import lasting_s, tasks_for
from optimizer.search.problem import Attribute, JoinPredicate, JoinQuery, Problem, ReadColumn, Relation
from optimizer.search.widths import width
from optimizer.statistics import DefaultStatistics, LayeredStatistics, StatisticsProvider
from optimizer.statistics.defaults import is_assumed
from optimizer.udf.measure import costs_us
from optimizer.udf.pair_cost import pair_cost

Subsumption = Mapping[Occurrence, Occurrence]
"""A relation of a query -> the wider relation that serves it."""


def to_problem(
    queries: Sequence[Query],
    catalog: Catalog,
    statistics: StatisticsProvider,
    *,
    retain: Retain = "needed",
    tasks: int = 1,
    horizon_s: float = 3600.0,
    subsumption: Subsumption | None = None,
    separate: SeparateStores | None = None,
    task_tuples: float | None = None,
) -> Translation:
    """The combinatorial problem of answering all queries together.

    Aliases become canonical inputs; an input with its filter and its retention (its window, or less
    where predicates say so: `optimizer.logical.retention`) is a relation; equal
    relations and predicates of different queries get equal ids, and this is all that the
    methods need in order to share. Rates are those behind the filters, selectivities the
    provider's expected values with `DefaultStatistics` for what it does not know.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.sql import parse_query
    >>> from optimizer.statistics import FixedStatistics
    >>> columns = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT))
    >>> catalog = Catalog((Stream("r", columns, "at"), Stream("s", columns, "at")))
    >>> query = parse_query("SELECT r.k FROM r, s [RANGE 1 MINUTE] WHERE r.k = s.k", "q", catalog)
    >>> problem = to_problem([query], catalog, FixedStatistics({"r": 10.0, "s": 10.0})).problem
    >>> [relation.id for relation in problem.relations], problem.predicates[0].selectivity
    (['r@all', 's@1m'], 0.01)

    Args:
        queries: with distinct names, in any order.
        catalog: knows every stream that the queries read.
        statistics: asked for stream rates, filters and join predicates.
        retain: `needed` stores the columns and tuples that the queries read; `everything` stores
            whole streams, so that queries added later find their past.
        tasks: N of a stream that does not set its own parallelism.
        horizon_s: seconds over which unbounded windows are taken to hold tuples.
        subsumption: relations to be served by wider ones; the difference is left to the
            residuals of each query's terms (AJoin, section 4).
        separate: filters whose relations have base stores of their own; by default a stream has one store.
        task_tuples: stored tuples that one task holds; stores of streams that set no parallelism get as many
            tasks as they need, and at least `tasks`. None gives them `tasks`.

    Raises:
        ValueError: two queries have the same name.
    """
    ordered = sorted(queries, key=lambda query: query.name)
    if len({query.name for query in ordered}) != len(ordered):
        raise ValueError("query names repeat")
    known = LayeredStatistics((statistics, DefaultStatistics()))
    kept = [with_retentions(query, catalog) for query in ordered]
    terms = tuple(
        _terms(query, occurrences_of(one, names), names, subsumption or {})
        for query, one, names in zip(ordered, kept, canonical_names(kept), strict=True)
    )
    streams = tuple(catalog[name] for name in sorted({i.stream for query in ordered for i in query.inputs}))
    parallelism = {stream.name: stream.parallelism or tasks for stream in streams}
    joins = tuple(term for term in terms if len(term.variants) > 1)
    occurrences = {v.served_by.id: v.served_by for term in joins for v in term.variants}
    read = _read(joins, occurrences, catalog)
    sizes: dict[str, float] = defaultdict(float)
    for column in read:
        sizes[column.relation] += column.bytes
    kept_in = {one: store_of(occurrences[one], separate or {}) for one in sorted(occurrences)}
    relations = tuple(
        _relation(occurrences[one], kept_in[one], known, parallelism[occurrences[one].stream], sizes[one])
        for one in kept_in
    )
    rates = {stream.name: _rate(stream.name, known) for stream in streams}
    for variant in (v for term in terms for v in term.variants):
        for relation in (variant.own, variant.served_by):
            rates[relation.id] = rates[relation.stream] * filter_selectivity(relation, known)
    inserted = _inserted(relations, occurrences, rates, retain == "everything")
    stored = _stored(relations, inserted, horizon_s)
    if task_tuples is not None:
        needed = {name: max(tasks, tasks_for(held, task_tuples)) for name, held in stored.items()}
        parallelism |= {s.name: needed[s.name] for s in streams if not s.parallelism and s.name in needed}
        relations = tuple(replace(one, tasks=parallelism[stream_of_store(one.kept_in)]) for one in relations)
    problem = Problem(
        relations=relations,
        predicates=_predicates(joins, known, catalog, horizon_s),
        queries=tuple(
            JoinQuery(t.query.name, t.relations, frozenset(identity for identity, _ in t.predicates))
            for t in joins
        ),
        horizon_s=horizon_s,
        sizes=_sizes(relations, stored),
        stored_rates=inserted,
        read=read,
        task_tuples=task_tuples,
    )
    return Translation(
        problem=problem,
        streams=streams,
        queries=terms,
        retain=retain,
        tasks=tuple(parallelism.items()),
        rates=tuple(sorted(rates.items())),
        stored=tuple(stored.items()),
        functions=catalog.functions,
    )


def occurrences_of(query: Query, names: Mapping[str, str]) -> dict[str, Occurrence]:
    """The relation of each alias, not widened."""
    found = {}
    for item in query.inputs:
        own: Conjunction = frozenset(over(p, names) for p in query.filters(item.alias))
        found[item.alias] = Occurrence(names[item.alias], item.stream, frozenset({own}), item.window)
    return found


def _terms(
    query: Query, own: Mapping[str, Occurrence], names: Mapping[str, str], subsumption: Subsumption
) -> QueryTerms:
    variants = tuple(
        sorted(
            (Variant(alias, own[alias], _served(own[alias], subsumption, len(own))) for alias in own),
            key=lambda variant: variant.own.input,
        )
    )
    served = {variant.own.input: variant.served_by for variant in variants}
    predicates = {over(p, names) for p in query.join_predicates()}
    identified = sorted((_predicate_id(p, served), p) for p in predicates)
    wider = any(v.served_by.window != v.own.window for v in variants)
    residuals = {
        expression
        for v in variants
        if v.served_by.alternatives != v.own.alternatives
        for conjunction in v.own.alternatives
        for expression in conjunction
    }
    return QueryTerms(
        query=query,
        variants=variants,
        predicates=tuple(identified),
        residuals=tuple(sorted(residuals, key=lambda r: digest("r", r))),
        windows=tuple(WindowBound(v.own.input, v.own.window) for v in variants) if wider else (),
        outputs=tuple((o.name, rename_inputs(o.expression, names)) for o in query.outputs),
    )


def _served(own: Occurrence, subsumption: Subsumption, inputs: int) -> Occurrence:
    # A query over one stream has nothing to share but its source, which needs no plan.
    return subsumption.get(own, own) if inputs > 1 else own


def _predicate_id(predicate: Expression, served: Mapping[str, Occurrence]) -> str:
    return _digest_of_join(predicate, tuple(served[name].id for name in sorted(inputs_of(predicate))))


@lru_cache(maxsize=1 << 16)
def _digest_of_join(predicate: Expression, relations: tuple[str, ...]) -> str:
    return digest("J", predicate, relations)


def _read(
    joins: Iterable[QueryTerms], occurrences: Mapping[str, Occurrence], catalog: Catalog
) -> tuple[ReadColumn, ...]:
    """What queries read of each relation behind its filter, and its event time."""
    predicates: dict[tuple[str, str], set[str]] = defaultdict(set)
    queries: dict[tuple[str, str], set[str]] = defaultdict(set)
    for terms in joins:
        relation = {variant.own.input: variant.served_by.id for variant in terms.variants}
        for identity, predicate in terms.predicates:
            for column in columns_of(predicate):
                predicates[relation[column.input], column.name].add(identity)
        for expression in (*(output for _, output in terms.outputs), *terms.residuals):
            for column in columns_of(expression):
                queries[relation[column.input], column.name].add(terms.query.name)
    found = []
    for relation_id, occurrence in sorted(occurrences.items()):
        stream = catalog[occurrence.stream]
        for name, kind in stream.columns:
            key, is_event_time = (relation_id, name), name == stream.event_time
            if key in predicates or key in queries or is_event_time:
                read = frozenset(predicates[key]), frozenset(queries[key])
                found.append(ReadColumn(relation_id, name, width(kind), *read, is_event_time))
    return tuple(found)


def _relation(
    occurrence: Occurrence, kept_in: str, known: LayeredStatistics, tasks: int, size: float
) -> Relation:
    return Relation(
        bytes=size,
        id=occurrence.id,
        kept_in=kept_in,
        tuples_per_second=_rate(occurrence.stream, known) * filter_selectivity(occurrence, known),
        window_s=occurrence.window.seconds,
        tasks=tasks,
    )


def _rate(stream: str, known: StatisticsProvider) -> float:
    estimate = known.rate(stream)
    if estimate is None:
        raise ValueError("the statistics' bottom layer must know a default for every rate")
    return estimate.expected


def filter_selectivity(occurrence: Occurrence, known: StatisticsProvider) -> float:
    """The share of the stream that passes the filter.

    Conjuncts and alternatives count as independent.
    """
    missed = 1.0
    # In an order of structure: sums of floats depend on theirs in the last digit.
    for conjunction in sorted(occurrence.alternatives, key=lambda c: sorted(map(sort_key, c))):
        passed = 1.0
        for expression in sorted(conjunction, key=sort_key):
            passed *= _expected(expression, known)
        missed *= 1.0 - passed
    return 1.0 - missed if len(occurrence.alternatives) > 1 else passed


def _expected(predicate: Expression, known: StatisticsProvider) -> float:
    estimate = known.selectivity(predicate)
    if estimate is None:
        raise ValueError("the statistics' bottom layer must know a default for every predicate")
    return estimate.expected


def _predicates(
    joins: Iterable[QueryTerms], known: StatisticsProvider, catalog: Catalog, horizon_s: float
) -> tuple[JoinPredicate, ...]:
    found: dict[str, JoinPredicate] = {}
    for terms in joins:
        served = {variant.own.input: variant.served_by.id for variant in terms.variants}
        times = {variant.own.input: catalog[variant.own.stream].event_time for variant in terms.variants}
        windows_s = {
            variant.own.input: lasting_s(variant.served_by.window.seconds, horizon_s)
            for variant in terms.variants
        }
        for identity, expression in terms.predicates:
            if identity in found:
                # Of other queries over the same relations: statistics are asked once.
                continue
            within = None
            if is_assumed(expression, known.selectivity(expression)):
                within = window_share(expression, times, windows_s)
            found[identity] = JoinPredicate(
                id=identity,
                relations=frozenset(served[name] for name in inputs_of(expression)),
                selectivity=_expected(expression, known) if within is None else within,
                equality=_equality(expression, served),
                pair_cost=pair_cost(expression, costs_us(catalog.functions, expression)),
            )
    return tuple(found[identity] for identity in sorted(found))


def _equality(expression: Expression, served: Mapping[str, str]) -> tuple[Attribute, Attribute] | None:
    """The two attributes of `column = column`, if equal values also have equal hashes."""
    match expression:
        case Call("eq", (Column() as left, Column() as right)) if hashes_agree(left.type, right.type):
            return Attribute(served[left.input], left.name), Attribute(served[right.input], right.name)
    return None


def _inserted(
    relations: Iterable[Relation],
    occurrences: Mapping[str, Occurrence],
    rates: Mapping[str, float],
    everything: bool,
) -> dict[str, float]:
    """Tuples per second into a copy of each base store, whatever reads it.

    A store takes in what any filter of its relations passes, once. Filters count as independent, as the
    alternatives of one filter do.
    """
    missed: dict[str, dict[Expression | None, float]] = defaultdict(dict)
    for relation in relations:
        occurrence = occurrences[relation.id]
        own, rate = occurrence.filter, rates[occurrence.stream]
        condition = None if own is None else over(own, {occurrence.input: occurrence.stream})
        missed[relation.kept_in][condition] = 1.0 - rates[occurrence.id] / rate if rate else 0.0
    found = {}
    for store in sorted(missed):
        rate = rates[stream_of_store(store)]
        found[store] = rate if everything else rate * (1.0 - prod(sorted(missed[store].values())))
    return found


def _stored(
    relations: Iterable[Relation], inserted: Mapping[str, float], horizon_s: float
) -> dict[str, float]:
    """Tuples in a copy of each base store: those of its longest window."""
    windows: dict[str, float] = {}
    for relation in relations:
        window_s = horizon_s if relation.window_s is None else relation.window_s
        windows[relation.kept_in] = max(windows.get(relation.kept_in, 0.0), window_s)
    return {store: inserted[store] * windows[store] for store in sorted(windows)}


def _sizes(relations: Sequence[Relation], stored: Mapping[str, float]) -> dict[frozenset[str], float]:
    """The stores' tuples, spread over the relations that share them to sum up right."""
    sharing = Counter(relation.kept_in for relation in relations)
    return {frozenset({r.id}): stored[r.kept_in] / sharing[r.kept_in] for r in relations}
