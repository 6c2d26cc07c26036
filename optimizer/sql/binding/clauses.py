"""The clauses of a SELECT that have no meaning here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from optimizer.algebra.errors import InputError
from optimizer.sql.binding.groups.aggregates import is_grouped
from optimizer.sql.grammar.places import SourceText, span_of
from optimizer.sql.grammar.syntax import keyword_span

_REFUSED: Mapping[str, tuple[str, TokenType, str]] = {
    "distinct": ("DISTINCT", TokenType.DISTINCT, "a subquery without it: EXISTS asks once"),
    "group": ("GROUP BY", TokenType.GROUP_BY, "a subquery of single rows"),
    "having": ("HAVING", TokenType.HAVING, "a condition in WHERE"),
    "qualify": ("QUALIFY", TokenType.QUALIFY, "a condition in WHERE"),
    "order": ("ORDER BY", TokenType.ORDER_BY, "results in the order in which they are found"),
    "limit": ("LIMIT", TokenType.LIMIT, "all results: a stream has no end"),
    "offset": ("OFFSET", TokenType.OFFSET, "all results: a stream has no end"),
    "windows": ("WINDOW", TokenType.WINDOW, "a window behind each stream, such as [RANGE 10 MINUTES]"),
    "with_": ("WITH in a subquery", TokenType.WITH, "WITH at the beginning of the query"),
}
_READ = ("expressions", "from_", "joins", "where")
_OF_GROUPS = ("distinct", "group", "having", "order", "limit", "qualify")


def refused_clauses(select: exp.Select, text: SourceText, asked: bool) -> Iterator[InputError]:
    """What stands in a SELECT and has no meaning there.

    Args:
        select: the syntax tree.
        text: the query's.
        asked: True for a subquery of EXISTS or IN.
    """
    read = (*_READ, *_OF_GROUPS) if not asked and is_grouped(select) else _READ
    for argument, value in select.args.items():
        if not value or argument in read:
            continue
        other = (argument.strip("_").upper().replace("_", " "), TokenType.SELECT, "a plain SELECT")
        words, kind, expected = _REFUSED.get(argument, other)
        span = span_of(select) if asked else keyword_span(text, frozenset({kind}))
        yield text.error(span, "unsupported", words, expected)
    if select.args.get("from_") is None:
        yield InputError("syntax", text.end(), "the end of the query", "FROM with a stream")
