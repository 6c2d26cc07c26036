"""Entries of FROM: streams and views, with their windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from optimizer.algebra.expression import Column, Expression
from optimizer.algebra.identifiers import matches, nearest
from optimizer.logical.catalog import Catalog
from optimizer.logical.derived import derived_stream
from optimizer.logical.query import Derived, Input, Query
from optimizer.logical.views import inline
from optimizer.logical.window import Window
from optimizer.sql.binding.scope import Scope, Source
from optimizer.sql.binding.windows import read_window
from optimizer.sql.grammar.places import SourceText, span_of


@dataclass(frozen=True, slots=True)
class Entry:
    """A source, with what it adds to the query."""

    source: Source
    inputs: Sequence[Input]
    predicates: Sequence[Expression] = ()
    cross_join: bool = False
    """True if a view's inputs are connected by CROSS JOINs."""
    derived: Sequence[Derived] = ()
    """The streams of results among the inputs."""


def read_entry(
    table: exp.Expr,
    scope: Scope,
    inputs: Sequence[Input],
    catalog: Catalog,
    views: Mapping[str, Query],
    subquery: Query | None = None,
) -> Entry:
    """Resolve an entry of FROM, beside the `inputs` before it.

    A `subquery` is what the entry means, whatever streams are called as it is. Raises `InputError`.
    """
    text = scope.text
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise text.error(span_of(table), "syntax", "this", "the name of a stream or a view")
    identifier = table.this
    quoted = bool(identifier.args.get("quoted"))
    alias_node = table.args.get("alias")
    naming = alias_node.this if alias_node is not None else identifier
    alias = naming.name if naming.args.get("quoted") else naming.name.lower()
    if not alias:
        raise text.error(span_of(naming), "syntax", "an empty name", "an alias")
    if any(matches(other.alias, alias) for other in scope.visible):
        raise text.error(
            span_of(naming), "duplicate-alias", f"alias {alias} twice", "another alias for the second"
        )
    moment = table.meta.get("as_of")
    if moment is not None:
        found, expected = "FOR SYSTEM_TIME AS OF", "JOIN or LEFT JOIN before the stream"
        raise text.error(span_of(moment), "unsupported", found, expected)
    window = read_window(table.meta.get("window"), text)
    stream = None if subquery is not None else catalog.find(identifier.name, quoted)
    own = _unused(alias, inputs)
    if stream is not None:
        columns = tuple((name, Column(own, name, kind)) for name, kind in stream.columns)
        source = Source(alias, stream.name, columns, frozenset({own}), table)
        return Entry(source, (Input(own, stream.name, window),))
    name = next((n for n in views if matches(n, identifier.name, quoted)), None)
    view = subquery if subquery is not None or name is None else views[name]
    if view is None:
        names = [*catalog.names, *views]
        raise text.error(
            span_of(identifier),
            "unknown-stream",
            f"stream {identifier.name}",
            f"one of {', '.join(names)}" if names else "a registered stream",
            nearest(identifier.name, names),
        )
    taken = [*(i.alias for i in inputs), *(s.alias for s in scope.sources)]
    if view.branches:
        refuse_unreadable(view, text, span_of(identifier))
        return _derived(alias, own, view, window, table, catalog)
    inlined = inline(view, alias, window, taken)
    source = Source(alias, view.name, inlined.columns, frozenset(i.alias for i in inlined.inputs), table)
    return Entry(source, inlined.inputs, inlined.predicates, inlined.cross_join, view.derived)


def refuse_unreadable(view: Query, text: SourceText, place: tuple[int, int] | None) -> None:
    """Raise `InputError` if sessions, or groups without an end, are to be read.

    Results of sessions have no event time yet; those of running groups change.
    """
    if view.grouping is None:
        return
    expected = "buckets of TUMBLE or HOP"
    if view.grouping.bucket is None:
        raise text.error(place, "unsupported", "results of groups without an end read by a query", expected)
    if view.grouping.bucket.gap_us:
        raise text.error(place, "unsupported", "results of sessions read by a query", expected)


def _unused(alias: str, inputs: Sequence[Input]) -> str:
    """The alias among all inputs: subqueries beside each other may repeat one."""
    taken = {item.alias.casefold() for item in inputs}
    found, number = alias, 2
    while found.casefold() in taken:
        found, number = f"{alias}_{number}", number + 1
    return found


def _derived(alias: str, own: str, view: Query, window: Window, table: exp.Expr, catalog: Catalog) -> Entry:
    """The results of a query that is answered first; `own` is as `_unused` says."""
    found = derived_stream(view, catalog)
    columns = tuple((o.name, Column(own, o.name, o.expression.type)) for o in view.outputs)
    source = Source(alias, view.name, columns, frozenset({own}), table)
    return Entry(source, (Input(own, found.stream.name, window),), derived=(found,))
