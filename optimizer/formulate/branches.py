"""Conjunctive queries that stand for queries with outer, semi and anti joins.

A branch with absences is planned as a query that gives what is needed of its combinations while they wait,
and after that (`optimizer.lower.holds`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optimizer.algebra.expression import Column, columns_of
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import waits
from optimizer.logical.query import Branch, Output, Query


@dataclass(frozen=True, slots=True)
class Planned:
    """A branch, and the conjunctive query that is planned for it."""

    query: Query
    """The one of which it is a branch."""
    branch: Branch
    conjunctive: Query

    @property
    def holds(self) -> bool:
        """True if its combinations have to wait."""
        return bool(self.branch.absences)


def expanded(queries: Iterable[Query], catalog: Catalog) -> tuple[tuple[Query, ...], tuple[Planned, ...]]:
    """Conjunctive queries in place of all, and the branches among them."""
    conjunctive: list[Query] = []
    planned: list[Planned] = []
    for query in queries:
        if not query.branches:
            conjunctive.append(query)
        for number, branch in enumerate(query.branches, 1):
            one = _conjunctive(f"{query.name}~{number}", branch, catalog)
            conjunctive.append(one)
            planned.append(Planned(query, branch, one))
    return tuple(conjunctive), tuple(planned)


def _conjunctive(name: str, branch: Branch, catalog: Catalog) -> Query:
    outputs = _held(branch, catalog) if branch.absences else branch.outputs
    return Query(name, branch.inputs, branch.predicates, outputs, branch.cross_join)


def _held(branch: Branch, catalog: Catalog) -> tuple[Output, ...]:
    """What is needed of a combination once it is due, and its event times."""
    aliases = {item.alias for item in branch.inputs}
    read = {
        Column(item.alias, catalog[item.stream].event_time, ColumnType.TIMESTAMP) for item in branch.inputs
    }
    for expression in (
        *(output.expression for output in branch.outputs),
        *branch.residuals,
        *(predicate for absence in branch.absences for predicate in absence.predicates),
    ):
        read |= {column for column in columns_of(expression) if column.input in aliases}
    ordered = sorted(read, key=lambda column: (column.input, column.name))
    return tuple(Output(held_column(column), column) for column in ordered)


def looked_into_for_ever(branches: Iterable[Planned], catalog: Catalog) -> frozenset[str]:
    """The streams in which partners of what waits may be of any age."""
    return frozenset(
        item.stream
        for one in branches
        for absence in one.branch.absences
        for item, wait in zip(absence.inputs, waits(one.branch, absence, catalog), strict=True)
        if wait.back_us is None
    )


def held_column(column: Column) -> str:
    """What a column of a combination is called while it waits.

    >>> held_column(Column("o", "at", ColumnType.TIMESTAMP))
    'o.at'
    """
    return f"{column.input}.{column.name}"
