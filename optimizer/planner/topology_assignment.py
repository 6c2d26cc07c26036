"""Which topology answers which query.

Queries that read a common stream, directly or through other queries, belong into one topology, where
they share its stores and are planned together; others have nothing to share and only hold each
other up. A topology is one job, planned as a whole, so the number of its queries is bounded.

A running query has its state where it runs and loses it when it moves: it stays, unless an
operator pinned it elsewhere. Only queries that run nowhere are placed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MOST_QUERIES = 200
"""Queries of a topology, unless told."""
FIRST = "main"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A topology as far as the placement of further queries is concerned."""

    streams: frozenset[str]
    queries: int


def assign(
    queries: Mapping[str, frozenset[str]],
    running: Mapping[str, str],
    pins: Mapping[str, str],
    limit: int = MOST_QUERIES,
) -> dict[str, str]:
    """The topology of every query, in order of the queries' names.

    >>> assign({"a": frozenset("RS"), "b": frozenset("ST"), "c": frozenset("U")}, {}, {})
    {'a': 'main', 'b': 'main', 'c': 'main-2'}
    >>> assign({"a": frozenset("RS"), "b": frozenset("ST")}, {"a": "flights"}, {}, limit=1)
    {'a': 'flights', 'b': 'main'}

    Args:
        queries: the streams that each query reads, by the query's name.
        running: where queries run now, by name; those that `queries` lacks are passed over.
        pins: where an operator wants queries to run, whatever else holds.
        limit: the most queries that a topology is given; pinned and running ones may be more.
    Returns:
        A function of the arguments' content alone. A query joins the topology that reads most of its
        streams and has room, else one for queries that have nothing to share with any other:
        `main`, or the first of `main-2`, `main-3`, ... that no query uses.
    Raises:
        ValueError: for a limit below 1.

    Source: dissertation section 4.1 (topologies by connected component).
    """
    if limit < 1:
        raise ValueError(f"found limit {limit}, expected at least 1")
    placed = {name: pins.get(name) or running[name] for name in sorted(queries) if name in {*pins, *running}}
    topologies: dict[str, Candidate] = {}
    for name, topology in placed.items():
        topologies[topology] = _with(topologies.get(topology), queries[name])
    waiting = sorted(set(queries) - set(placed))
    while waiting:
        name, target = _next(waiting, queries, topologies, limit)
        topology = target or _unused(topologies)
        placed[name] = topology
        topologies[topology] = _with(topologies.get(topology), queries[name])
        waiting.remove(name)
    return dict(sorted(placed.items()))


def _next(
    waiting: list[str],
    queries: Mapping[str, frozenset[str]],
    topologies: Mapping[str, Candidate],
    limit: int,
) -> tuple[str, str | None]:
    """The next waiting query and its topology.

    The query that shares most streams with a topology that has room; if none shares any, the first one and
    nowhere.

    One at a time, so that a component that does not fit into one topology is cut where it is
    loosely connected, and queries that only others connect follow those.
    """
    best: tuple[int, int, str, str] | None = None
    for name in waiting:
        for topology, candidate in sorted(topologies.items()):
            shared = len(candidate.streams & queries[name])
            if shared and candidate.queries < limit:
                offer = (-shared, -candidate.queries, name, topology)
                best = offer if best is None else min(best, offer)
    return (waiting[0], None) if best is None else (best[2], best[3])


def _with(candidate: Candidate | None, streams: frozenset[str]) -> Candidate:
    if candidate is None:
        return Candidate(streams, 1)
    return Candidate(candidate.streams | streams, candidate.queries + 1)


def _unused(topologies: Mapping[str, Candidate]) -> str:
    number = 1
    while (name := FIRST if number == 1 else f"{FIRST}-{number}") in topologies:
        number += 1
    return name
