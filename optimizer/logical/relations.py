"""Queries as relations: join two, restrict one to some aliases, flatten views (dissertation 8.2.4)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from optimizer.algebra.expression import (
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    inputs_of,
    rename_inputs,
)
from optimizer.algebra.normalize import canonical, conjuncts
from optimizer.algebra.types import ColumnType
from optimizer.logical.query import Input, Output, Query
from optimizer.logical.views import inline


def components(
    aliases: Sequence[str], predicates: Iterable[Expression], links: Iterable[Collection[str]] = ()
) -> tuple[frozenset[str], ...]:
    """The connected parts of a join graph, ordered by their first alias.

    A predicate connects all aliases that it reads; `links` connect further ones, as CROSS
    JOIN does.
    """
    parent = {alias: alias for alias in aliases}

    def root(alias: str) -> str:
        while parent[alias] != alias:
            parent[alias] = parent[parent[alias]]
            alias = parent[alias]
        return alias

    for group in (*(inputs_of(predicate) for predicate in predicates), *links):
        first, *others = sorted(group)
        for other in others:
            parent[root(other)] = root(first)
    parts: dict[str, list[str]] = {}
    for alias in aliases:
        parts.setdefault(root(alias), []).append(alias)
    return tuple(frozenset(part) for part in parts.values())


def rename_aliases(query: Query, names: Mapping[str, str]) -> Query:
    """The same query with other aliases; those that `names` lacks stay as they are."""
    return replace(
        query,
        inputs=tuple(replace(i, alias=names.get(i.alias, i.alias)) for i in query.inputs),
        predicates=tuple(canonical(rename_inputs(p, names)) for p in query.predicates),
        outputs=tuple(Output(o.name, rename_inputs(o.expression, names)) for o in query.outputs),
    )


def join(left: Query, right: Query, on: Iterable[Expression] = (), name: str | None = None) -> Query:
    """The combinations of both queries' results for which the predicates `on` hold.

    Outputs are the left query's and then the right one's; a name of the right that is
    taken gets _1, _2, as in SELECT *. The queries' windows stay as they are. Without a
    predicate that connects them the result is a cross join.

    Raises `ValueError` when the queries share an alias; `rename_aliases` mends that.
    """
    shared = {i.alias for i in left.inputs} & {i.alias for i in right.inputs}
    if shared:
        raise ValueError(f"both queries call an input {', '.join(sorted(shared))}: rename one")
    outputs = list(left.outputs)
    taken = {o.name.casefold() for o in outputs}
    for output in right.outputs:
        unique, number = output.name, 1
        while unique.casefold() in taken:
            unique, number = f"{output.name}_{number}", number + 1
        taken.add(unique.casefold())
        outputs.append(Output(unique, output.expression))
    inputs = (*left.inputs, *right.inputs)
    predicates = (*left.predicates, *right.predicates, *on)
    unconnected = len(components([i.alias for i in inputs], predicates)) > 1
    return Query(name or f"{left.name}_{right.name}", inputs, predicates, tuple(outputs), unconnected)


def restrict(query: Query, aliases: Collection[str], name: str | None = None) -> Query:
    """The part of a query over some of its aliases, with the predicates among them.

    Its outputs are the columns `alias.column` that the rest of the query still asks for:
    by its outputs, and by the predicates that reach outside. A part that nothing asks for
    anything gives the columns that its own predicates read, or, without any, the constant 1.

    Raises `ValueError` when an alias is unknown or none is given.
    """
    wanted = frozenset(aliases)
    unknown = wanted - {i.alias for i in query.inputs}
    if unknown or not wanted:
        raise ValueError(f"query {query.name} has no alias {', '.join(sorted(unknown)) or 'in an empty set'}")
    inside = tuple(p for p in query.predicates if inputs_of(p) <= wanted)
    outside = [p for p in query.predicates if not inputs_of(p) <= wanted]
    needed = [column for e in (*outside, *(o.expression for o in query.outputs)) for column in columns_of(e)]
    columns = {c for c in needed if c.input in wanted} or {c for p in inside for c in columns_of(p)}
    outputs = tuple(
        Output(f"{c.input}.{c.name}", c) for c in sorted(columns, key=lambda c: (c.input, c.name))
    ) or (Output("1", Literal(1, ColumnType.INT)),)
    inputs = tuple(i for i in query.inputs if i.alias in wanted)
    unconnected = len(components([i.alias for i in inputs], inside)) > 1
    return Query(name or query.name, inputs, inside, outputs, unconnected)


def flatten(query: Query, views: Mapping[str, Query]) -> Query:
    """The query over streams only: every input that names a view becomes the view's own inputs.

    Columns of such an input are the view's outputs, and are replaced by their expressions;
    views may read views. Windows compose as `optimizer.logical.views` says. A query over no view
    is returned unchanged. `parse_query` flattens by itself; this is for queries that are
    built from parts.

    Raises `ValueError` for a column that a view does not have, and for views that read
    each other in a circle.
    """
    return _flatten(query, views, (query.name,))


def _flatten(query: Query, views: Mapping[str, Query], path: tuple[str, ...]) -> Query:
    if not any(i.stream in views for i in query.inputs):
        return query
    columns: dict[str, dict[str, Expression]] = {}
    inputs: list[Input] = [i for i in query.inputs if i.stream not in views]
    predicates: list[Expression] = []
    for item in query.inputs:
        if item.stream not in views:
            continue
        if item.stream in path:
            raise ValueError(f"views read each other in a circle: {' reads '.join((*path, item.stream))}")
        view = _flatten(views[item.stream], views, (*path, item.stream))
        inlined = inline(
            view, item.alias, item.window, [i.alias for i in (*query.inputs, *inputs) if i != item]
        )
        inputs += inlined.inputs
        predicates += inlined.predicates
        columns[item.alias] = dict(inlined.columns)

    def substitute(expression: Expression) -> Expression:
        match expression:
            case Column() if expression.input in columns:
                found = columns[expression.input].get(expression.name)
                if found is None:
                    raise ValueError(f"the view behind {expression.input} has no column {expression.name}")
                return found
            case Call():
                return Call(
                    expression.function, tuple(map(substitute, expression.arguments)), expression.type
                )
            case _:
                return expression

    predicates += [part for p in query.predicates for part in conjuncts(canonical(substitute(p)))]
    outputs = tuple(Output(o.name, substitute(o.expression)) for o in query.outputs)
    unconnected = len(components([i.alias for i in inputs], predicates)) > 1
    return Query(query.name, tuple(inputs), tuple(predicates), outputs, unconnected)
