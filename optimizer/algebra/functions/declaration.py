"""How a function is declared: its signature as text, what it does, and an example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from optimizer.algebra.types import ColumnType, rounded_type

T = ColumnType
Rule = Literal[
    "signature",  # as its parameters and its result say
    "boolean",  # all arguments boolean -> boolean
    "comparison",  # comparable arguments -> boolean
    # Numeric -> the wider numeric type. Besides: timestamp - timestamp -> interval, timestamp +- interval
    # -> timestamp, interval +- interval and interval * integer and - interval -> interval. Dates among
    # them are cast to timestamps; date - date and date +- integer become calls of the above.
    "arithmetic",
    "any_boolean",  # anything -> boolean, never NULL
    "first",  # arguments of one comparable type -> that type
    "case",  # boolean, value, boolean, value, ..., otherwise value -> the values' common type
    "cast",  # anything -> the call's own type
    "written",  # no function of expressions: binding makes other calls of it
]
WHOLE = "whole"
"""The result type of a function that gives whole numbers: doubles, or decimals of decimals."""
WIDER = "wider"
"""The result type of a function that gives the widest of its arguments' types."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a parameter takes."""

    types: tuple[ColumnType, ...]
    """The first is that of NULL."""
    words: str
    """What an error says was expected."""
    constant: bool = False
    becomes: ColumnType | None = None
    """The type to which SQL casts an argument by itself."""
    choices: tuple[str, ...] = ()
    """The words of which a constant is one."""
    range: tuple[int, int] | None = None
    """The least and the largest of constant whole numbers and intervals, in microseconds."""
    decimals: bool = False
    """Whether decimals are taken as they are; where doubles are taken, others become doubles."""

    def takes(self, kind: ColumnType) -> bool:
        """True if an argument may have a type without being converted to a double."""
        return kind in self.types or (self.decimals and kind.is_decimal)


