"""Aggregates in a SELECT, and expressions over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from optimizer.algebra.aggregates import AGGREGATE_NAMES, AGGREGATES, AggregateFunction
from optimizer.algebra.expression import Column, Expression, Literal
from optimizer.algebra.types import NUMBERS, ColumnType
from optimizer.algebra.typing import call, cast
from optimizer.logical.grouping import GROUP, Aggregate, Direction
from optimizer.sql.binding.scalar.expressions import Translator
from optimizer.sql.binding.scalar.names import AGGREGATES as KNOWN_AGGREGATES
from optimizer.sql.binding.scope import Scope
from optimizer.udf.registry import FunctionRegistry

T = ColumnType
_INSTEAD = {
    "approx_count_distinct": "COUNT(DISTINCT value), which is exact",
    "count_star": "COUNT(*)",
    "sumif": "SUM(number) FILTER (WHERE condition)",
    "fsum": "SUM(number), which is exact",
    "favg": "AVG(number), which is exact",
    "list": "STRING_AGG(text, separator ORDER BY value): there are no lists yet",
    "array_agg": "STRING_AGG(text, separator ORDER BY value): there are no lists yet",
    "histogram": "the value as a key of GROUP BY, and COUNT(*)",
}
"""What to write in the place of DuckDB's aggregates that are not here."""


def is_grouped(select: exp.Select) -> bool:
    """True if a SELECT gives groups instead of combinations."""
    if any(select.args.get(clause) for clause in ("group", "having", "distinct")):
        return True
    return any(
        isinstance(node, exp.Anonymous) and str(node.this).lower() in KNOWN_AGGREGATES
        for item in select.expressions
        for node in item.find_all(exp.Anonymous)
    )


@dataclass(slots=True)
class _Written:
    """What stands in the brackets of an aggregate, and behind WITHIN GROUP."""

    operands: list[exp.Expr]
    distinct: bool
    order: Sequence[exp.Expr]

    @classmethod
    def of(cls, node: exp.Expr, within: exp.Expr | None, ordered: bool) -> _Written:
        """Read the brackets.

        Args:
            node: the call.
            within: the ORDER BY behind WITHIN GROUP.
            ordered: True if the aggregate itself is of an order; else that of WITHIN GROUP is what it takes.
        """
        operands, distinct, order = list(node.expressions), False, []
        if operands and isinstance(operands[-1], exp.Order):
            order = operands[-1].expressions
            operands[-1] = operands[-1].this
        if operands and isinstance(operands[0], exp.Distinct):
            operands, distinct = [*operands[0].expressions, *operands[1:]], True
        if within is not None and ordered:
            order = within.expressions
        elif (
            within is not None and len(within.expressions) == 1 and not within.expressions[0].args.get("desc")
        ):
            operands.insert(0, within.expressions[0].this)
        elif within is not None:
            order = within.expressions
        return cls(operands, distinct, order)


