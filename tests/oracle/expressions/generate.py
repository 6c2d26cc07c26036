"""Random well-typed expressions over every function and operator."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from optimizer.algebra.expression import Call, Column, Expression, Literal, columns_of
from optimizer.algebra.functions.declaration import TRUNCATIONS
from optimizer.algebra.normalize import negation
from optimizer.algebra.types import PLAIN_TYPES, ColumnType
from optimizer.algebra.typing import TypeMismatch, call, cast
from tests.oracle.expressions.declared import declared_call, giving
from tests.oracle.expressions.values import COLUMNS, DECIMALS, literal, value

T = ColumnType
NUMBERS = (T.INT, T.BIGINT, T.DOUBLE)
COMPARABLE = (
    *NUMBERS,
    T.DOUBLE,
    *DECIMALS[:6],
    T.STRING,
    T.BOOLEAN,
    T.TIMESTAMP,
    T.DATE,
    T.INTERVAL,
    T.BINARY,
    T.UUID,
    T.TIME,
)
ROOTS = (
    T.BOOLEAN,
    T.BOOLEAN,
    T.BOOLEAN,
    T.INT,
    T.BIGINT,
    T.DOUBLE,
    T.DOUBLE,
    T.STRING,
    T.TIMESTAMP,
    T.DATE,
    T.BINARY,
    T.UUID,
    T.TIME,
    None,
    None,
)
"""None stands for any decimal type."""


def expression(kind: ColumnType | None, depth: int, random: Random) -> Expression:
    """An expression of a type with at most `depth` calls within calls; of any decimal type if None."""
    if kind is None:
        return _decimal(depth, random)
    if depth <= 0:
        return _leaf(kind, random)
    if kind.is_decimal and random.random() < 0.6:
        return cast(_decimal(depth - 1, random), kind)
    while True:
        try:
            made = random.choice(_MAKERS.get(kind, _OF_DECIMALS))(kind, depth - 1, random)
        except (TypeMismatch, ValueError):
            continue
        if made.type is kind and not negates_constant(made):
            return made


def _decimal(depth: int, random: Random) -> Expression:
    """A decimal of the type that its operators give it."""
    if depth <= 0:
        return _leaf(random.choice(DECIMALS), random)
    while True:
        first, second = (_number(depth - 1, random) for _ in range(2))
        name = random.choice(
            ("add", "subtract", "multiply", "modulo", "coalesce", "least", "greatest", "case", "")
        )
        try:
            if name == "case":
                made = call(name, _below(T.BOOLEAN, depth - 1, random), first, second)
            elif name:
                made = call(name, first, second)
            else:
                name = random.choice(("negate", "abs", "floor", "ceil", "round", "round_even", "trunc"))
                digits = Literal(random.choice((-40, -3, -1, 0, 1, 2, 5, 18, 40)), T.INT)
                rounds = name in ("round", "round_even", "trunc") and (
                    name == "round_even" or random.random() < 0.7
                )
                made = call(name, first, *((digits,) if rounds else ()))
        except TypeMismatch:
            continue
        if made.type.is_decimal and not negates_constant(made):
            return made


def _number(depth: int, random: Random) -> Expression:
    kind = random.choice((None, None, None, *NUMBERS))
    return expression(kind, random.choice((0, depth, depth - 1)), random)


def negates_constant(e: Expression) -> bool:
    """DuckDB negates the least constant as one of the next type, also where ROUND stands around it."""
    return isinstance(e, Call) and e.function == "negate" and not columns_of(e)


def _leaf(kind: ColumnType, random: Random) -> Expression:
    if random.random() < 0.35:
        found = literal(kind, None if random.random() < 0.1 else value(kind, random))
        if found is not None:
            return found
    return Column("x", random.choice([name for name, own in COLUMNS if own is kind]), kind)


def _below(kind: ColumnType | None, depth: int, random: Random) -> Expression:
    return expression(kind, random.choice((0, depth, depth - 1)), random)


Maker = Callable[[ColumnType, int, Random], Expression]


def _of(name: str, *kinds: ColumnType | tuple[ColumnType | None, ...]) -> Maker:
    """A call of arguments of the given types, or of one of several."""

    def make(kind: ColumnType, depth: int, random: Random) -> Expression:
        chosen = (random.choice(k) if isinstance(k, tuple) else k for k in kinds)
        return call(name, *(_below(k, depth, random) for k in chosen))

    return make


def _alike(*names: str) -> Maker:
    """A call of two or three arguments of the result's type, or of one that widens to it."""

    def make(kind: ColumnType, depth: int, random: Random) -> Expression:
        kinds = NUMBERS[: NUMBERS.index(kind) + 1] if kind in NUMBERS else (kind,)
        name = random.choice(names)
        arguments = [_below(random.choice(kinds), depth, random) for _ in range(random.choice((2, 2, 3)))]
        return call(name, *(arguments[:2] if name == "nullif" else arguments))

    return make