_TEXTS = (T.STRING, T.BIGINT, T.INT, T.DOUBLE, T.BOOLEAN, T.TIMESTAMP, T.DATE, T.UUID, T.TIME)
TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")
_UNITS = (*TRUNCATIONS, "microsecond", "decade", "century", "millennium")
END_OF_DAY = "TIME '24:00:00'"
"""What DuckDB has as a time, and no day has."""
MOST_CHARACTERS = 10_000
"""What REPEAT, LPAD and RPAD count to, so that no tuple fills the memory of a worker."""
KINDS: Mapping[str, Kind] = {
    "string": Kind((T.STRING,), "string"),
    "text": Kind(_TEXTS, "string", becomes=T.STRING, decimals=True),
    "boolean": Kind((T.BOOLEAN,), "boolean"),
    "int": Kind((T.INT,), "an int"),
    "integer": Kind((T.BIGINT, T.INT), "an integer"),
    "number": Kind((T.BIGINT, T.INT, T.DOUBLE), "a number"),
    "amount": Kind((T.BIGINT, T.INT, T.DOUBLE), "a number", decimals=True),
    "binary": Kind((T.BINARY,), "binary"),
    "clock": Kind((T.TIMESTAMP, T.DATE, T.TIME), "a timestamp or a time"),
    "uuid": Kind((T.UUID,), "a UUID"),
    "moment": Kind((T.TIMESTAMP, T.DATE), "a timestamp"),
    "timestamp": Kind((T.TIMESTAMP, T.DATE), "a timestamp", becomes=T.TIMESTAMP),
    "time": Kind((T.TIMESTAMP, T.DATE, T.INTERVAL, T.TIME), "a timestamp, an interval or a time"),
    "unit": Kind((T.STRING,), f"one of {', '.join(_UNITS)}", constant=True, choices=_UNITS),
    "truncation": Kind((T.STRING,), f"one of {', '.join(TRUNCATIONS)}", constant=True, choices=TRUNCATIONS),
    "pattern": Kind((T.STRING,), "a pattern in quotes", constant=True),
    "options": Kind((T.STRING,), "options in quotes, such as 'i'", constant=True),
    "format": Kind((T.STRING,), "a format in quotes, such as '%Y-%m-%d'", constant=True),
    "path": Kind((T.STRING,), "a path in quotes, such as '$.a.b'", constant=True),
    "group": Kind((T.INT,), "a whole number from 0 to 9", constant=True, range=(0, 9)),
    "count": Kind(
        (T.INT,), f"a whole number from 0 to {MOST_CHARACTERS}", constant=True, range=(0, MOST_CHARACTERS)
    ),
    "width": Kind(
        (T.INTERVAL,), "an interval above 0, such as INTERVAL 5 MINUTES", constant=True, range=(1, 2**63 - 1)
    ),
    "any": Kind((), "a value"),
}
"""What the second word of a parameter means."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter by its name, as completion shows it, and by its kind."""

    name: str
    kind: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function or an operator."""

    name: str
    sql: str
    """How it is written, for error messages and explanations."""
    least: int
    most: int | None
    rule: Rule
    aliases: tuple[str, ...] = ()
    """Other names under which DuckDB knows it."""
    parameters: tuple[Parameter, ...] = ()
    """None of an operator. The last may be repeated where `most` is None."""
    returns: str = ""
    """A column type, `wider`, `whole`, or the parameter whose argument's type it is."""
    help: str = ""
    """One line for completion and the guide; empty for operators."""
    example: str = ""
    duckdb: str = ""
    """How DuckDB is asked, with {0}, {1} or {args}; as it is written if empty."""
    shown: str = ""
    """What completion shows where that is no list of parameters."""

    @property
    def signature(self) -> str:
        """What completion shows, such as `SUBSTRING(text, from, length?)`."""
        if self.shown:
            return self.shown
        names = [f"{p.name}{'?' * p.optional}" for p in self.parameters]
        return f"{self.sql}({', '.join(names if self.most is not None else [*names, '...'])})"

    def kind(self, position: int) -> Kind:
        """The kind of the argument at a position, from 0."""
        return KINDS[self.parameters[min(position, len(self.parameters) - 1)].kind]

    def constants(self, arguments: int) -> frozenset[int]:
        """The positions at which constants have to stand."""
        return frozenset(n for n in range(arguments) if self.parameters and self.kind(n).constant)

    def result(self, types: Sequence[ColumnType]) -> ColumnType:
        """The type of a call of arguments of the given types."""
        if self.returns == WHOLE:
            return rounded_type(types[0]) if types[0].is_decimal else T.DOUBLE
        if self.returns == WIDER:
            return max(types, key=(T.INT, T.BIGINT, T.DOUBLE).index)
        names = [parameter.name for parameter in self.parameters]
        return types[names.index(self.returns)] if self.returns in names else T(self.returns)


def operator(
    name: str, sql: str, least: int, most: int | None, rule: Rule, aliases: tuple[str, ...] = ()
) -> Function:
    """An operator whose typing has a rule of its own."""
    return Function(name, sql, least, most, rule, aliases)


def declared(
    signature: str,
    help: str = "",
    example: str = "",
    *,
    name: str = "",
    aliases: tuple[str, ...] = (),
    rule: Rule = "signature",
    duckdb: str = "",
    shown: str = "",
) -> Function:
    """A function as its signature says.

    In `LPAD(text string, length count, fill string) -> string` a parameter is a name and a kind (`KINDS`);
    `?` behind the name makes it optional, and `...` at the end repeats the last.

    >>> made = declared("TRIM(text string, characters? string) -> string", "Text without what surrounds it.")
    >>> made.name, made.least, made.most, made.signature
    ('trim', 1, 2, 'TRIM(text, characters?)')
    """
    head, returns = signature.split(" -> ")
    written, _, inside = head.removesuffix(")").partition("(")
    parts = [part.split() for part in inside.split(", ") if part]
    repeated = bool(parts) and parts[-1] == ["..."]
    parameters = tuple(
        Parameter(part[0].removesuffix("?"), part[1], part[0].endswith("?"))
        for part in (parts[:-1] if repeated else parts)
    )
    return Function(
        name or written.lower(),
        written,
        sum(not parameter.optional for parameter in parameters),
        None if repeated else len(parameters),
        rule,
        aliases,
        parameters,
        returns,
        help,
        example,
        duckdb,
        shown,
    )
