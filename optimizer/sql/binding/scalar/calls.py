"""Typed calls from syntax nodes, and errors in the user's own words."""

from __future__ import annotations

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Call, Expression, columns_of
from optimizer.algebra.functions import FUNCTIONS, Function
from optimizer.algebra.typing import TypeMismatch, arity, call
from optimizer.sql.binding.scalar.constants import ConstantError, check_constants, fold
from optimizer.sql.grammar.places import SourceText, span_of
from optimizer.udf.registry import UserFunction
from optimizer.udf.typing import user_call


class Calls:
    """Makes calls of functions.

    What is wrong with one is said under the operand that is wrong.
    """

    def __init__(self, text: SourceText) -> None:
        self._text = text

    def _call(
        self, node: exp.Expr, name: str, arguments: list[Expression], operands: list[exp.Expr]
    ) -> Expression:
        """A typed call; a type error is reported under the operand that is wrong."""
        self._check_arity(node, FUNCTIONS[name], len(arguments))
        try:
            made = call(name, *arguments)
            if columns_of(made):
                self._check_constants(made, operands)
            return self._fold(node, made)
        except TypeMismatch as error:
            operand = operands[error.position] if error.position < len(operands) else node
            place = operand if span_of(operand) else node
            words = self._words(operand)
            found = error.found if words == error.found else f"{error.found} ({words})"
            expected = self._beside(error, name, arguments, operands)
            raise self._error(place, "type-mismatch", found, expected) from None

    def _check_arity(self, node: exp.Expr, function: Function, found: int) -> None:
        if found < function.least or (function.most is not None and found > function.most):
            written = f"{found} argument{'' if found == 1 else 's'} of {function.sql}"
            expected = f"{arity(function)}: {function.signature}" if function.help else arity(function)
            raise self._error(node, "wrong-arguments", written, expected)

    def _check_constants(self, made: Expression, operands: list[exp.Expr]) -> None:
        """Refuse a pattern, a format or a path that DuckDB cannot read."""
        if not isinstance(made, Call):
            return
        try:
            check_constants(made)
        except ConstantError as error:
            function = FUNCTIONS[made.function]
            place = min(function.constants(len(operands)))
            expected = f"{function.kind(place).words} in {function.sql} ({error})"
            operand = operands[place]
            raise self._error(operand, "bad-constant", self._words(operand), expected) from None

    def _user_call(
        self,
        node: exp.Expr,
        function: UserFunction,
        arguments: list[Expression],
        operands: list[exp.Expr],
    ) -> Expression:
        """A typed call of a user function.

        One of constants alone is refused: none is folded.
        """
        if len(arguments) != len(function.arguments):
            found = f"{len(arguments)} argument{'' if len(arguments) == 1 else 's'} of {function.name}"
            raise self._error(node, "wrong-arguments", found, function.signature)
        try:
            made = user_call(function, tuple(arguments))
        except TypeMismatch as error:
            operand = operands[error.position]
            words = self._words(operand)
            place = operand if span_of(operand) else node
            found = error.found if words == error.found else f"{error.found} ({words})"
            expected = f"{error.expected} in {function.signature}"
            raise self._error(place, "type-mismatch", found, expected) from None
        if not columns_of(made):
            raise self._error(
                node, "constant-call", f"{function.name} of constants", "a column in one of its arguments"
            )
        return made

    def _beside(
        self, error: TypeMismatch, name: str, arguments: list[Expression], operands: list[exp.Expr]
    ) -> str:
        """What was expected, and why: the operand on the other side of a comparison."""
        if (
            len(arguments) == 2
            and len(operands) == 2
            and FUNCTIONS[name].rule in ("comparison", "arithmetic")
        ):
            return f"{error.expected} beside {self._words(operands[1 - error.position])}"
        return f"{error.expected} in {FUNCTIONS[name].sql}"

    def _fold(self, node: exp.Expr, expression: Expression) -> Expression:
        """The value of a call of constants; other expressions unchanged."""
        if not isinstance(expression, Call) or columns_of(expression):
            return expression
        try:
            return fold(expression)
        except ConstantError as error:
            raise self._error(
                node, "bad-constant", self._words(node), f"a constant that has a value ({error})"
            ) from None

    def _volatile(self, node: exp.Expr, name: str) -> InputError:
        return self._error(
            node,
            "nondeterministic",
            f"{name}, whose value changes",
            "an expression over columns and constants",
        )

    def _error(
        self, node: exp.Expr, code: str, found: str, expected: str, suggestion: str | None = None
    ) -> InputError:
        current: exp.Expr | None = node
        while current is not None and (span := span_of(current)) is None:
            current = current.parent
        return self._text.error(span if current is not None else None, code, found, expected, suggestion)

    def _words(self, node: exp.Expr) -> str:
        """The user's own words for a node."""
        span = node.meta.get("text") or span_of(node)
        return self._text.text[slice(*span)] if span else node.key.upper()
