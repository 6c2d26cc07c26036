"""Separate plans as one topology.

Their translations stand together; where nothing is shared, their graphs do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from optimizer.formulate.model import Translation
from optimizer.physical.graph import PhysicalGraph
from optimizer.search.problem import Problem, ReadColumn
from optimizer.udf.registry import NO_FUNCTIONS


def together(graphs: Sequence[PhysicalGraph], method: str) -> PhysicalGraph:
    """All graphs side by side. Their identities must differ: see `to_graph`'s salt.

    Raises:
        ValueError: two graphs have a store or rule of the same identity.
    """
    identities = [element.id for graph in graphs for element in (*graph.stores, *graph.rules)]
    if len(set(identities)) != len(identities):
        raise ValueError("graphs side by side must not share stores or rules")
    streams = {stream.name: stream for graph in graphs for stream in graph.streams}
    functions = {function.name: function for graph in graphs for function in graph.functions}
    return PhysicalGraph(
        streams=tuple(streams[name] for name in sorted(streams)),
        stores=tuple(store for graph in graphs for store in graph.stores),
        edges=tuple(sorted((e for graph in graphs for e in graph.edges), key=lambda e: (e.level, e.id))),
        rules=tuple(rule for graph in graphs for rule in graph.rules),
        queries=tuple(query for graph in graphs for query in graph.queries),
        estimates=tuple(estimate for graph in graphs for estimate in graph.estimates),
        method=method,
        functions=tuple(functions[name] for name in sorted(functions)),
    )


def read_together(problems: Iterable[Problem]) -> tuple[ReadColumn, ...]:
    """What the queries of several problems read, which may have relations in common."""
    found: dict[tuple[str, str], ReadColumn] = {}
    for column in (column for problem in problems for column in problem.read):
        other = found.setdefault((column.relation, column.name), column)
        predicates, queries = column.predicates | other.predicates, column.queries | other.queries
        found[column.relation, column.name] = replace(column, predicates=predicates, queries=queries)
    return tuple(found[key] for key in sorted(found))


def translations_together(translations: Sequence[Translation]) -> Translation:
    """Translations of different queries as one; names that they share mean the same."""
    problems = [translation.problem for translation in translations]
    relations = {relation.id: relation for problem in problems for relation in problem.relations}
    predicates = {predicate.id: predicate for problem in problems for predicate in problem.predicates}
    queries = {query.id: query for problem in problems for query in problem.queries}
    streams = {stream.name: stream for translation in translations for stream in translation.streams}
    terms = [term for translation in translations for term in translation.queries]
    return Translation(
        problem=Problem(
            relations=tuple(relations[name] for name in sorted(relations)),
            predicates=tuple(predicates[name] for name in sorted(predicates)),
            queries=tuple(queries[name] for name in sorted(queries)),
            read=read_together(problems),
            horizon_s=max((problem.horizon_s for problem in problems), default=3600.0),
            sizes={key: size for problem in problems for key, size in problem.sizes.items()},
            stored_rates={
                stream: rate for problem in problems for stream, rate in sorted(problem.stored_rates.items())
            },
        ),
        streams=tuple(streams[name] for name in sorted(streams)),
        queries=tuple(sorted(terms, key=lambda term: term.query.name)),
        tasks=tuple(sorted({pair for translation in translations for pair in translation.tasks})),
        retain=translations[0].retain if translations else "needed",
        rates=tuple(sorted({pair for translation in translations for pair in translation.rates})),
        stored=tuple(sorted({pair for translation in translations for pair in translation.stored})),
        functions=translations[0].functions if translations else NO_FUNCTIONS,
    )
