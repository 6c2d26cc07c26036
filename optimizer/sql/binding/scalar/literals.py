"""Constants as they are written: numbers, text, truth values and intervals."""

from __future__ import annotations

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Expression, Literal
from optimizer.algebra.functions.decimals import decimal_constant
from optimizer.algebra.identifiers import nearest
from optimizer.algebra.types import ColumnType
from optimizer.logical.durations import UNIT_NAMES, duration_us, parse_duration_us, unit_us
from optimizer.sql.binding.scalar.calls import Calls

T = ColumnType


class Literals(Calls):
    """Reads constants; raises `InputError` for one that no type has room for."""

    def _literal(self, node: exp.Expr) -> Expression:
        assert isinstance(node, exp.Literal)
        text = str(node.this)
        if node.is_string:
            return Literal(text, T.STRING)
        digits = text.replace("_", "")
        if digits.isascii() and digits.isdigit():
            value = int(digits) if len(digits) < 40 else 2**63
            if value >= 2**63:
                raise self._error(
                    node, "out-of-range", text, "a number below 2^63, or one with a decimal point"
                )
            return Literal(value, T.INT if value < 2**31 else T.BIGINT)
        # The grammar writes .5 as 0.5, which has a digit more.
        written = self._words(node).replace("_", "")
        decimal = decimal_constant(written if written.startswith(".") else digits)
        if decimal is not None:
            return decimal
        try:
            number = float(digits)
        except ValueError:
            raise self._error(node, "syntax", text, "a number") from None
        if number in (float("inf"), float("-inf")):
            raise self._error(node, "out-of-range", text, "a number below 1.8e308")
        return Literal(number, T.DOUBLE)

    def _boolean(self, node: exp.Expr) -> Expression:
        return Literal(bool(node.this), T.BOOLEAN)

    def _null(self, node: exp.Expr) -> Expression:
        return Literal(None, T.BOOLEAN)

    def _interval(self, node: exp.Expr) -> Expression:
        made = self._interval_us(node)
        if abs(made) >= 2**63:
            found = f"an interval of {made // 86_400_000_000} days"
            raise self._error(node, "out-of-range", found, "at most 106751991 days")
        return Literal(made, T.INTERVAL)

    def _interval_us(self, node: exp.Expr) -> int:
        text, unit = str(node.this.this), node.args.get("unit")
        if unit is not None and not unit.name.lower().startswith("second") and "." in text:
            # DuckDB cuts the fraction off here, though not within the quotes.
            found, better = f"INTERVAL {text} {unit.name}", f"INTERVAL '{text} {unit.name.lower()}'"
            raise self._error(node, "bad-interval", found, f"a whole number, or {better}")
        try:
            if unit is None:
                return parse_duration_us(text)
            if unit_us(unit.name) is None:
                suggestion = nearest(unit.name, UNIT_NAMES)
                expected = f"one of {', '.join(UNIT_NAMES)}"
                raise self._error(node, "bad-interval", f"unit {unit.name}", expected, suggestion)
            return duration_us(text, unit.name)
        except InputError:
            raise
        except ValueError:
            found = f"INTERVAL '{text}'{' ' + unit.name if unit is not None else ''}"
            expected = "a number with a fixed unit, such as INTERVAL '90 minutes'"
            raise self._error(node, "bad-interval", found, expected) from None
