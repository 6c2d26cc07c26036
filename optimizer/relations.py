"""Queries as relations: join two, restrict one to some aliases, flatten views (dissertation 8.2.4)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from optimizer.expression import Expression, inputs_of


def components(
    aliases: Sequence[str], predicates: Iterable[Expression], links: Iterable[Collection[str]] = ()
) -> tuple[frozenset[str], ...]:
    """The connected parts of a join graph, ordered by their first alias.

    A predicate connects all aliases that it reads; `links` connect further ones, as CROSS
    JOIN does.
    """
    parent = {alias: alias for alias in aliases}

    def root(alias: str) -> str:
        while parent[alias] != alias:
            parent[alias] = parent[parent[alias]]
            alias = parent[alias]
        return alias

    for group in (*(inputs_of(predicate) for predicate in predicates), *links):
        first, *others = sorted(group)
        for other in others:
            parent[root(other)] = root(first)
    parts: dict[str, list[str]] = {}
    for alias in aliases:
        parts.setdefault(root(alias), []).append(alias)
    return tuple(frozenset(part) for part in parts.values())