class GroupTranslator(Translator):
    """Translates expressions over groups: an aggregate in them is a column of `GROUP`."""

    def __init__(self, scope: Scope, functions: FunctionRegistry, times: Mapping[str, Column]) -> None:
        super().__init__(scope, functions)
        self._times = times
        """Of every alias, its event time."""
        self.aggregates: dict[Aggregate, Column] = {}
        self._inside = False

    @property
    def _keys_here(self) -> bool:
        return not self._inside

    def _translate(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Filter):
            return self._of_group(node.this, node.expression.this)
        if isinstance(node, exp.WithinGroup):
            return self._of_group(node, None)
        if isinstance(node, exp.Anonymous):
            match str(node.this).lower():
                case name if name in KNOWN_AGGREGATES:
                    return self._of_group(node, None)
                case "result_time":
                    return self._result_time(node)
        return super()._translate(node)

    def _of_group(self, node: exp.Expr, where: exp.Expr | None) -> Expression:
        """The column of an aggregate, with WITHIN GROUP and FILTER's condition."""
        within = None
        if isinstance(node, exp.WithinGroup):
            node, within = node.this, node.expression
        written = str(node.this)
        function = AGGREGATES.get(AGGREGATE_NAMES.get(written.lower(), ""))
        if function is None:
            expected = _INSTEAD.get(written.lower()) or f"one of {', '.join(map(str.upper, AGGREGATES))}"
            raise self._error(node, "unsupported", f"aggregate {written}", expected)
        if self._inside:
            raise self._error(node, "aggregate", f"{written} inside an aggregate", "one aggregate")
        self._inside = True
        try:
            one = self._aggregate(node, function, _Written.of(node, within, function.order != "never"), where)
        finally:
            self._inside = False
        if one not in self.aggregates:
            self.aggregates[one] = Column(GROUP, f"agg{len(self.aggregates) + 1}", one.type)
        return self.aggregates[one]

    def _aggregate(
        self, node: exp.Expr, function: AggregateFunction, written: _Written, where: exp.Expr | None
    ) -> Aggregate:
        misplaced = (
            (bool(written.order) and function.order == "never", f"ORDER BY in {node.this}"),
            (not written.order and function.order == "must", f"{node.this} without ORDER BY"),
            (written.distinct and not function.distinct, f"DISTINCT in {node.this}"),
        )
        for is_so, found in misplaced:
            if is_so:
                raise self._error(node, "wrong-arguments", found, function.signature)
        constant = self._constant(node, function, written)
        arguments = self._arguments(node, function, written.operands)
        if written.distinct and not arguments:
            raise self._error(
                node, "wrong-arguments", f"DISTINCT {node.this} of rows", "COUNT(DISTINCT value)"
            )
        order = [self._ordered_by(one) for one in written.order]
        if written.distinct and any(by not in arguments for by, _ in order):
            found, expected = f"DISTINCT {node.this} by something else", "ORDER BY what is distinct"
            raise self._error(node, "wrong-arguments", found, expected)
        condition = None if where is None else self.predicate(where)
        name = function.name
        if name == "count_if":
            # As in DuckDB: NULL where no condition is true or false.
            name, arguments = "sum", (cast(arguments[0], T.INT),)
        elif name == "median":
            name, constant = "quantile_cont", 0.5
        elif name == "any_value" and order:
            name, condition = "first", _both(condition, call("not", call("is_null", arguments[0])))
        elif name == "any_value":
            name = "min"
        kind = AGGREGATES[name].result([argument.type for argument in arguments])
        arguments = (*arguments, *(by for by, _ in order))
        directions = tuple(direction for _, direction in order)
        return Aggregate("", name, arguments, condition, written.distinct, kind, constant, directions)

    def _arguments(
        self, node: exp.Expr, function: AggregateFunction, operands: list[exp.Expr]
    ) -> tuple[Expression, ...]:
        counts_rows = function.name == "count" and (
            not operands or (len(operands) == 1 and isinstance(operands[0], exp.Star))
        )
        if counts_rows:
            return ()
        if len(operands) != len(function.takes):
            found = f"{len(operands)} argument{'' if len(operands) == 1 else 's'} of {node.this}"
            raise self._error(node, "wrong-arguments", found, function.signature)
        arguments = tuple(self.expression(operand) for operand in operands)
        taken = []
        for place, (operand, argument) in enumerate(zip(operands, arguments, strict=True)):
            kind = function.taken(place, argument.type)
            if kind is None:
                expected = f"{function.expected(place)} in {function.signature}"
                found = f"{argument.type} ({self._words(operand)})"
                raise self._error(operand, "type-mismatch", found, expected)
            taken.append(cast(argument, kind))
        return tuple(taken)

    def _constant(self, node: exp.Expr, function: AggregateFunction, written: _Written) -> float | str | None:
        """The constant behind the arguments, taken out of what is written."""
        if function.constant is None:
            return None
        if len(written.operands) <= len(function.takes):
            if function.default is None:
                count = len(written.operands)
                found = f"{count} argument{'' if count == 1 else 's'} of {node.this}"
                raise self._error(node, "wrong-arguments", found, function.signature)
            return function.default
        operand = written.operands.pop()
        read = self.expression(operand)
        if function.constant is T.DOUBLE and isinstance(read, Literal) and read.type.is_decimal:
            read = self._fold(operand, cast(read, T.DOUBLE))
        value = read.value if isinstance(read, Literal) else None
        if function.constant is T.STRING and isinstance(value, str):
            return value
        is_number = isinstance(value, int | float) and read.type in NUMBERS
        if function.constant is T.DOUBLE and is_number and 0 <= float(value or 0) <= 1:
            return float(value or 0)
        expected = "a constant text" if function.constant is T.STRING else "a constant from 0 to 1"
        raise self._error(
            operand, "wrong-arguments", self._words(operand), f"{expected} in {function.signature}"
        )

    def _ordered_by(self, one: exp.Expr) -> tuple[Expression, Direction]:
        read = self.expression(one.this)
        if read.type is T.INTERVAL:
            raise self._error(one.this, "type-mismatch", self._words(one.this), "a column's type in ORDER BY")
        return read, Direction(bool(one.args.get("desc")), bool(one.args.get("nulls_first")))

    def _result_time(self, node: exp.Expr) -> Expression:
        if node.expressions:
            raise self._error(node, "wrong-arguments", "arguments of RESULT_TIME", "RESULT_TIME()")
        times = [self._times[alias] for alias in sorted(self._times)]
        return times[0] if len(times) == 1 else self._call(node, "greatest", list(times), [node] * len(times))


def _both(condition: Expression | None, other: Expression) -> Expression:
    return other if condition is None else call("and", condition, other)
