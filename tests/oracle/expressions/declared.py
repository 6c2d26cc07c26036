"""Random calls of functions as their declarations say, with constants that the functions can read."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from random import Random

from optimizer.algebra.expression import Call, Expression, Literal
from optimizer.algebra.functions import FUNCTIONS, Function
from optimizer.algebra.functions.declaration import TRUNCATIONS, WHOLE, WIDER
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import call
from optimizer.sql.binding.scalar.constants import check_constants

T = ColumnType
Draw = Callable[[ColumnType | None, Random], Expression]
_DAY = 86_400_000_000
_PATTERNS = (
    *("", ".", "a", "^a", "b$", "^$", "a|b", "[a-c]+", "[^a]", "(a)(b)?", "(.)(.)(.)", "a*?b", "a{2,3}"),
    *(
        r"\d+",
        r"\D",
        r"\w+",
        r"\W",
        r"\s",
        r"\S+",
        r"\bx",
        r"\B",
        r"\.",
        r"\\",
        "[[:alpha:]]+",
        "[[:^digit:]]",
    ),
    *(
        r"\pL",
        r"\p{Greek}",
        "(?s)a.b",
        "(?m)^b",
        "é",
        "😀",
        "ß",
        "(?i)AB",
        "(?i)ß",
        "(?i)σ",
        "(?i)k",
        r"\x{41}",
    ),
    *("[é-ü]", "(?:ab)+", r"\z", "^[0-9]+-([0-9]+)", "(?P<y>[0-9]{4})", "[+-]?[0-9]+", "%", "_"),
)
_CONSTANTS: dict[str, tuple[str | int, ...]] = {
    "pattern": _PATTERNS,
    "options": ("", "i", "c", "s", "m", "n", "l", "g", "ig", "gs"),
    "format": (
        *("%Y-%m-%d", "%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M:%S", "%c", "%x", "%X", "%A, %B %-d", "%j %U %W"),
        *("%y%m%d", "%f %g %n", "%u %w %V %G", "%%", "", "a", "%H:%M:%S.%f", "%I %p", "%b", "%s", "%Y %z"),
    ),
    "path": ("$", "$.a", "$.a.b", "a", "/a/b", "$[0]", "$[#-1]", "$.b[0]", '$."a"', "$.é", ""),
    "group": (0, 1, 2, 9),
    "count": (0, 1, 2, 3, 5),
    "truncation": TRUNCATIONS,
    "width": (1, 1000, 1_000_000, 7_000_000, 300_000_000, 3_600_000_000, _DAY, 7 * _DAY),
}
_LIKELY: dict[str, tuple[int, ...]] = {
    "year": (0, 1, 1900, 1970, 2012, 2013, 9999, 10_000, -44),
    "month": (0, 1, 2, 12, 13),
    "day": (1, 28, 29, 31, 32),
    "hour": (0, 12, 23, 24, 25),
    "minute": (0, 59, 60),
    "second": (0, 59, 60),
    "digits": (-400, -20, -3, -1, 0, 1, 2, 5, 16, 308, 400),
    "code": (0, 65, 233, 0x1F600, 0x10FFFF, 0x110000, 0xD800, -1),
    **dict.fromkeys(
        ("count", "index", "from", "length", "bits"), (-4, -2, -1, 0, 1, 2, 3, 5, 31, 32, 63, 64)
    ),
}
"""Numbers by the parameter for which they are often drawn."""


def declared_call(function: Function, kind: ColumnType, random: Random, draw: Draw) -> Expression:
    """A call of a function that gives a type, of arguments that `draw` makes of their types.

    Raises `ValueError` for constants that do not go together.
    """
    most = function.least + 2 if function.most is None else function.most
    made = call(
        function.name,
        *(_argument(function, n, kind, random, draw) for n in range(random.randint(function.least, most))),
    )
    fixed = function.constants(len(made.arguments)) if isinstance(made, Call) else ()
    if fixed and isinstance(made, Call):
        _checked(made.function, tuple((n, made.arguments[n]) for n in sorted(fixed)), made.type, _types(made))
    return made


def _argument(function: Function, place: int, kind: ColumnType, random: Random, draw: Draw) -> Expression:
    parameter = function.parameters[min(place, len(function.parameters) - 1)]
    if function.kind(place).constant:
        choices = _CONSTANTS.get(parameter.kind) or function.kind(place).choices
        return Literal(random.choice(choices), function.kind(place).types[0])
    types = function.kind(place).types
    if function.returns == WIDER:
        types = tuple(one for one in types if one is T.INT or one is kind)
    elif function.returns == parameter.name:
        types = (kind,)
    if parameter.name in _LIKELY and random.random() < 0.5:
        return Literal(random.choice(_LIKELY[parameter.name]), T.INT)
    if function.kind(place).decimals or T.DOUBLE in types:
        # Decimals too, of any type.
        types = (*types, None) if function.returns != parameter.name else types
    return draw(random.choice(types), random)


def _types(made: Call) -> tuple[ColumnType, ...]:
    return tuple(argument.type for argument in made.arguments)


@lru_cache(maxsize=4096)
def _checked(
    name: str,
    fixed: tuple[tuple[int, Expression], ...],
    result: ColumnType,
    types: tuple[ColumnType, ...],
) -> None:
    constants = dict(fixed)
    arguments = tuple(constants.get(n) or Literal(None, kind) for n, kind in enumerate(types))
    check_constants(Call(name, arguments, result))


def giving(kind: ColumnType) -> list[Function]:
    """The declared functions that can give a type."""
    return [
        function for function in FUNCTIONS.values() if function.rule == "signature" and _gives(function, kind)
    ]


def _gives(function: Function, kind: ColumnType) -> bool:
    if function.returns == WIDER:
        return kind in (T.INT, T.BIGINT)
    if function.returns == WHOLE:
        return kind is T.DOUBLE
    for place, parameter in enumerate(function.parameters):
        if parameter.name == function.returns:
            return kind in function.kind(place).types
    return kind.value == function.returns
