"""Windowed multi-way join queries, in the form in which the optimizer reads them.

The order in which a person writes aliases and predicates never changes a plan: the
constructor sorts them, so two queries that mean the same by commutativity are equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from optimizer.algebra.digest import ADDED
from optimizer.algebra.expression import Column, Expression, columns_of, inputs_of
from optimizer.algebra.types import ColumnType
from optimizer.logical.grouping import GROUP, Grouping
from optimizer.logical.stream import Stream
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
class Absence:
    """Partners that a combination must not have or must have, or the newest.

    Windows hold between any two of the aliases that it reads, as in a query over them.
    """

    inputs: tuple[Input, ...]
    """The other side's, sorted by alias."""
    beside: tuple[str, ...]
    """The aliases of the combination at which the other side is joined, sorted."""
    predicates: tuple[Expression, ...]
    """Over both."""
    present: bool = False
    """True if a partner must be there."""
    newest: bool = field(default=False, metadata=ADDED)
    """True if the newest partner, of a single stream, joins the combination (as-of join). Of several of one
    event time that is the greatest by the columns that are read of it, in the order of their declaration, and
    of a table by all columns."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Some of a query's results: combinations of `inputs` with all absences."""

    inputs: tuple[Input, ...]
    predicates: tuple[Expression, ...]
    outputs: tuple[Output, ...]
    """With NULL in place of the columns of aliases that the branch does without."""
    absences: tuple[Absence, ...]
    cross_join: bool
    residuals: tuple[Expression, ...] = field(default=(), metadata=ADDED)
    """Conditions that read what as-of joins find, on results alone."""

    @property
    def newest(self) -> tuple[Absence, ...]:
        """Those whose partner joins the combination."""
        return tuple(absence for absence in self.absences if absence.newest)

    @property
    def text(self) -> str:
        """What tells the branch from others of its query, for people: `a, b without c`."""
        told = [", ".join(item.alias for item in self.inputs)]
        for absence in self.absences:
            names = ", ".join(item.alias for item in absence.inputs)
            word = "as of" if absence.newest else "with" if absence.present else "without"
            told.append(f"{word} {names}")
        return " ".join(told)


def newest_columns(branch: Branch, alias: str, stream: Stream) -> tuple[Column, ...]:
    """The columns that say which of an alias' newest tuples is the partner.

    The greatest is. They are what results, and conditions on results alone, read of it. Of a table they are
    all, so that whatever a query reads the version in force is the same.
    """
    others = tuple((name, kind) for name, kind in stream.columns if name != stream.event_time)
    if stream.is_table:
        return tuple(Column(alias, name, kind) for name, kind in others)
    outputs = (output.expression for output in branch.outputs)
    read = {column for one in (*outputs, *branch.residuals) for column in columns_of(one)}
    declared = [name for name, _ in others]
    return tuple(
        sorted(
            (column for column in read if column.input == alias and column.name in declared),
            key=lambda column: declared.index(column.name),
        )
    )


@dataclass(frozen=True, slots=True)
class Query:
    """A query over windows: conjunctive, or of branches that are.

    With T the largest event time of a combination, it is a result iff every predicate is
    true (NULL is not) and T lies in the window of every input i: if T - t_i <= W_i for a sliding
    one (DESIGN section 1).

    A query with outer, semi or anti joins is the UNION ALL of its branches, each of which is conjunctive
    beside its absences. Its own inputs and predicates are then all that its text names, for people. One with
    GROUP BY has branches as well, whose outputs are what its groups take of each combination.

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
    branches: tuple[Branch, ...] = ()
    """Empty for a conjunctive query."""
    written: str = field(default="", compare=False)
    """The text of a query with branches."""
    grouping: Grouping | None = None
    derived: tuple[Derived, ...] = field(default=(), metadata=ADDED)
    """The streams of other queries' results among those that it reads, sorted by name."""

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
            unknown = inputs_of(expression) - {*aliases, *([GROUP] if self.grouping else [])}
            if unknown:
                raise ValueError(f"query {self.name} reads unknown alias {', '.join(sorted(unknown))}")
        for predicate in self.predicates:
            if predicate.type is not ColumnType.BOOLEAN:
                raise ValueError(f"query {self.name}: a predicate is {predicate.type}, not boolean")
        object.__setattr__(self, "inputs", tuple(sorted(self.inputs, key=lambda i: i.alias)))
        object.__setattr__(self, "predicates", tuple(sorted(set(self.predicates), key=repr)))

    @property
    def tier(self) -> int:
        """How many queries have to be answered one after the other before this one."""
        return max((1 + one.query.tier for one in self.derived), default=0)

    def filters(self, alias: str) -> tuple[Expression, ...]:
        """The predicates that read this alias and nothing else."""
        return tuple(p for p in self.predicates if inputs_of(p) == {alias})

    def join_predicates(self) -> tuple[Expression, ...]:
        """The predicates over two or more aliases."""
        return tuple(p for p in self.predicates if len(inputs_of(p)) > 1)


@dataclass(frozen=True, slots=True)
class Derived:
    """The results of a query with branches, as a stream that other queries read."""

    query: Query
    """Called as the stream is; its last output is the event time."""
    stream: Stream


def derived_of(queries: Iterable[Query]) -> tuple[Derived, ...]:
    """All derived streams that queries read, each behind those that it reads."""
    found: dict[str, Derived] = {}
    for query in queries:
        for one in query.derived:
            for other in (*derived_of([one.query]), one):
                found.setdefault(other.stream.name, other)
    return tuple(found.values())


def registered_inputs(query: Query) -> tuple[Input, ...]:
    """A query's inputs, with those of what it reads for derived streams.

    Their aliases stand behind the one that they are read under: `busy.d`.
    """
    inner = {one.stream.name: one.query for one in query.derived}
    found: list[Input] = []
    for item in query.inputs:
        if item.stream not in inner:
            found.append(item)
            continue
        for own in registered_inputs(inner[item.stream]):
            found.append(Input(f"{item.alias}.{own.alias}", own.stream, own.window))
    return tuple(found)
