"""Conditions of WHERE and ON, one conjunct at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Expression, Literal, inputs_of
from optimizer.algebra.normalize import conjuncts
from optimizer.algebra.render import to_sql
from optimizer.sql.binding.scalar.expressions import Translator
from optimizer.sql.grammar.places import SourceText, span_of


def read_conjuncts(
    node: exp.Expr, text: SourceText, translator: Translator, report: Callable[[InputError], None]
) -> Iterator[Expression]:
    """Translate the conjuncts of a condition, reporting what is wrong."""
    for part in conjunct_nodes(node):
        try:
            predicate = translator.predicate(part)
        except InputError as error:
            report(error)
            continue
        for conjunct in conjuncts(predicate):
            if inputs_of(conjunct):
                yield conjunct
            elif not (isinstance(conjunct, Literal) and conjunct.value is True):
                report(_never_true(part, conjunct, text))


def _never_true(node: exp.Expr, predicate: Expression, text: SourceText) -> InputError:
    value = "NULL" if isinstance(predicate, Literal) and predicate.value is None else "FALSE"
    suggestion = _null_test(node)
    words = text.text[slice(*span)] if (span := span_of(node)) else to_sql(predicate)
    return text.error(
        span,
        "never-true",
        f"the condition {words}, which is {value}",
        "one that can be true",
        f"{text.text[slice(*known)]} {suggestion}" if suggestion and (known := span_of(node.this)) else None,
    )


def conjunct_nodes(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a chain of ANDs, in the order of the text, parentheses removed."""
    parts: list[exp.Expr] = []
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, exp.And):
            pending += [part.expression, part.this]
        elif isinstance(part, exp.Paren):
            pending.append(part.this)
        else:
            parts.append(part)
    return parts


def _null_test(node: exp.Expr) -> str | None:
    """What a comparison with NULL was meant to be."""
    if isinstance(node, exp.EQ | exp.NEQ) and isinstance(node.expression, exp.Null):
        return "IS NULL" if isinstance(node, exp.EQ) else "IS NOT NULL"
    return None
