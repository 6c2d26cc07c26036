"""A query of TPC-H as a chain of binary joins, as engines that join two streams at a time want it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.tpch.queries import JoinQuery, table_of


@dataclass(frozen=True, slots=True)
class Step:
    """One more table and what it has in common with those before it."""

    table: str
    conditions: tuple[str, ...]


def chain(query: JoinQuery) -> tuple[str, tuple[Step, ...]]:
    """The first table and the steps; each has a condition with a table before it.

    >>> chain(JoinQuery("q", ("nation", "region"), (("n_regionkey", "r_regionkey"),)))
    ('nation', (Step(table='region', conditions=('n_regionkey = r_regionkey',)),))
    """
    joined = [query.tables[0]]
    left = list(query.conditions)
    steps = []
    while left:
        touching = [pair for pair in left if any(table_of(column) in joined for column in pair)]
        new = next(table_of(c) for pair in touching for c in pair if table_of(c) not in joined)
        possible = {*joined, new}
        usable = [pair for pair in left if all(table_of(column) in possible for column in pair)]
        steps.append(Step(new, tuple(f"{one} = {other}" for one, other in usable)))
        left = [pair for pair in left if pair not in usable]
        joined.append(new)
    return query.tables[0], tuple(steps)