def _case(kind: ColumnType, depth: int, random: Random) -> Expression:
    kinds = NUMBERS[: NUMBERS.index(kind) + 1] if kind in NUMBERS else (kind,)
    arguments = []
    for _ in range(random.choice((1, 1, 2))):
        arguments += [_below(T.BOOLEAN, depth, random), _below(random.choice(kinds), depth, random)]
    if random.random() < 0.7:
        arguments.append(_below(random.choice(kinds), depth, random))
    return call("case", *arguments)


def _cast(kind: ColumnType, depth: int, random: Random) -> Expression:
    source = random.choice([other for other in (*PLAIN_TYPES, *DECIMALS) if other is not kind])
    return cast(_below(source, depth, random), kind)


def _comparison(kind: ColumnType, depth: int, random: Random) -> Expression:
    first = random.choice(COMPARABLE)
    second = random.choice((*NUMBERS, None)) if first.is_numeric else first
    if first in (T.TIMESTAMP, T.DATE):
        second = random.choice((T.TIMESTAMP, T.DATE))
    name = random.choice(("eq", "ne", "lt", "le", "gt", "ge", "eq", "in"))
    if name != "in":
        one = _below(first, depth, random)
        if first is T.BIGINT and random.random() < 0.3:
            # Neighbours, which doubles do not tell apart beyond 2^53.
            return call(name, one, call("add", one, Literal(random.choice((-1, 1)), T.BIGINT)))
        return call(name, one, _below(second, depth, random))
    kinds = (*NUMBERS, None) if first.is_numeric else (first,)
    members = [_below(random.choice(kinds), depth - 1, random) for _ in range(random.randint(1, 4))]
    return call("in", _below(first, depth, random), *members)


def _pattern(kind: ColumnType, depth: int, random: Random) -> Expression:
    text = _below(T.STRING, depth, random)
    if random.random() < 0.4:
        return call(random.choice(("like", "ilike")), text, _below(T.STRING, depth, random))
    pattern = "".join(random.choices("aAb%%__\\.é*c", k=random.randint(0, 6)))
    return call(random.choice(("like", "ilike")), text, Literal(pattern, T.STRING))


def _negation(kind: ColumnType, depth: int, random: Random) -> Expression:
    inner = _below(T.BOOLEAN, depth, random)
    return negation(inner) if random.random() < 0.5 else call("not", inner)


def _is_null(kind: ColumnType, depth: int, random: Random) -> Expression:
    return call("is_null", _below(random.choice((*PLAIN_TYPES, *DECIMALS)), depth, random))


def _arithmetic(kind: ColumnType, depth: int, random: Random) -> Expression:
    kinds = NUMBERS[: NUMBERS.index(kind) + 1]
    return call(
        random.choice(("add", "subtract", "multiply", "modulo")),
        *(
            _below(random.choice((kind, *kinds, *([None] * (kind is T.DOUBLE)))), depth, random)
            for _ in range(2)
        ),
    )


def _round(kind: ColumnType, depth: int, random: Random) -> Expression:
    value_ = _below(kind, depth, random)
    if random.random() < 0.4:
        return call("round", value_)
    if random.random() < 0.2:
        return call("round", value_, _below(T.INT, depth, random))
    return call("round", value_, Literal(random.choice((-400, -20, -3, -1, 0, 1, 2, 5, 16, 308, 400)), T.INT))


def _truncation(kind: ColumnType, depth: int, random: Random) -> Expression:
    unit = Literal(random.choice(TRUNCATIONS), T.STRING)
    return call("date_trunc", unit, _below(random.choice((T.TIMESTAMP, T.DATE)), depth, random))


def _substring(kind: ColumnType, depth: int, random: Random) -> Expression:
    bounds = [
        _below(random.choice((T.INT, T.BIGINT)), depth - 1, random) for _ in range(random.choice((1, 2)))
    ]
    return call("substring", _below(T.STRING, depth, random), *bounds)


