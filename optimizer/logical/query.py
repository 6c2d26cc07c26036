"""Windowed multi-way join queries, in the form in which the optimizer reads them.

The order in which a person writes aliases and predicates never changes a plan: the
constructor sorts them, so two queries that mean the same by commutativity are equal.
"""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.algebra.expression import Expression, inputs_of
from optimizer.algebra.types import ColumnType
from optimizer.logical.window import UNBOUNDED, Window


@dataclass(frozen=True, slots=True)
class Input:
    """A stream under an alias, with its window."""

    alias: str
    stream: str
    window: Window = UNBOUNDED


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the result."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Query:
    """A conjunctive query over windows, of predicates that must all hold.

    With T the largest event time of a combination, it is a result iff every predicate is
    true (NULL is not) and T lies in the window of every input i: if T - t_i <= W_i for a sliding
    one (DESIGN section 1).

    Raises `ValueError` when aliases repeat, when an expression reads an unknown alias, when
    a predicate is not boolean, or when output names repeat.
    """

    name: str
    inputs: tuple[Input, ...]
    predicates: tuple[Expression, ...]
    """Conjuncts over one input (filters), two (join predicates) or more; never over none."""
    outputs: tuple[Output, ...]
    cross_join: bool = False
    """True if the text says CROSS JOIN, so that an unconnected join graph is meant."""

    def __post_init__(self) -> None:
        aliases = [i.alias for i in self.inputs]
        if not aliases:
            raise ValueError(f"query {self.name} reads no stream")
        if len(set(aliases)) != len(aliases):
            raise ValueError(f"query {self.name}: aliases repeat: {', '.join(aliases)}")
        names = [o.name for o in self.outputs]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"query {self.name}: output names repeat or are missing: {', '.join(names)}")
        for expression in (*self.predicates, *(o.expression for o in self.outputs)):
            unknown = inputs_of(expression) - set(aliases)
            if unknown:
                raise ValueError(f"query {self.name} reads unknown alias {', '.join(sorted(unknown))}")
        for predicate in self.predicates:
            if predicate.type is not ColumnType.BOOLEAN:
                raise ValueError(f"query {self.name}: a predicate is {predicate.type}, not boolean")
        object.__setattr__(self, "inputs", tuple(sorted(self.inputs, key=lambda i: i.alias)))
        object.__setattr__(self, "predicates", tuple(sorted(set(self.predicates), key=repr)))

    def filters(self, alias: str) -> tuple[Expression, ...]:
        """The predicates that read this alias and nothing else."""
        return tuple(p for p in self.predicates if inputs_of(p) == {alias})

    def join_predicates(self) -> tuple[Expression, ...]:
        """The predicates over two or more aliases."""
        return tuple(p for p in self.predicates if len(inputs_of(p)) > 1)
