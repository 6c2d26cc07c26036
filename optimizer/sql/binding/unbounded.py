"""Hints at streams whose tuples a query keeps for ever without saying so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from optimizer.algebra.errors import InputError
from optimizer.algebra.render import to_sql
from optimizer.logical.catalog import Catalog
from optimizer.logical.durations import UNITS_US, duration_text
from optimizer.logical.query import Query
from optimizer.logical.retention import bounding_conditions, retentions
from optimizer.sql.binding.scope import Source
from optimizer.sql.grammar.places import SourceText
from optimizer.sql.grammar.syntax import read_statement, written_tokens


def unbounded(
    text: SourceText, query: Query, sources: Sequence[Source], catalog: Catalog
) -> Iterator[InputError]:
    """What would bound each stream that has neither a window nor conditions that do.

    A stream of a single one is not stored, and `[RANGE UNBOUNDED]` says that it is meant. Each such stream
    gets a hint at its name, which suggests a window, and one at the text's end, which suggests conditions.
    """
    if len(query.inputs) == 1:
        return
    kept = {one.alias: one.window for one in retentions(query, catalog)}
    tables = {item.alias for item in query.inputs if catalog[item.stream].is_table}
    lengths = [window.reach_us for window in kept.values() if window.reach_us]
    length_us = max(lengths, default=UNITS_US["hour"])
    end = _end(text)
    for source in sources:
        if source.inputs != {source.alias} or kept[source.alias].is_bounded or source.alias in tables:
            continue
        if not isinstance(source.node, exp.Table) or source.node.meta.get("window") is not None:
            continue
        found = f"{source.alias} without a window: its tuples are kept for ever"
        needed = bounding_conditions(query, catalog, source.alias, length_us)
        conditions = " AND ".join(map(to_sql, needed))
        name = source.node.this
        span = int(name.meta["start"]), int(name.meta["end"]) + 1
        window = f"{text.text[slice(*span)]} [RANGE {duration_text(length_us)}]"
        known = ", ".join(
            [*([conditions] if needed else []), "a window, or [RANGE UNBOUNDED] if that is meant"]
        )
        yield text.error(span, "unbounded", found, known, window)
        if needed and end is not None:
            last, word = end
            added = f"{text.text[slice(*last)]}\n{word} {conditions}"
            yield text.error(last, "add-condition", found, conditions, added)


def _end(text: SourceText) -> tuple[tuple[int, int], str] | None:
    """The last word of the text and what a further condition begins with.

    There is none where it would become a part of an OR, or of another clause.
    """
    statement = read_statement(text)
    where = statement.args.get("where")
    if isinstance(statement, exp.Union) or statement.args.get("group"):
        return None
    if where is not None and isinstance(where.this, exp.Or):
        return None
    tokens = [token for token in written_tokens(text) if token.token_type is not TokenType.SEMICOLON]
    return (tokens[-1].start, tokens[-1].end + 1), "WHERE" if where is None else "  AND"
