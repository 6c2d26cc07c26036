"""Which relation a column belongs to, in queries within queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.algebra.identifiers import nearest
from optimizer.sql.grammar.places import SourceText, span_of
from optimizer.sql.grammar.syntax import is_plain_identifier


class UniqueNames:
    """Hands out names that differ, whatever their case: `nation`, then `nation_2`."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {name.casefold() for name in taken}

    def make(self, wanted: str, besides: Collection[str] = ()) -> str:
        """`wanted`, or `wanted_2` and so on, but never a (lower-case) name of `besides`."""
        name, number = wanted, 1
        while name.casefold() in self._taken or name.casefold() in besides:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name.casefold())
        return name


@dataclass(slots=True)
class Names:
    """The relations that one query reads, within the query around it."""

    text: SourceText
    outer: Names | None = None
    relations: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)
    """By folded alias: its unique alias, and its columns' declared names by their folded ones."""
    correlated: bool = False
    """True once a column of a query around was read."""

    def add(self, written: str, unique: str, columns: Iterable[str], node: exp.Expr) -> None:
        """Let a relation's columns be read. Raises `InputError` for an alias that repeats."""
        if written.casefold() in self.relations:
            raise self.text.error(
                span_of(node), "duplicate-alias", f"alias {written} twice", "another alias for the second"
            )
        self.relations[written.casefold()] = (unique, {name.casefold(): name for name in columns})

    def resolve(self, column: exp.Column) -> exp.Column:
        """The column under its relation's unique alias.

        Raises `InputError` for an unknown one.
        """
        passed: list[Names] = []
        current: Names | None = self
        while current is not None:
            relation = current.relations.get(column.table.casefold())
            if relation is not None:
                unique, columns = relation
                declared = columns.get(column.name.casefold())
                if declared is None:
                    raise self._unknown(column, columns.values(), f"a column of {column.table}")
                for names in passed:
                    names.correlated = True
                return column_of(unique, declared)
            passed.append(current)
            current = current.outer
        if column.table:
            raise self._unknown(column, self.relations, "an alias of this query's FROM")
        known = [name for _, columns in self.relations.values() for name in columns.values()]
        raise self._unknown(column, known, "a column of exactly one of the query's streams")

    def _unknown(self, column: exp.Column, known: Iterable[str], expected: str) -> InputError:
        found = f"column {column.table}.{column.name}" if column.table else f"column {column.name}"
        suggestion = nearest(column.name, list(known))
        return self.text.error(span_of(column), "unknown-column", found, expected, suggestion)


def column_of(alias: str, name: str) -> exp.Column:
    """`alias.name` as a syntax tree, quoted where it has to be."""
    parts = [exp.to_identifier(part, quoted=not is_plain_identifier(part)) for part in (name, alias)]
    return exp.Column(this=parts[0], table=parts[1])
