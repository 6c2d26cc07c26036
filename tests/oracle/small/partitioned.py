"""Ternary logic partitioning: a query's results are those with p, with NOT p and with p unknown together.

Source: Rigger, Su: Finding Bugs in Database Systems via Query Partitioning, OOPSLA 2020, section 3. The parts
are queries of the same topology, so it also covers what queries with different conditions share.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from optimizer.algebra.types import ColumnType
from tests.oracle.small.grammar import Term
from tests.oracle.small.workload import SmallQuery

_PARTS = (("true", "({0})"), ("false", "(NOT ({0}))"), ("unknown", "(({0}) IS NULL)"))


def parted(query: SmallQuery, condition: Term) -> tuple[SmallQuery, ...]:
    """A query with its three parts."""
    return (
        query,
        *(
            replace(
                query,
                name=f"{query.name}_{name}",
                predicates=(*query.predicates, asked),
                where=(*query.where, asked),
            )
            for name, text in _PARTS
            for asked in (Term(ColumnType.BOOLEAN, text, text, (condition,)),)
        ),
    )


def partitions(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The names of queries of which all parts are there too, with those of the parts."""
    known = set(names)
    found = {name: tuple(f"{name}_{part}" for part, _ in _PARTS) for name in sorted(known)}
    return {name: parts for name, parts in found.items() if known.issuperset(parts)}
