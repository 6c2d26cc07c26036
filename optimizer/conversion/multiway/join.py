"""One group of joins as a Millrace query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.conversion.binary.moments import fixed_moment
from optimizer.conversion.binary.names import UniqueNames
from optimizer.conversion.binary.rendering import to_text
from optimizer.conversion.binary.tree import (
    Column,
    Derived,
    Filter,
    GroupOutput,
    MultiJoin,
    Node,
    Scan,
    aliases_read,
    columns_of,
)
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.sql import format_query, identifier
from optimizer.sql.binding.queries import Reader
from optimizer.sql.builder import QueryBuilder
from optimizer.sql.grammar.places import SourceText


def multi_join(
    name: str,
    inputs: Sequence[Scan | Derived],
    streams: Mapping[str, Stream],
    conditions: Sequence[exp.Expr],
    asked: frozenset[Column],
) -> tuple[MultiJoin, tuple[exp.Expr, ...]]:
    """The multi-way join of some inputs, and the conditions to check above it.

    Those are the ones that Millrace's expressions cannot say, or that read a query around.

    Args:
        name: of the join, its query and the table of its results.
        inputs: at least two, in the order of the text.
        streams: what the inputs read, by alias.
        conditions: of the whole group, over the inputs' aliases.
        asked: columns that the plan above reads, those of other relations among them.
    """
    known = Catalog.of(replace(stream, name=alias) for alias, stream in streams.items())
    said = {id(c): text for c in conditions if (text := _in_millrace(c, known)) is not None}
    left_over = tuple(c for c in conditions if id(c) not in said)
    own = [c for c in conditions if id(c) in said]
    outputs = _outputs(inputs, streams, asked.union(*map(columns_of, left_over)))
    builder = QueryBuilder(Catalog.of({s.name: s for s in streams.values()}.values()))
    for source, crossed in _connected(inputs, own):
        read = builder.cross_join if crossed else builder.from_
        stream = streams[source.alias].name
        builder = read(stream, source.alias if source.alias != stream else None)
        if isinstance(source, Scan):
            builder = builder.window(source.window)
    builder = builder.where(*(said[id(c)] for c in own))
    builder = builder.select(*map(_selected, outputs))
    filtered = tuple(_filtered(source, own) for source in inputs)
    joining = tuple(c for c in own if len(aliases_read(c)) > 1)
    return MultiJoin(
        name, filtered, joining, outputs, builder.build(name), format_query(builder.to_sql())
    ), left_over


def _in_millrace(condition: exp.Expr, known: Catalog) -> str | None:
    """The condition as Millrace reads it; None if it cannot."""
    text = to_text(condition.transform(fixed_moment))
    try:
        Reader(SourceText(text, "condition"), known, {}).read_condition()
    except InputError:
        # Not a fault of the text: DuckDB knows more functions, and evaluates this one above the join.
        return None
    return text


def _outputs(
    inputs: Sequence[Scan | Derived], streams: Mapping[str, Stream], asked: frozenset[Column]
) -> tuple[GroupOutput, ...]:
    """A result column for each column read above; any one if only rows are counted."""
    columns = [(source.alias, column) for source in inputs for column, _ in streams[source.alias].columns]
    read = [column for column in columns if column in asked] or columns[:1]
    shared = {name for _, name in read if sum(name == other for _, other in read) > 1}
    names = UniqueNames()
    return tuple(
        GroupOutput(names.make(f"{alias}_{name}" if name in shared else name), alias, name)
        for alias, name in read
    )


def _selected(output: GroupOutput) -> str:
    column = f"{identifier(output.alias)}.{identifier(output.column)}"
    return column if output.name == output.column else f"{column} AS {identifier(output.name)}"


def _connected(
    inputs: Sequence[Scan | Derived], conditions: Iterable[exp.Expr]
) -> list[tuple[Scan | Derived, bool]]:
    """The inputs, each behind one that a condition connects it with.

    True with them if one has none (CROSS JOIN).
    """
    links = [read for c in conditions if len(read := aliases_read(c)) > 1]
    left, ordered, reached = list(inputs), list[tuple[Scan | Derived, bool]](), set[str]()
    while left:
        near = next((s for s in left if any(s.alias in link and link & reached for link in links)), None)
        chosen = near or left[0]
        ordered.append((chosen, near is None and bool(ordered)))
        left.remove(chosen)
        reached.add(chosen.alias)
    return ordered


def _filtered(source: Scan | Derived, conditions: Iterable[exp.Expr]) -> Node:
    own = tuple(c for c in conditions if aliases_read(c) == {source.alias})
    return Filter(source, own) if own else source
