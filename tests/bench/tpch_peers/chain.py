"""A query of TPC-H as a chain of binary joins, as engines that join two streams at a time want it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.tpch.queries import JoinQuery, table_of
from tests.bench.tpch.tables import PREFIXES

_BY_RATE = tuple(PREFIXES)
"""All tables; none has fewer rows per second than those before it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One more table and what it has in common with those before it."""

    table: str
    conditions: tuple[str, ...]


def chain(query: JoinQuery) -> tuple[str, tuple[Step, ...]]:
    """The first table and the steps; each has a condition with a table before it.

    Tables that get few rows come first, as Flink's documentation advises for joins, which it does in the
    order in which they are written; Spark does its own in that order, too.

    >>> chain(JoinQuery("q", ("nation", "region"), (("n_regionkey", "r_regionkey"),)))
    ('region', (Step(table='nation', conditions=('n_regionkey = r_regionkey',)),))
    """
    first, *others = sorted(query.tables, key=_BY_RATE.index)
    joined = {first}
    steps = []
    while others:
        new = next(table for table in others if _between(query, table, joined))
        others.remove(new)
        steps.append(Step(new, _between(query, new, joined)))
        joined.add(new)
    return first, tuple(steps)


def _between(query: JoinQuery, table: str, joined: set[str]) -> tuple[str, ...]:
    """The conditions that a table has with those that are joined already."""
    return tuple(
        f"{one} = {other}"
        for one, other in query.conditions
        if table in (sides := {table_of(one), table_of(other)}) and sides - {table} <= joined
    )
