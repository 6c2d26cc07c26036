"""A syntax tree's scalar expressions to typed `Expression`s."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Expression, Literal, columns_of
from optimizer.algebra.functions import FUNCTIONS
from optimizer.algebra.identifiers import nearest
from optimizer.algebra.normalize import negation
from optimizer.algebra.types import TYPE_NAMES, ColumnType
from optimizer.algebra.typing import TypeMismatch, call, cast, is_null
from optimizer.sql.binding.scalar.literals import Literals
from optimizer.sql.binding.scalar.names import (
    AGGREGATES,
    CALLS,
    ELSEWHERE,
    PARTS,
    RANKINGS,
    RENAMED,
    SUGGESTED,
    VOLATILE,
    WRITTEN,
)
from optimizer.sql.binding.scope import Scope
from optimizer.sql.grammar.nodes import BINARY, READ, UNSUPPORTED, type_of
from optimizer.sql.grammar.places import span_of
from optimizer.udf.registry import NO_FUNCTIONS, FunctionRegistry

T = ColumnType
MAX_DEPTH = 60
"""Calls within calls."""


class Translator(Literals):
    """Translates expressions of one query.

    Every method raises `InputError` at the place of the fault.
    """

    def __init__(self, scope: Scope, functions: FunctionRegistry = NO_FUNCTIONS) -> None:
        super().__init__(scope.text)
        self._scope = scope
        self._functions = functions
        self._depth = 0

    @property
    def _keys_here(self) -> bool:
        """True where keys of groups, and what is made of them, are read."""
        return False

    def predicate(self, node: exp.Expr) -> Expression:
        """A boolean expression."""
        translated = self.expression(node)
        if is_null(translated):
            return Literal(None, T.BOOLEAN)
        if translated.type is not T.BOOLEAN:
            raise self._error(node, "type-mismatch", f"{translated.type}", "a condition, true or false")
        return translated

    def expression(self, node: exp.Expr) -> Expression:
        """Any scalar expression."""
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                expected = f"at most {MAX_DEPTH} levels"
                raise self._error(node, "too-deep", "expressions nested too deeply", expected)
            return self._translate(node)
        finally:
            self._depth -= 1

    def _translate(self, node: exp.Expr) -> Expression:
        for kind, found, expected in UNSUPPORTED:
            if isinstance(node, kind):
                raise self._error(node, "unsupported", found, expected)
        self._check_arguments(node)
        if isinstance(node, (exp.And, exp.Or)):
            return self._junction(node)
        if isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ):
            return self._distinct(node)
        name = BINARY.get(type(node))
        if name is not None:
            return self._binary(name, node)
        handler = self._handlers.get(type(node))
        if handler is not None:
            return handler(self, node)
        if isinstance(node, exp.Func) and not isinstance(node, exp.Anonymous):
            words = node.sql_name().lower()
            if words in VOLATILE:
                raise self._volatile(node, words)
        raise self._error(
            node, "unsupported", self._words(node), "a column, a constant, an operator or a function"
        )

    def _check_arguments(self, node: exp.Expr) -> None:
        """No part of a node is silently left out: what we do not read, we refuse."""
        for argument, value in node.args.items():
            if value and argument not in READ and not (isinstance(node, exp.Star)):
                words = argument.strip("_").upper().replace("_", " ")
                raise self._error(node, "unsupported", f"{self._words(node)} with {words}", "the plain form")

    # Nodes

    def _column(self, node: exp.Expr) -> Expression:
        assert isinstance(node, exp.Column)
        if isinstance(node.this, exp.Star):
            raise self._error(node, "unsupported", "*", "a column")
        name = node.name.lower()
        if not node.table and name in VOLATILE and not node.this.args.get("quoted"):
            try:
                return self._scope.resolve(node)
            except InputError:
                raise self._volatile(node, name) from None
        return self._scope.resolve(node)

    def _paren(self, node: exp.Expr) -> Expression:
        return self.expression(node.this)

    def _junction(self, node: exp.And | exp.Or) -> Expression:
        """A chain of AND or OR, however long: no deeper than one level."""
        kind = type(node)
        parts: list[exp.Expr] = []
        pending: list[exp.Expr] = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, kind):
                pending += [part.expression, part.this]
            else:
                parts.append(part)
        name = "and" if kind is exp.And else "or"
        return self._call(node, name, [self.predicate(part) for part in parts], parts)

    def _binary(self, name: str, node: exp.Expr) -> Expression:
        operands = [node.this, node.expression]
        arguments = [self.expression(operand) for operand in operands]
        translated = self._call(node, name, arguments, operands)
        return negation(translated) if node.args.get("negate") else translated

    def _not(self, node: exp.Expr) -> Expression:
        return negation(self.predicate(node.this))

    def _negate(self, node: exp.Expr) -> Expression:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            if str(node.this.this).replace("_", "") == str(2**63):
                return Literal(-(2**63), T.BIGINT)
            if str(node.this.this).replace("_", "") == str(2**31):
                return Literal(-(2**31), T.INT)
        return self._call(node, "negate", [self.expression(node.this)], [node.this])

    def _bit_not(self, node: exp.Expr) -> Expression:
        return self._call(node, "bit_not", [self.expression(node.this)], [node.this])

    def _is(self, node: exp.Expr) -> Expression:
        right = node.expression
        if isinstance(right, exp.Null):
            tested = self._call(node, "is_null", [self.expression(node.this)], [node.this])
            return negation(tested) if node.args.get("negate") else tested
        if isinstance(right, exp.Boolean):
            # x IS TRUE is never NULL.
            operand = self.predicate(node.this)
            wanted = operand if right.this else negation(operand)
            return self._call(node, "coalesce", [wanted, Literal(False, T.BOOLEAN)], [node.this, right])
        raise self._error(right, "syntax", self._words(right), "NULL, TRUE or FALSE")

    def _distinct(self, node: exp.Expr) -> Expression:
        """IS [NOT] DISTINCT FROM: a comparison for which NULL equals NULL."""
        operands = [node.this, node.expression]
        left, right = (self.expression(operand) for operand in operands)
        equal = self._call(node, "eq", [left, right], operands)
        both_null = call("and", call("is_null", left), call("is_null", right))
        same = call("or", both_null, call("coalesce", equal, Literal(False, T.BOOLEAN)))
        return same if isinstance(node, exp.NullSafeEQ) else negation(same)

    def _between(self, node: exp.Expr) -> Expression:
        low, high = node.args["low"], node.args["high"]
        compared = [self.expression(part) for part in (node.this, low, high)]
        if any(part.type is T.DOUBLE for part in compared):
            # All three compare in one type; a bigint and a double alone would not change the other bound.
            compared = [
                self._fold(node, cast(part, T.DOUBLE))
                if part.type is T.BIGINT or part.type.is_decimal
                else part
                for part in compared
            ]
        value, least, most = compared
        lower = self._call(node, "ge", [value, least], [node.this, low])
        upper = self._call(node, "le", [value, most], [node.this, high])
        if node.args.get("symmetric"):
            raise self._error(node, "unsupported", "BETWEEN SYMMETRIC", "BETWEEN")
        return self._call(node, "and", [lower, upper], [low, high])

    def _in(self, node: exp.Expr) -> Expression:
        members = node.expressions
        if node.args.get("query") is not None:
            raise self._error(node, "subquery", "a subquery", "a list of values, or a join")
        if not members:
            raise self._error(node, "syntax", "IN without values", "IN (value, ...)")
        operands = [node.this, *members]
        return self._call(node, "in", [self.expression(operand) for operand in operands], operands)

    def _case(self, node: exp.Expr) -> Expression:
        operands: list[exp.Expr] = []
        arguments: list[Expression] = []
        subject = node.args.get("this")
        for branch in node.args["ifs"]:
            if subject is None:
                arguments.append(self.predicate(branch.this))
            else:
                pair = [subject, branch.this]
                arguments.append(self._call(branch, "eq", [self.expression(p) for p in pair], pair))
            arguments.append(self.expression(branch.args["true"]))
            operands += [branch.this, branch.args["true"]]
        otherwise = node.args.get("default")
        arguments.append(self.expression(otherwise) if otherwise is not None else Literal(None, T.BOOLEAN))
        operands.append(otherwise if otherwise is not None else node)
        return self._call(node, "case", arguments, operands)

    def _cast(self, node: exp.Expr) -> Expression:
        kind = node.args["to"]
        target = type_of(kind)
        if target is None:
            found = f"type {kind.sql('duckdb')}"
            raise self._error(node, "unknown-type", found, f"one of {', '.join(TYPE_NAMES)}")
        operand = self.expression(node.this)
        try:
            return self._fold(node, cast(operand, target))
        except TypeMismatch as error:
            raise self._error(node.this, "type-mismatch", error.found, error.expected) from None

    def _extract(self, node: exp.Expr) -> Expression:
        return self._part(node, node.this, str(node.this.name), node.expression)

    def _part(self, node: exp.Expr, unit_node: exp.Expr, unit: str, operand: exp.Expr) -> Expression:
        name = PARTS.get(unit.lower())
        if name is None:
            expected = f"one of {', '.join(sorted(set(PARTS)))}"
            place = unit_node if span_of(unit_node) else node
            raise self._error(place, "unknown-part", f"part {unit}", expected, nearest(unit, PARTS))
        return self._call(node, name, [self.expression(operand)], [operand])

    def _substring(self, node: exp.Expr) -> Expression:
        operands = [p for p in (node.this, node.args.get("start"), node.args.get("length")) if p is not None]
        if node.args.get("zero_start") is not None or len(operands) < 2:
            raise self._error(node, "wrong-arguments", "SUBSTRING", "SUBSTRING(text, start, length)")
        return self._call(node, "substring", [self.expression(o) for o in operands], operands)

    def _trim(self, node: exp.Expr) -> Expression:
        if node.args.get("collation"):
            raise self._error(node, "unsupported", "TRIM with a collation", "TRIM(text, characters)")
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.args.get("position") or "", "trim")
        operands = [part for part in (node.this, node.expression) if part is not None]
        return self._call(node, name, [self.expression(operand) for operand in operands], operands)

    def _concat_literals(self, node: exp.Expr) -> Expression:
        """Adjacent string literals are one string."""
        parts = [self.expression(part) for part in node.expressions]
        return Literal("".join(str(part.value) for part in parts if isinstance(part, Literal)), T.STRING)

    def _function(self, node: exp.Expr) -> Expression:
        raw = node.this
        written = raw.name if isinstance(raw, exp.Identifier) else str(raw)
        name, operands = written.lower(), node.expressions
        if name in VOLATILE:
            raise self._volatile(node, name)
        if name in AGGREGATES:
            raise self._error(
                node, "aggregate", f"aggregate {written}", "an expression over one combination of tuples"
            )
        if name in RANKINGS:
            raise self._error(
                node,
                "unsupported",
                f"window function {written}",
                "an expression over one combination of tuples",
            )
        allowed = self._functions.find(name)
        if allowed is not None:
            return self._user_call(node, allowed, [self.expression(o) for o in operands], operands)
        if name in WRITTEN:
            return self._written(node, name, operands)
        if name == "position" and len(operands) == 1 and isinstance(operands[0], exp.In):
            # POSITION(part IN text)
            operands = [operands[0].args["field"], operands[0].this]
            return self._call(node, "strpos", [self.expression(operand) for operand in operands], operands)
        known = CALLS.get(name)
        if known is None:
            raise self._unknown(node, written)
        if name == "ifnull" and len(operands) != 2:
            raise self._error(node, "wrong-arguments", f"{len(operands)} arguments of IFNULL", "2 arguments")
        arguments = [self.expression(operand) for operand in operands]
        if known == "session" and not self._keys_here and any(map(columns_of, arguments)):
            found, expected = (
                "SESSION outside the keys of groups",
                "SESSION(time, gap) in GROUP BY, or an output",
            )
            raise self._error(node, "bad-bucket", found, expected)
        return self._call(node, known, arguments, operands)

    def _written(self, node: exp.Expr, name: str, operands: list[exp.Expr]) -> Expression:
        """A call that stands for others."""
        function = WRITTEN[name]
        self._check_arity(node, function, len(operands))
        match function.name:
            case "if":
                arguments = [self.predicate(operands[0]), *(self.expression(o) for o in operands[1:])]
                return self._call(node, "case", arguments, operands)
            case "date_part":
                unit = operands[0]
                if not isinstance(unit, exp.Literal) or not unit.is_string:
                    raise self._error(
                        unit, "type-mismatch", self._words(unit), "a part in quotes, such as 'hour'"
                    )
                return self._part(node, unit, unit.name, operands[1])
            case "tumble":
                swapped = [operands[1], operands[0]]
                return self._call(node, "time_bucket", [self.expression(o) for o in swapped], swapped)
            case "date_add":
                return self._call(node, "add", [self.expression(operand) for operand in operands], operands)
            case "concat":
                # Unlike ||, CONCAT reads NULL as empty text.
                texts = [self._as_text(operand) for operand in operands]
                empty = Literal("", T.STRING)
                parts = [
                    text
                    if isinstance(text, Literal) and text.value is not None
                    else call("coalesce", text, empty)
                    for text in texts
                ]
                return parts[0] if len(parts) == 1 else self._call(node, "concat", parts, operands)
            case _:
                # A name in quotes of what the grammar reads, such as "extract".
                raise self._unknown(node, function.sql)

    def _unknown(self, node: exp.Expr, written: str) -> InputError:
        name, found = written.lower(), f"function {written}"
        if name in ELSEWHERE:
            other = ELSEWHERE[name]
            function = WRITTEN[other] if other in WRITTEN else FUNCTIONS[other]
            return self._error(node, "unknown-function", found, function.signature)
        own = ", ".join(function.signature for function in self._functions)
        expected = "a known function" + (f", or one of those allowed here: {own}" if own else "")
        known = ([function.name for function in self._functions], SUGGESTED)
        near = (nearest(name, names, cutoff=0.7) for names in known)
        suggestion = RENAMED.get(name) or next(filter(None, near), None)
        return self._error(node, "unknown-function", found, expected, suggestion)

    def _as_text(self, operand: exp.Expr) -> Expression:
        translated = self.expression(operand)
        try:
            return cast(translated, T.STRING)
        except TypeMismatch as error:
            raise self._error(operand, "type-mismatch", error.found, "string") from None

    _handlers: ClassVar[dict[type[exp.Expr], Callable[[Translator, exp.Expr], Expression]]] = {
        exp.Column: _column,
        exp.Literal: Literals._literal,
        exp.Boolean: Literals._boolean,
        exp.Null: Literals._null,
        exp.Paren: _paren,
        exp.Not: _not,
        exp.Neg: _negate,
        exp.BitwiseNot: _bit_not,
        exp.Is: _is,
        exp.Between: _between,
        exp.In: _in,
        exp.Case: _case,
        exp.Cast: _cast,
        exp.Interval: Literals._interval,
        exp.Extract: _extract,
        exp.Substring: _substring,
        exp.Trim: _trim,
        exp.Concat: _concat_literals,
        exp.Anonymous: _function,
    }
