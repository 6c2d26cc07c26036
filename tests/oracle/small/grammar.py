"""Random typed expressions in two spellings: Millrace's, and DuckDB's with what may raise inside `TRY`.

Millrace has NULL where DuckDB raises, as if every function stood inside `TRY(...)`. The two texts are made
side by side from one tree, so that nothing of Millrace's own reading reaches the reference.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias
from uuid import UUID

from optimizer.algebra.types import ColumnType

T = ColumnType
INTEGERS = (T.INT, T.BIGINT)
NUMBERS = (*INTEGERS, T.DOUBLE)
MOMENTS = (T.TIMESTAMP, T.DATE)
MONEY, RATE, WIDE = T.decimal(9, 2), T.decimal(18, 6), T.decimal(38, 10)
DECIMALS = (MONEY, RATE, WIDE)
AMOUNTS = (*NUMBERS, *DECIMALS)
VALUES = (*AMOUNTS, T.STRING, T.BOOLEAN, *MOMENTS, T.BINARY, T.UUID, T.TIME)
"""What columns hold; intervals only appear inside expressions."""
COLUMNS: Mapping[ColumnType, tuple[str, ...]] = {
    T.INT: ("i", "j"),
    T.BIGINT: ("l", "id"),
    T.DOUBLE: ("d", "x"),
    T.STRING: ("s", "u"),
    T.BOOLEAN: ("f",),
    T.TIMESTAMP: ("ts", "m"),
    T.DATE: ("y",),
    T.BINARY: ("b",),
    T.UUID: ("k",),
    T.TIME: ("t",),
    MONEY: ("p", "q"),
    RATE: ("r",),
    WIDE: ("w",),
}
_HOLE = re.compile(r"\{(\d)\}")


class Dice(random.Random):
    """Chance, and the functions that it may take."""

    forms: Forms


def dice(seed: str, plain: bool) -> Dice:
    """Chance for a seed; `plain` leaves few functions."""
    made = Dice(seed)
    made.forms = PLAIN if plain else FORMS
    return made


@dataclass(frozen=True, slots=True)
class Term:
    """An expression. In the texts of one that has parts, `{0}` stands for the first of them."""

    kind: ColumnType
    ours: str
    theirs: str
    parts: tuple[Term, ...] = ()
    alias: str | None = None
    """Of a column."""

    def text(self) -> str:
        """As Millrace reads it."""
        return _filled(self.ours, [part.text() for part in self.parts])

    def reference(self) -> str:
        """As DuckDB answers it."""
        return _filled(self.theirs, [part.reference() for part in self.parts])

    def aliases(self) -> frozenset[str]:
        """The inputs that it reads."""
        own = frozenset() if self.alias is None else frozenset({self.alias})
        return own.union(*(part.aliases() for part in self.parts))


@dataclass(frozen=True, slots=True)
class Form:
    """A way to make a value of some type out of others."""

    result: ColumnType
    parts: tuple[ColumnType, ...]
    ours: str
    theirs: str

    def of(self, parts: Sequence[Term]) -> Term:
        return Term(self.result, self.ours, self.theirs, tuple(parts))


def column(alias: str, name: str, kind: ColumnType) -> Term:
    return Term(kind, f"{alias}.{name}", f"{alias}.{name}", (), alias)


def term(chance: Dice, kind: ColumnType, aliases: Sequence[str], depth: int) -> Term:
    """A random expression over columns of some inputs, of at most so many levels of functions."""
    if depth <= 0 or not chance.forms[kind] or chance.random() < 0.2:
        return _leaf(chance, kind, aliases, depth)
    form = chance.choice(chance.choice(chance.forms[kind]))
    made = form.of([term(chance, part, aliases, depth - 1) for part in form.parts])
    if made.aliases() or kind is T.INTERVAL:
        return made
    # Of constants alone it would be computed while the text is read, or refused as a constant without value.
    return _read_somewhere(chance, made, aliases)


def reading(chance: Dice, kind: ColumnType, aliases: Sequence[str], depth: int) -> Term:
    """The same, and it reads every one of these inputs."""
    for _ in range(40):
        made = term(chance, kind, aliases, depth)
        if made.aliases() == frozenset(aliases):
            return made
    return column(aliases[0], chance.choice(COLUMNS[kind]), kind)


def compared(operator: str, first: Term, second: Term) -> Term:
    text = f"{{0}} {operator} {{1}}"
    return Term(T.BOOLEAN, text, _tried(text, (first.kind, second.kind)), (_closed(first), _closed(second)))


def between(value: Term, low: Term, high: Term) -> Term:
    text = "{0} BETWEEN {1} AND {2}"
    theirs = _tried(text, (value.kind, low.kind, high.kind))
    return Term(T.BOOLEAN, text, theirs, (_closed(value), _closed(low), _closed(high)))


def shifted(value: Term, operator: str, step: Term) -> Term:
    """A value plus or minus a constant; dates and intervals make timestamps."""
    kind = T.TIMESTAMP if value.kind in MOMENTS else _widest(value.kind, step.kind)
    return Term(kind, f"{{0}} {operator} {{1}}", f"TRY({{0}} {operator} {{1}})", (value, step))


def constant(chance: Dice, kind: ColumnType) -> Term:
    """A literal."""
    text = chance.choice(_CONSTANTS[kind])
    return Term(kind, text, text)


def _read_somewhere(chance: Dice, made: Term, aliases: Sequence[str]) -> Term:
    """The same with a column in the place of a constant; a leaf that has none becomes one."""
    if not made.parts:
        return column(chance.choice(aliases), chance.choice(COLUMNS[made.kind]), made.kind)
    able = [n for n, part in enumerate(made.parts) if part.kind is not T.INTERVAL]
    if not able:
        return _leaf(chance, made.kind, aliases, 9) if made.kind is not T.INTERVAL else made
    at = chance.choice(able)
    parts = tuple(_read_somewhere(chance, p, aliases) if n == at else p for n, p in enumerate(made.parts))
    return replace(made, parts=parts)


def _tried(text: str, kinds: Sequence[ColumnType]) -> str:
    """A comparison of a date with a timestamp casts the date, which not every timestamp can say."""
    return f"TRY({text})" if set(kinds) == set(MOMENTS) else text


def _closed(part: Term) -> Term:
    return part if not part.parts else Term(part.kind, "({0})", "({0})", (part,))


def _leaf(chance: Dice, kind: ColumnType, aliases: Sequence[str], depth: int) -> Term:
    if kind is T.INTERVAL:
        return constant(chance, kind)
    simple = chance.forms is FORMS or kind in INTEGERS
    if kind in _CONSTANTS and simple and depth < 2 and chance.random() < 0.35:
        return constant(chance, kind)
    return column(chance.choice(aliases), chance.choice(COLUMNS[kind]), kind)


def _filled(text: str, parts: Sequence[str]) -> str:
    return _HOLE.sub(lambda hole: parts[int(hole[1])], text) if parts else text


def _widest(*kinds: ColumnType) -> ColumnType:
    return max(kinds, key=NUMBERS.index)


_CONSTANTS: Mapping[ColumnType, tuple[str, ...]] = {
    T.INT: ("0", "1", "2", "3", "7", "10", "2147483647", "(-1)", "(-3)"),
    T.BIGINT: (
        "CAST(0 AS BIGINT)",
        "CAST(2 AS BIGINT)",
        "3000000000",
        "9223372036854775807",
        "(-3000000000)",
    ),
    T.DOUBLE: ("0e0", "1e0", "0.5e0", "1e-1", "1e1", "3e0", "(-0e0)", "1e308", "5e-324", "1e15", "(-2.5e0)"),
    T.STRING: ("''", "'a'", "'ab'", "'%'", "'_b%'", "'ü'", "' '", "'1'", "'日本'", "'it''s'"),
    T.BOOLEAN: ("TRUE", "FALSE"),
    T.TIMESTAMP: ("TIMESTAMP '2024-02-29 00:00:00'", "TIMESTAMP '1970-01-01 00:00:00.000001'"),
    T.DATE: ("DATE '2024-02-29'", "DATE '1969-12-31'"),
    T.TIME: ("TIME '12:00:00'", "TIME '00:00:00.000001'", "TIME '23:59'"),
    T.UUID: ("UUID 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", f"UUID '{UUID(int=0)}'"),
    MONEY: ("CAST(0 AS DECIMAL(9, 2))", "CAST('1.50' AS DECIMAL(9, 2))", "CAST('-0.01' AS DECIMAL(9, 2))"),
    RATE: ("CAST(0 AS DECIMAL(18, 6))", "CAST('2.500001' AS DECIMAL(18, 6))"),
    WIDE: ("CAST(0 AS DECIMAL(38, 10))", "CAST('-0.0000000001' AS DECIMAL(38, 10))"),
    T.INTERVAL: ("INTERVAL 1 SECOND", "INTERVAL 3 MINUTES", "INTERVAL 2 DAYS", "INTERVAL 0 SECONDS"),
}


def _numeric() -> Iterator[list[Form]]:
    for operator in "+-*":
        yield [
            Form(_widest(a, b), (a, b), f"({{0}} {operator} {{1}})", f"TRY({{0}} {operator} {{1}})")
            for a, b in product(NUMBERS, NUMBERS)
        ]
    yield [Form(T.DOUBLE, (a, b), "({0} / {1})", "TRY({0} / {1})") for a, b in product(NUMBERS, NUMBERS)]
    yield [
        Form(_widest(a, b), (a, b), "({0} // {1})", "TRY({0} // {1})") for a, b in product(INTEGERS, INTEGERS)
    ]
    for operator in "+-*":
        for kind in DECIMALS:
            # What a sum of two types is depends on both; a cast gives one that columns have.
            name, sum_ = str(kind).upper(), f"({{0}} {operator} {{1}})"
            yield [
                Form(kind, pair, f"CAST({sum_} AS {name})", f"TRY_CAST(TRY{sum_} AS {name})")
                for pair in product(DECIMALS, (*INTEGERS, MONEY, RATE))
            ]
    for name in ("ABS", "-"):
        yield [Form(a, (a,), f"{name}({{0}})", f"TRY({name}({{0}}))") for a in AMOUNTS]


def _functions() -> Iterator[list[Form]]:
    yield [Form(_widest(a, b), (a, b), "({0} % {1})", "TRY({0} % {1})") for a, b in product(NUMBERS, NUMBERS)]
    yield [Form(a, (a,), "ROUND({0})", "TRY(ROUND({0}))") for a in NUMBERS]
    yield [Form(a, (a, T.INT), "ROUND({0}, {1})", "TRY(ROUND({0}, {1}))") for a in NUMBERS]
    for name in ("FLOOR", "CEIL", "SQRT", "EXP", "LN", "SIN", "COS"):
        yield [Form(T.DOUBLE, (T.DOUBLE,), f"{name}({{0}})", f"TRY({name}({{0}}))")]
    yield [
        Form(T.DOUBLE, (a, b), "POWER({0}, {1})", "TRY(POWER({0}, {1}))") for a in NUMBERS for b in NUMBERS
    ]


def _conditions() -> Iterator[list[Form]]:
    for operator in ("=", "<>", "<", "<=", ">", ">="):
        pairs = [
            *((a, b) for a, b in product(AMOUNTS, AMOUNTS)),
            *((a, b) for a, b in product(MOMENTS, MOMENTS)),
        ]
        pairs += [(kind, kind) for kind in (T.STRING, T.BOOLEAN, T.BINARY, T.UUID, T.TIME, T.INTERVAL)]
        text = f"({{0}} {operator} {{1}})"
        yield [Form(T.BOOLEAN, pair, text, _tried(text, pair)) for pair in pairs]
    for operator in ("AND", "OR"):
        text = f"({{0}} {operator} {{1}})"
        yield [Form(T.BOOLEAN, (T.BOOLEAN, T.BOOLEAN), text, text)]
    yield [Form(T.BOOLEAN, (T.BOOLEAN,), "(NOT {0})", "(NOT {0})")]
    for text in ("({0} IS NULL)", "({0} IS NOT NULL)"):
        yield [Form(T.BOOLEAN, (kind,), text, text) for kind in VALUES]
    for text in ("({0} IN ({1}, {2}))", "({0} NOT IN ({1}, {2}))", "({0} BETWEEN {1} AND {2})"):
        ordered = (*AMOUNTS, T.STRING, *MOMENTS, T.UUID, T.TIME)
        yield [Form(T.BOOLEAN, (kind,) * 3, text, text) for kind in ordered]
    for name in ("STARTS_WITH", "ENDS_WITH", "CONTAINS"):
        text = f"{name}({{0}}, {{1}})"
        yield [Form(T.BOOLEAN, (T.STRING, T.STRING), text, text)]


def _patterns() -> Iterator[list[Form]]:
    for operator in ("LIKE", "NOT LIKE", "ILIKE"):
        text = f"({{0}} {operator} {{1}})"
        yield [Form(T.BOOLEAN, (T.STRING, T.STRING), text, text)]


def _texts() -> Iterator[list[Form]]:
    yield [Form(T.STRING, (T.STRING, T.STRING), "({0} || {1})", "({0} || {1})")]
    for name in ("LOWER", "UPPER", "TRIM"):
        yield [Form(T.STRING, (T.STRING,), f"{name}({{0}})", f"{name}({{0}})")]
    yield [Form(T.STRING, (T.STRING, T.INT), "SUBSTRING({0}, {1})", "TRY(SUBSTRING({0}, {1}))")]
    yield [
        Form(T.STRING, (T.STRING, T.INT, T.INT), "SUBSTRING({0}, {1}, {2})", "TRY(SUBSTRING({0}, {1}, {2}))")
    ]
    yield [Form(T.BIGINT, (T.STRING,), "LENGTH({0})", "LENGTH({0})")]


def _choices() -> Iterator[list[Form]]:
    for kind in VALUES:
        yield [Form(kind, (kind, kind), "COALESCE({0}, {1})", "COALESCE({0}, {1})")]
        yield [Form(kind, (kind, kind), "NULLIF({0}, {1})", "NULLIF({0}, {1})")]
        text = "CASE WHEN {0} THEN {1} ELSE {2} END"
        yield [Form(kind, (T.BOOLEAN, kind, kind), text, text)]
        if kind is not T.BINARY:
            for name in ("LEAST", "GREATEST"):
                yield [Form(kind, (kind, kind), f"{name}({{0}}, {{1}})", f"{name}({{0}}, {{1}})")]


def _casts() -> Iterator[list[Form]]:
    convertible = (*AMOUNTS, T.BOOLEAN)
    pairs = [(a, b) for a, b in product(convertible, convertible) if a is not b]
    pairs += [(T.TIMESTAMP, T.DATE), (T.DATE, T.TIMESTAMP)]
    pairs += [(T.STRING, kind) for kind in (*convertible, *MOMENTS, T.UUID)]
    pairs += [(kind, T.STRING) for kind in (*convertible, *MOMENTS, T.UUID)]
    pairs += [(T.TIMESTAMP, T.TIME), (T.TIME, T.STRING)]
    # DuckDB has an end of the day among its times.
    read = "nullif(TRY_CAST({0} AS TIME), TIME '24:00:00')"
    yield [Form(T.TIME, (T.STRING,), "CAST({0} AS TIME)", read)]
    for source, target in pairs:
        name = str(target).upper() if target is not T.STRING else "VARCHAR"
        yield [Form(target, (source,), f"CAST({{0}} AS {name})", f"TRY_CAST({{0}} AS {name})")]


def _moments() -> Iterator[list[Form]]:
    for operator in "+-":
        text = f"({{0}} {operator} {{1}})"
        yield [Form(T.TIMESTAMP, (kind, T.INTERVAL), text, f"TRY{text}") for kind in MOMENTS]
        yield [Form(T.DATE, (T.DATE, T.INT), text, f"TRY{text}")]
        # Ours is one number of 64 bits (docs/guide/sql.md, Types); DuckDB has days and microseconds.
        sum_us = f"TRY(epoch_us({{0}}))::HUGEINT {operator} TRY(epoch_us({{1}}))::HUGEINT"
        exact = f"{sum_us} BETWEEN -9223372036854775808 AND 9223372036854775807"
        yield [Form(T.INTERVAL, (T.INTERVAL, T.INTERVAL), text, f"CASE WHEN {exact} THEN TRY{text} END")]
    yield [Form(T.INTERVAL, (T.TIMESTAMP, T.TIMESTAMP), "({0} - {1})", "TRY({0} - {1})")]
    yield [Form(T.BIGINT, (T.DATE, T.DATE), "({0} - {1})", "TRY({0} - {1})")]
    for name in ("YEAR", "MONTH", "DAY", "DAYOFWEEK"):
        yield [Form(T.BIGINT, (kind,), f"{name}({{0}})", f"TRY({name}({{0}}))") for kind in MOMENTS]
    for name in ("HOUR", "MINUTE", "SECOND"):
        forms = (T.TIMESTAMP, T.TIME)
        yield [Form(T.BIGINT, (kind,), f"{name}({{0}})", f"TRY({name}({{0}}))") for kind in forms]
    for text in ("({0} + {1})", "({0} - {1})"):
        yield [Form(T.TIME, (T.TIME, T.INTERVAL), text, f"TRY{text}")]
    yield [Form(T.TIMESTAMP, (T.DATE, T.TIME), "({0} + {1})", "TRY({0} + {1})")]
    yield [Form(T.DOUBLE, (kind,), "EPOCH({0})", "TRY(EPOCH({0}))") for kind in (*MOMENTS, T.INTERVAL)]
    for unit in ("year", "month", "week", "day", "hour", "minute"):
        text = f"DATE_TRUNC('{unit}', {{0}})"
        yield [Form(T.TIMESTAMP, (T.TIMESTAMP,), text, f"TRY({text})")]


def _by_result(*groups: list[Form]) -> dict[ColumnType, list[list[Form]]]:
    """Of every type its functions, each with the types that it takes: functions are drawn evenly."""
    found: dict[ColumnType, list[list[Form]]] = {kind: [] for kind in (*VALUES, T.INTERVAL)}
    for group in groups:
        for kind, made in found.items():
            own = [form for form in group if form.result is kind]
            if own:
                made.append(own)
    return found


Forms: TypeAlias = Mapping[ColumnType, Sequence[Sequence[Form]]]
_PLAIN = (*_numeric(), *_conditions(), *_texts(), *_choices())
PLAIN: Forms = _by_result(*_PLAIN)
"""Without casts, patterns, mathematical functions and parts of moments, and with constants that are whole
numbers: where joins are what is tested."""
FORMS: Forms = _by_result(*_PLAIN, *_functions(), *_patterns(), *_casts(), *_moments())
