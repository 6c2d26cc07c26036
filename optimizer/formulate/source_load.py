"""What queries take whatever their plan: reading streams, writing results."""

from __future__ import annotations

from collections import defaultdict
from math import prod

from optimizer.formulate.base_stores import filter_key
from optimizer.formulate.model import QueryTerms, Translation
from optimizer.search.cost_model import lasting_s
from optimizer.search.pricing import Pricing, SourceLoad
from optimizer.search.widths import POSITION_BYTES


def source_load(translation: Translation) -> SourceLoad:
    """What the translated queries have a topology read and write."""
    rates = dict(translation.rates)
    bytes_of = {relation.id: relation.bytes for relation in translation.problem.relations}
    told: dict[str, float] = defaultdict(float)
    for column in translation.problem.read:
        for query in column.queries:
            told[query] += column.bytes
    read: dict[str, float] = {}
    sources: dict[str, float] = {}
    leaves: list[tuple[float, float]] = []
    for terms in translation.queries:
        size = POSITION_BYTES + told[terms.query.name]
        leaves += [(rate, size) for rate in _results(translation, terms, rates)]
        for variant in terms.variants:
            served = variant.served_by
            read[served.stream] = max(read.get(served.stream, 0.0), bytes_of.get(served.id, 0.0))
            # Relations that differ only in window have one source.
            sources[served.id.rpartition("@")[0]] = rates[served.id]
    sources |= _union_sources(translation)
    return SourceLoad(
        streams=tuple(rates[stream] for stream in sorted(read)),
        sources=tuple(sources[source] for source in sorted(sources)),
        read_bytes=sum(rates[stream] * (POSITION_BYTES + read[stream]) for stream in sorted(read)),
        results=sum(rate for rate, _ in leaves),
        result_bytes=sum(rate * size for rate, size in leaves),
        leaves=tuple(rate for rate, _ in leaves),
    )


def _union_sources(translation: Translation) -> dict[str, float]:
    """Sources that fill stores of several filters: they pass what any of these does."""
    filters: dict[str, set[str]] = defaultdict(set)
    occurrences = translation.occurrences
    for relation in translation.problem.relations:
        filters[relation.kept_in].add(filter_key(occurrences[relation.id]))
    return {
        f"store {store}": translation.problem.stored_rates[store]
        for store, keys in filters.items()
        if len(keys) > 1 and "" not in keys and translation.retain == "needed"
    }


def union_source(pricing: Pricing, passed: float) -> float:
    """What one more source costs, of so many tuples per second."""
    return pricing.source(SourceLoad((), (passed,), 0.0, 0.0, 0.0, ()))


def _results(translation: Translation, terms: QueryTerms, rates: dict[str, float]) -> list[float]:
    """Results per second by the input that starts them."""
    problem = translation.problem
    shares = {predicate.id: predicate.selectivity for predicate in problem.predicates}
    selected = prod(shares[identity] for identity, _ in terms.predicates if identity in shares)
    held = {
        v.own.input: rates[v.own.id] * lasting_s(v.own.window.seconds, problem.horizon_s)
        for v in terms.variants
    }
    return [
        rates[v.own.id] * selected * prod(n for name, n in held.items() if name != v.own.input)
        for v in terms.variants
    ]
