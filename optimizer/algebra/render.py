"""Render expressions as SQL: readable for people, exact for DuckDB, the oracle."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from optimizer.algebra.expression import Call, Column, Expression, Literal
from optimizer.algebra.functions import FUNCTIONS
from optimizer.algebra.functions.decimals import decimal_constant
from optimizer.algebra.functions.declaration import END_OF_DAY
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import ROUNDING, with_bare_constants
from optimizer.algebra.udf_names import user_name

T = ColumnType
_LEVEL = {"or": 1, "and": 2, "not": 3, "concat": 5, "add": 6, "subtract": 6, "multiply": 7, "divide": 7}
_LEVEL |= dict.fromkeys(("integer_divide", "modulo"), 7)
_LEVEL |= dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "in", "like", "ilike", "is_null"), 4)
_LEVEL |= dict.fromkeys(("bit_and", "bit_or", "shift_left", "shift_right"), 5)
_LEVEL |= {"negate": 8, "bit_not": 8}
_ATOM = 9
_DUCKDB_TYPES = {
    T.INT: "INTEGER",
    T.BIGINT: "BIGINT",
    T.DOUBLE: "DOUBLE",
    T.STRING: "VARCHAR",
    T.BOOLEAN: "BOOLEAN",
    T.TIMESTAMP: "TIMESTAMP",
    T.DATE: "DATE",
    T.BINARY: "BLOB",
    T.INTERVAL: "INTERVAL",
    T.UUID: "UUID",
    T.TIME: "TIME",
}
_UNITS = (("DAY", 86_400_000_000), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000), ("SECOND", 1_000_000))


def to_sql(expression: Expression) -> str:
    """The expression as a person would write it.

    >>> to_sql(Call("gt", (Column("d", "delay", T.DOUBLE), Literal(60, T.INT)), T.BOOLEAN))
    'd.delay > 60'
    """
    return _Writer(exact=False).write(expression)[0]


def to_duckdb_sql(expression: Expression, around: Callable[[Call, str], str] | None = None) -> str:
    """The expression as DuckDB must read it: identifiers quoted, constants typed.

    `around` writes something around the text of each call, such as `TRY(...)`.

    >>> to_duckdb_sql(Call("gt", (Column("d", "delay", T.DOUBLE), Literal(60, T.INT)), T.BOOLEAN))
    '"d"."delay" > 60'
    """
    return _Writer(exact=True, around=around).write(expression)[0]


def over_columns(call: Call) -> tuple[str, tuple[int, ...]]:
    """The call as DuckDB must read it, of columns c0, c1, ... of a relation "@".

    Constants stay where the function asks for them. Returned with it are the arguments that became columns.

    >>> call = Call("left", (Column("d", "origin", T.STRING), Literal(2, T.INT)), T.STRING)
    >>> over_columns(call)
    ('LEFT("@"."c0", "@"."c1")', (0, 1))
    """
    fixed = FUNCTIONS[call.function].constants(len(call.arguments))
    if call.function in ROUNDING and call.type.is_decimal:
        fixed |= {1}
    read = tuple(n for n in range(len(call.arguments)) if n not in fixed)
    arguments = tuple(
        argument if n in fixed else Column("@", f"c{read.index(n)}", argument.type)
        for n, argument in enumerate(call.arguments)
    )
    return to_duckdb_sql(Call(call.function, arguments, call.type)), read


def duckdb_type(kind: ColumnType) -> str:
    """DuckDB's name of a column type.

    >>> duckdb_type(T.STRING), duckdb_type(T.TIMESTAMP)
    ('VARCHAR', 'TIMESTAMP')
    """
    return str(kind).upper() if kind.is_decimal else _DUCKDB_TYPES[kind]


def quote(name: str) -> str:
    """An identifier in double quotes.

    >>> quote("a b")
    '"a b"'
    """
    return '"' + name.replace('"', '""') + '"'


def quote_if_needed(name: str) -> str:
    """An identifier as a person writes it: quoted only if it has to be.

    >>> quote_if_needed("origin"), quote_if_needed("Origin")
    ('origin', '"Origin"')
    """
    plain = (
        name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit() and name == name.lower()
    )
    return name if plain else quote(name)


class _Writer:
    def __init__(self, exact: bool, around: Callable[[Call, str], str] | None = None) -> None:
        self._exact = exact
        self._around = around

    def write(self, expression: Expression) -> tuple[str, int]:
        """The text and its level.

        What binds looser than its surroundings gets parentheses.
        """
        match expression:
            case Column():
                return self._column(expression), _ATOM
            case Literal():
                return self._literal(expression)
            case Call():
                text, level = self._call(expression), _LEVEL.get(expression.function, _ATOM)
                around = text if self._around is None else self._around(expression, text)
                return around, level if around == text else _ATOM

    def _column(self, column: Column) -> str:
        quoting = quote if self._exact else quote_if_needed
        text = f"{quoting(column.input)}.{quoting(column.name)}"
        # DuckDB is given texts, as they are carried.
        return self._typed(text, column.type) if self._exact and column.type is T.UUID else text

    def _literal(self, literal: Literal) -> tuple[str, int]:
        value = literal.value
        match literal.type, value:
            case ((T.BOOLEAN | T.INTERVAL), None) if not self._exact:
                return "NULL", _ATOM
            case kind, None:
                return self._typed("NULL", kind), _ATOM
            case T.INTERVAL, _:
                return self._interval(int(value)), _ATOM
            case T.TIMESTAMP, _:
                return f"TIMESTAMP '{str(value).replace('T', ' ')}'", _ATOM
            case T.DATE, _:
                return f"DATE '{value}'", _ATOM
            case ((T.UUID | T.TIME), _):
                return f"{literal.type.upper()} '{value}'", _ATOM
            case T.BINARY, _:
                return f"from_hex('{value}')", _ATOM
            case T.BOOLEAN, _:
                return str(value).upper(), _ATOM
            case T.STRING, _:
                return "'" + str(value).replace("'", "''") + "'", _ATOM
            case T.DOUBLE, _:
                return self._double(float(value))
            case kind, _ if kind.is_decimal:
                if decimal_constant(str(value)) != literal:
                    return self._typed(f"'{value}'", kind), _ATOM
                return str(value), _LEVEL["negate"] if str(value).startswith("-") else _ATOM
            case _:
                level = _ATOM if int(value) >= 0 else _LEVEL["negate"]
                # Whole numbers are read as integers where they fit, and by DuckDB -(-2147483648) as a bigint.
                wide = literal.type is T.BIGINT and -(2**31) <= int(value) < 2**31
                if wide or (self._exact and int(value) in (-(2**31), -(2**63))):
                    return self._typed(str(value), literal.type), _ATOM
                return str(value), level

    def _typed(self, text: str, kind: ColumnType) -> str:
        return f"CAST({text} AS {duckdb_type(kind) if self._exact else str(kind).upper()})"

    def _double(self, number: float) -> tuple[str, int]:
        text = repr(number)
        if not isfinite(number):
            return f"CAST('{text}' AS DOUBLE)", _ATOM
        # 0.5 is read as a decimal; an exponent makes it a double.
        text = f"{text}e0" if "e" not in text else text
        return text, _LEVEL["negate"] if text.startswith("-") else _ATOM

    def _interval(self, us: int) -> str:
        for unit, scale in _UNITS:
            if us % scale == 0 and us:
                return f"INTERVAL '{us // scale}' {unit}"
        if self._exact and abs(us) > 2**53:
            # DuckDB reads the number of an interval in quotes as a double.
            return f"to_microseconds(CAST('{us}' AS BIGINT))"
        return f"INTERVAL '{us}' MICROSECOND"

    def _at(self, expression: Expression, level: int) -> str:
        text, own = self.write(expression)
        return text if own >= level else f"({text})"

    def _call(self, call: Call) -> str:
        call = call if self._exact else with_bare_constants(call)
        name, arguments = call.function, call.arguments
        own = user_name(name)
        if own is not None:
            return f"{own}({', '.join(self.write(a)[0] for a in arguments)})"
        level = _LEVEL.get(name, _ATOM)
        sql = FUNCTIONS[name].sql
        match name:
            case "and" | "or" | "concat":
                return f" {sql} ".join(self._at(a, level + 1) for a in arguments)
            case "not":
                inner = arguments[0]
                if isinstance(inner, Call) and inner.function in ("is_null", "in", "like", "ilike"):
                    return self._negatable(inner, "NOT ")
                return f"NOT {self._at(arguments[0], level + 1)}"
            case "is_null" | "in" | "like" | "ilike":
                return self._negatable(call, "")
            case "negate" | "bit_not":
                return f"{sql}{self._at(arguments[0], _ATOM)}"
            case "cast":
                return self._cast(self.write(arguments[0])[0], arguments[0].type, call.type)
            case "round" if self._exact and len(arguments) == 2 and arguments[1].type is T.BIGINT:
                return f"ROUND({self.write(arguments[0])[0]}, CAST({self.write(arguments[1])[0]} AS INTEGER))"
            case "case":
                branches = "".join(
                    f" WHEN {self.write(arguments[i])[0]} THEN {self.write(arguments[i + 1])[0]}"
                    for i in range(0, len(arguments) - 1, 2)
                )
                return f"CASE{branches} ELSE {self.write(arguments[-1])[0]} END"
        if name in _LEVEL:
            left = self._at(arguments[0], level + (1 if level == _LEVEL["eq"] else 0))
            return f"{left} {sql} {self._at(arguments[1], level + 1)}"
        written = [self.write(argument)[0] for argument in arguments]
        listed = ", ".join(written)
        template = FUNCTIONS[name].duckdb if self._exact else ""
        return template.format(*written, args=listed) if template else f"{sql}({listed})"

    def _cast(self, operand: str, source: ColumnType, target: ColumnType) -> str:
        if not self._exact:
            return self._typed(operand, target)
        if source is T.STRING and target is T.TIMESTAMP:
            # DuckDB would pass over the offset in a text.
            return f"CAST(CAST({operand} AS TIMESTAMPTZ) AS TIMESTAMP)"
        text = self._typed(operand, target)
        if source is T.STRING and target is T.TIME:
            return f"nullif({text}, {END_OF_DAY})"
        if source is T.TIME and target is T.INTERVAL:
            return f"to_microseconds(epoch_us({operand}))"
        # The sign of NaN is the processor's choice.
        return f"replace({text}, '-nan', 'nan')" if source is T.DOUBLE and target is T.STRING else text

    def _negatable(self, call: Call, negation: str) -> str:
        """A predicate that takes its NOT inside: `x IS NOT NULL`, `x NOT IN (1, 2)`."""
        subject = self._at(call.arguments[0], _LEVEL["eq"] + 1)
        if call.function == "is_null":
            return f"{subject} IS {negation}NULL"
        if call.function == "in":
            members = ", ".join(self.write(a)[0] for a in call.arguments[1:])
            return f"{subject} {negation}IN ({members})"
        pattern = self._at(call.arguments[1], _LEVEL["eq"] + 1)
        return f"{subject} {negation}{FUNCTIONS[call.function].sql} {pattern}"
