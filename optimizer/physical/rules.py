"""Rules of a physical graph: what a receiver does with what arrives on an edge.

See `optimizer.physical.graph` for how they make up a plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from optimizer.algebra.expression import Call, Column, Expression
from optimizer.algebra.types import ColumnType
from optimizer.logical.window import Window


@dataclass(frozen=True, slots=True)
class WindowBound:
    input: str
    window: Annotated[Window, Field(alias="window_us")]


@dataclass(frozen=True, slots=True)
class Emit:
    """A leaf: what is left of a query's conditions, then its projection."""

    query: str
    residuals: tuple[Expression, ...]
    windows: tuple[WindowBound, ...]
    """The query's own windows where the shared prefix used wider ones; empty otherwise."""
    outputs: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class SourceRule:
    """Ingests tuples of `stream` that pass `filter` as `input`, which go along `out`."""

    id: str
    stream: str
    input: str
    filter: Expression | None
    out: tuple[str, ...]
    emits: tuple[Emit, ...] = ()
    kind: Literal["source"] = "source"


@dataclass(frozen=True, slots=True)
class StoreRule:
    """What arrives on `edge` is kept in `store`."""

    id: str
    edge: str
    store: str
    kind: Literal["store"] = "store"


@dataclass(frozen=True, slots=True)
class Equality:
    """`probe = stored`: an equality to hash on in the local join; NULL equals nothing."""

    probe: Expression
    stored: Expression

    @property
    def condition(self) -> Call:
        """The equality as a condition."""
        return Call("eq", (self.probe, self.stored), ColumnType.BOOLEAN)


@dataclass(frozen=True, slots=True)
class ProbeRule:
    """Joins tuples that arrive on `edge` with `store`'s; the results go along `out`."""

    id: str
    edge: str
    store: str
    start: str
    """The canonical input whose new tuples started this tree."""
    bound: tuple[str, ...]
    """The canonical inputs that arriving messages already contain, sorted."""
    renames: tuple[tuple[str, str], ...]
    """(name in the store, name in this tree) for every input of the store."""
    equalities: tuple[Equality, ...]
    predicates: tuple[Expression, ...]
    """Everything else to check here, over the tree's names: theta, n-ary, the stored side's filter. Those
    that call user functions are in the order in which they are best evaluated."""
    windows: tuple[WindowBound, ...]
    """For every input in `bound` and in the store."""
    out: tuple[str, ...]
    emits: tuple[Emit, ...]
    newest: tuple[Column, ...] = ()
    """If there are any, of each arriving tuple's partners only the greatest by these columns goes on: by
    event time, then by what else is read of it."""
    kind: Literal["probe"] = "probe"

    @property
    def window_of(self) -> dict[str, Window]:
        """`windows` by input."""
        return {bound.input: bound.window for bound in self.windows}

    @property
    def stored_window(self) -> Window:
        """The window of a base store's input."""
        return self.window_of[self.renames[0][1]]


@dataclass(frozen=True, slots=True)
class DueRule:
    """Sends what falls due of a hold along `out`, before level 1 stores anything."""

    id: str
    hold: str
    start: str
    """The canonical input that stands for the start tuple's."""
    inputs: tuple[tuple[str, str], ...]
    """(canonical input of this tree, its stream), sorted."""
    columns: tuple[tuple[str, Column], ...]
    """(column of the hold's stream, its name in this tree)."""
    out: tuple[str, ...]
    emits: tuple[Emit, ...] = ()
    kind: Literal["due"] = "due"


@dataclass(frozen=True, slots=True)
class Found:
    """Where partners of held combinations arrive."""

    edge: str
    present: bool
    """True if a combination must have a partner there, false if it must have none, or need not."""
    newest: tuple[Column, ...] = ()
    """If there are any, the greatest partner by these columns joins the combination, with them."""


@dataclass(frozen=True, slots=True)
class SettleRule:
    """Answers with the combinations on `edge` whose partners are as asked for."""

    id: str
    hold: str
    edge: str
    start: str
    inputs: tuple[str, ...]
    """The canonical inputs of the combinations, sorted."""
    found: tuple[Found, ...]
    emits: tuple[Emit, ...]
    out: tuple[str, ...] = ()
    kind: Literal["settle"] = "settle"


@dataclass(frozen=True, slots=True)
class AggregateRule:
    """Answers with the groups of a hold, all of whose states arrive.

    Of running groups states arrive as they are found, and meet here with those that are kept.
    """

    id: str
    hold: str
    edge: str
    """Along which the hold's due rule sends; of running groups, a leaf."""
    direct: tuple[str, ...]
    """Along which settle rules send what is due as they find it; of running groups, further leaves."""
    start: str
    """An input of the query, by which failures are told."""
    emits: tuple[Emit, ...]
    out: tuple[str, ...] = ()
    kind: Literal["aggregate"] = "aggregate"


Rule = SourceRule | StoreRule | ProbeRule | DueRule | SettleRule | AggregateRule


def received_on(rule: Rule) -> tuple[str, ...]:
    """The edges on which a rule receives."""
    match rule:
        case StoreRule() | ProbeRule():
            return (rule.edge,)
        case SettleRule():
            return (rule.edge, *(found.edge for found in rule.found))
        case AggregateRule():
            return (rule.edge, *rule.direct)
    return ()


def expressions_of(rule: Rule) -> Iterator[Expression]:
    """Every expression that a rule evaluates, outputs included."""
    match rule:
        case StoreRule():
            return
        case SourceRule():
            if rule.filter is not None:
                yield rule.filter
        case ProbeRule():
            yield from (side for equality in rule.equalities for side in (equality.probe, equality.stored))
            yield from rule.predicates
    for leaf in rule.emits:
        yield from leaf.residuals
        yield from (expression for _, expression in leaf.outputs)
