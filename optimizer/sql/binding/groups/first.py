"""The first groups of every bucket: ORDER BY with LIMIT, or QUALIFY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from optimizer.sql.grammar.places import SourceText, span_of
from optimizer.sql.grammar.syntax import keyword_span

_EXPECTED = "QUALIFY ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...) <= a whole number"


@dataclass(frozen=True, slots=True)
class First:
    """How many groups are results, of those that are alike in something."""

    partition: Sequence[exp.Expr] | None
    """In what they are alike; None for the bucket alone."""
    order: Sequence[exp.Expr]
    limit: int


def first_of(select: exp.Select, text: SourceText) -> First | None:
    """What ORDER BY and LIMIT, or QUALIFY, leave of the groups; None if that is all.

    Raises `InputError`.
    """
    order, limit, qualify = (select.args.get(clause) for clause in ("order", "limit", "qualify"))
    if qualify is not None:
        span = keyword_span(text, frozenset({TokenType.QUALIFY}))
        if order is not None or limit is not None:
            raise text.error(span, "unsupported", "QUALIFY beside ORDER BY or LIMIT", "one of them")
        if select.args.get("distinct"):
            # SQL ranks before it looks for what is distinct.
            raise text.error(span, "unsupported", "QUALIFY beside DISTINCT", "GROUP BY")
        return _qualified(qualify.this, text)
    for clause, other, words, missing, kind in (
        (order, limit, "ORDER BY", "LIMIT", TokenType.ORDER_BY),
        (limit, order, "LIMIT", "ORDER BY", TokenType.LIMIT),
    ):
        if clause is not None and other is None:
            span = keyword_span(text, frozenset({kind}))
            expected = f"{missing} too: together they leave the first groups of every bucket"
            raise text.error(span, "unsupported", f"{words} without {missing}", expected)
    if order is None or limit is None:
        return None
    return First(None, order.expressions, _whole_number(limit.expression, text))


def _qualified(condition: exp.Expr, text: SourceText) -> First:
    """QUALIFY's condition, which compares one rank with a number."""
    swapped = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ}
    window, number, kind = condition.this, condition.args.get("expression"), type(condition)
    if isinstance(number, exp.Window) and kind in swapped:
        window, number, kind = number, window, swapped[kind]
    is_rank = (
        isinstance(window, exp.Window)
        and isinstance(window.this, exp.Anonymous)
        and str(window.this.this).lower() == "row_number"
        and not window.this.expressions
        and not any(window.args.get(part) for part in ("spec", "alias", "first"))
    )
    if not is_rank or number is None or kind not in (exp.LTE, exp.LT, exp.EQ):
        raise text.error(span_of(condition), "unsupported", "this condition in QUALIFY", _EXPECTED)
    order = window.args.get("order")
    if order is None:
        found = "ROW_NUMBER without ORDER BY"
        raise text.error(span_of(window), "unsupported", found, "ORDER BY, which says what comes first")
    limit = _whole_number(number, text)
    if (kind is exp.EQ and limit != 1) or (kind is exp.LT and limit == 1):
        raise text.error(span_of(condition), "unsupported", "this comparison in QUALIFY", _EXPECTED)
    partition = window.args.get("partition_by") or []
    return First(partition, order.expressions, limit - 1 if kind is exp.LT else limit)


def _whole_number(count: exp.Expr, text: SourceText) -> int:
    if not isinstance(count, exp.Literal) or not str(count.this).isdigit() or not int(count.this):
        raise text.error(span_of(count), "syntax", count.sql("duckdb"), "a whole number above 0")
    return int(count.this)