def _concat(kind: ColumnType, depth: int, random: Random) -> Expression:
    kinds = [
        random.choice((T.STRING, T.STRING, *NUMBERS, None, T.DATE, T.TIMESTAMP, T.BOOLEAN, T.UUID, T.TIME))
        for _ in range(2)
    ]
    return call("concat", *(_below(k, depth - 1, random) for k in kinds))


def _days(kind: ColumnType, depth: int, random: Random) -> Expression:
    name = random.choice(("add", "subtract"))
    return call(name, _below(T.DATE, depth, random), _below(T.INT, depth, random))


def _between(kind: ColumnType, depth: int, random: Random) -> Expression:
    return call("subtract", _below(T.DATE, depth, random), _below(T.DATE, depth, random))


def _epoch(kind: ColumnType, depth: int, random: Random) -> Expression:
    """Seconds of a moment, or between two: intervals that are added keep days and seconds apart in DuckDB."""
    moments = [_below(random.choice(_MOMENTS), depth, random) for _ in range(2)]
    between = call("subtract", cast(moments[0], T.TIMESTAMP), moments[1])
    return call("epoch", random.choice((*moments, between, between, _leaf(T.INTERVAL, random))))


def _interval(kind: ColumnType, depth: int, random: Random) -> Expression:
    """The difference of two moments, or a sum that is no longer than what an interval can be."""
    first, second = (_leaf(T.INTERVAL, random) for _ in range(2))
    match random.randrange(5):
        case 0 | 1:
            return call(
                "subtract", _below(random.choice(_MOMENTS), depth, random), _below(T.TIMESTAMP, depth, random)
            )
        case 2:
            return call("negate", _below(T.INTERVAL, depth, random))
        case 3:
            return call(random.choice(("add", "subtract")), first, second)
        case _:
            return call("multiply", first, call("modulo", _below(T.INT, depth, random), Literal(1000, T.INT)))


def _declared(kind: ColumnType, depth: int, random: Random) -> Expression:
    """A call of any function that is known by its signature."""
    function = random.choice(_GIVING[kind])
    return declared_call(function, kind, random, lambda wanted, drawing: _below(wanted, depth, drawing))


_GIVING = {kind: giving(kind) for kind in PLAIN_TYPES}
_CHOICES: list[Maker] = [_alike("coalesce", "least", "greatest", "nullif"), _case]
_MOMENTS = (T.TIMESTAMP, T.DATE)
_OF_DECIMALS: list[Maker] = [_cast, _cast, *_CHOICES]
_MAKERS: dict[ColumnType, list[Maker]] = {
    T.BOOLEAN: [
        *[_comparison] * 6,
        *(_of(name, T.BOOLEAN, T.BOOLEAN) for name in ("and", "or")),
        *(_negation, _is_null, _pattern, _pattern, _cast, *_CHOICES),
        *[_declared] * 6,
    ],
    T.INT: [*[_arithmetic] * 3, _of("negate", T.INT), _round, _cast, *_CHOICES, *[_declared] * 5],
    T.BIGINT: [
        *[_arithmetic] * 3,
        *(_of("negate", T.BIGINT), _round, _cast, *_CHOICES, _between),
        *[_declared] * 8,
    ],
    T.DOUBLE: [
        *[_arithmetic] * 4,
        *[_of("divide", (*NUMBERS, None), (*NUMBERS, None))] * 3,
        *(_of("negate", T.DOUBLE), _round, _round, _cast, *_CHOICES, _epoch),
        *[_declared] * 8,
    ],
    T.STRING: [_substring, _concat, _cast, _cast, *_CHOICES, *[_declared] * 8],
    T.TIMESTAMP: [
        _of("add", _MOMENTS, T.INTERVAL),
        _of("subtract", _MOMENTS, T.INTERVAL),
        *(_truncation, _cast, *_CHOICES, *[_declared] * 4, _of("add", T.DATE, T.TIME)),
        _of("add", T.TIME, T.DATE),
    ],
    T.DATE: [_cast, _cast, *_CHOICES, _days, *[_declared] * 3],
    T.INTERVAL: [_interval],
    T.BINARY: [_cast, *_CHOICES, *[_declared] * 2],
    T.UUID: [_cast, _cast, *_CHOICES],
    T.TIME: [
        *(_of(name, T.TIME, T.INTERVAL) for name in ("add", "subtract")),
        _of("add", T.INTERVAL, T.TIME),
        *(_cast, _cast, *_CHOICES, _declared),
    ],
}
