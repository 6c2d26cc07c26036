"""What connects a `Problem`'s names with the queries that they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from optimizer.algebra.digest import digest
from optimizer.algebra.expression import Call, Expression, rename_inputs
from optimizer.algebra.types import ColumnType
from optimizer.logical.canonical_inputs import canonical_expression, sort_key
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.logical.window import Window
from optimizer.physical.rules import WindowBound
from optimizer.search.pricing import CopyLoad
from optimizer.search.problem import Problem
from optimizer.search.widths import POSITION_BYTES
from optimizer.udf.registry import NO_FUNCTIONS, FunctionRegistry

Conjunction: TypeAlias = frozenset[Expression]
Retain = Literal["needed", "everything"]
"""What base stores keep: what the queries read, or whole streams for queries still to come."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A relation of a problem: a canonical input with its filter and window.

    `alternatives` is the filter in disjunctive form: a tuple belongs to the relation if it
    passes all expressions of at least one alternative. One empty alternative is no filter.
    Ordinary relations have exactly one; the shared relation of queries with different
    filters has one for each (AJoin's grouping).
    """

    input: str
    stream: str
    alternatives: frozenset[Conjunction]
    window: Annotated[Window, Field(alias="window_us")]

    @property
    def id(self) -> str:
        """Readable where possible: `departures@1h`, with a digest where there is a filter."""
        return _id(self)

    @property
    def filter(self) -> Expression | None:
        """The filter as an expression over the canonical input; None lets all tuples pass."""
        return filter_of(self.alternatives)

    def widened(self, other: Occurrence) -> Occurrence:
        """The smallest relation of this form that contains both."""
        alternatives = self.alternatives | other.alternatives
        return Occurrence(self.input, self.stream, alternatives, self.window.union(other.window))

    def covers(self, other: Occurrence) -> bool:
        """True if every tuple of the other is one of this, as far as filters' texts tell."""
        if self.input != other.input or not self.window.covers(other.window):
            return False
        return all(any(mine <= theirs for mine in self.alternatives) for theirs in other.alternatives)


@lru_cache(maxsize=1 << 16)
def _id(occurrence: Occurrence) -> str:
    # Asked for thousands of times per plan; a digest costs a hundred times what a look-up does.
    mark = "" if occurrence.filter is None else digest("?", occurrence.alternatives).replace("?-", "?")[:9]
    return f"{occurrence.input}{mark}@{occurrence.window.text}"


@lru_cache(maxsize=1 << 16)
def filter_of(alternatives: frozenset[Conjunction]) -> Expression | None:
    """A disjunction of conjunctions as one expression, in an order of structure only."""
    if not alternatives or frozenset() in alternatives:
        return None
    return any_of(all_of(conjunction) for conjunction in alternatives)


def all_of(conjuncts: frozenset[Expression] | tuple[Expression, ...]) -> Expression:
    """One expression that is true iff all of at least one are."""
    ordered = tuple(sorted(set(conjuncts), key=sort_key))
    return ordered[0] if len(ordered) == 1 else Call("and", ordered, ColumnType.BOOLEAN)


def any_of(alternatives: object) -> Expression:
    """One expression that is true iff any of at least one is."""
    ordered = tuple(sorted(set(alternatives), key=sort_key))  # type: ignore[call-overload]
    return ordered[0] if len(ordered) == 1 else Call("or", ordered, ColumnType.BOOLEAN)


@dataclass(frozen=True, slots=True)
class Variant:
    """A query's alias: its canonical input, filter, window and serving relation."""

    alias: str
    own: Occurrence
    served_by: Occurrence
    """Equal to `own`, or wider where the alias shares a relation with other queries."""


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """A query over canonical inputs."""

    query: Query
    variants: tuple[Variant, ...]
    """Sorted by canonical input."""
    predicates: tuple[tuple[str, Expression], ...]
    """Join predicates: identity in the problem, and expression over canonical inputs; sorted."""
    residuals: tuple[Expression, ...]
    """The query's own filters where a shared relation lets more pass."""
    windows: tuple[WindowBound, ...]
    """The query's own windows where a shared relation has a wider one; else empty."""
    outputs: tuple[tuple[str, Expression], ...]

    @property
    def own_windows(self) -> tuple[tuple[str, Window], ...]:
        """The query's own window of every canonical input, sorted."""
        return tuple((variant.own.input, variant.own.window) for variant in self.variants)

    @property
    def names(self) -> dict[str, str]:
        """Alias -> canonical input."""
        return {variant.alias: variant.own.input for variant in self.variants}

    @property
    def relations(self) -> frozenset[str]:
        return frozenset(variant.served_by.id for variant in self.variants)


@dataclass(frozen=True, slots=True)
class Translation:
    """A problem and the way back from its names to streams, inputs and expressions."""

    problem: Problem
    streams: tuple[Stream, ...]
    """Those in use, sorted by name."""
    queries: tuple[QueryTerms, ...]
    """All queries, also those over a single input, which the problem does not contain."""
    tasks: tuple[tuple[str, int], ...]
    """N of each stream's stores."""
    retain: Retain
    rates: tuple[tuple[str, float], ...]
    """Tuples per second of each stream, by its name, and of each relation, widened or not, by its id."""
    stored: tuple[tuple[str, float], ...]
    """Expected tuples in one copy of each base store, by its name (`optimizer.formulate.base_stores`)."""
    functions: FunctionRegistry = NO_FUNCTIONS
    """Those that queries may call."""

    @property
    def occurrences(self) -> dict[str, Occurrence]:
        """Relations by their id in the problem."""
        return {v.served_by.id: v.served_by for terms in self.queries for v in terms.variants}

    @property
    def predicates(self) -> dict[str, Expression]:
        """Join predicates over canonical inputs by their id in the problem."""
        return {identity: expression for terms in self.queries for identity, expression in terms.predicates}

    def stream(self, name: str) -> Stream:
        return next(stream for stream in self.streams if stream.name == name)

    def copy_load(self, store: str) -> CopyLoad:
        """What one copy of a base store does."""
        kept = [relation for relation in self.problem.relations if relation.kept_in == store]
        return CopyLoad(
            tuples=dict(self.stored)[store],
            inserted=self.problem.stored_rates[store],
            bytes=POSITION_BYTES + sum(relation.bytes for relation in kept) / len(kept),
            tasks=kept[0].tasks,
            is_base=True,
        )


def conditions_of(terms: QueryTerms) -> frozenset[Expression]:
    """All conditions on the query's results besides windows, over canonical inputs."""
    names = terms.names
    return frozenset(over(predicate, names) for predicate in terms.query.predicates)


def over(expression: Expression, names: Mapping[str, str]) -> Expression:
    """The canonical form of an expression after renaming its inputs."""
    return canonical_expression(rename_inputs(expression, names))
