"""What one row of a function costs, where its declaration leaves that to us."""

from __future__ import annotations

import random
from functools import cache
from time import process_time
from uuid import UUID

import pyarrow as pa

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.expression import Expression
from optimizer.algebra.types import ColumnType
from optimizer.algebra.udf_names import user_calls, user_name
from optimizer.udf.arrow import ARROW_TYPES
from optimizer.udf.loading import load
from optimizer.udf.registry import FunctionRegistry, UserFunction

_ROWS = 512
_TRIALS = 5
_IMAGE_BYTES = 4_096


def cost_us(function: UserFunction) -> float:
    """Processor microseconds for one row: as declared, else measured once per process.

    A measurement is the best of a few trials over 512 made-up rows, rounded to 1, 2 or 5 times a power of
    ten, so that a machine's noise rarely changes a plan.

    Raises `InputError` if a function to be measured raises for such rows.
    """
    return _measured(function) if function.cost_us is None else function.cost_us


def costs_us(functions: FunctionRegistry, expression: Expression) -> dict[str, float]:
    """Microseconds per row of every user function that an expression calls, by name.

    Raises `KeyError` for one that is not among `functions`.
    """
    found = {}
    for name in sorted({str(user_name(call.function)) for call in user_calls(expression)}):
        function = functions.find(name)
        if function is None:
            raise KeyError(name)
        found[name] = cost_us(function)
    return found


@cache
def _measured(function: UserFunction) -> float:
    columns = examples(function)
    implementation = load(function.path)
    best = float("inf")
    try:
        for _ in range(_TRIALS):
            begun = process_time()
            implementation(*columns)
            best = min(best, process_time() - begun)
    except Exception as error:
        found = f"{function.name} raised {type(error).__name__}: {error}"
        place = Place(function.path)
        raise InputError("bad-functions", place, found, "cost_us in microseconds, declared") from error
    return rounded(best / _ROWS * 1e6)


def rounded(value: float) -> float:
    """The next of ..., 0.1, 0.2, 0.5, 1, 2, 5, ... that is not smaller.

    >>> rounded(0.013), rounded(3.0), rounded(0.0)
    (0.02, 5.0, 0.001)
    """
    exponent = -3
    while True:
        for digit in (1, 2, 5):
            # Written as text, so that the same step is the same number on every machine.
            step = float(f"{digit}e{exponent}")
            if value <= step:
                return step
        exponent += 1


def examples(function: UserFunction) -> tuple[pa.Array, ...]:
    """Rows to measure with, the same in every process.

    Texts are of 24 letters, binaries of 4 KiB.
    """
    chance = random.Random(function.name)

    def value(kind: ColumnType) -> object:
        match kind:
            case ColumnType.STRING:
                return "".join(chance.choices("abcdefghij klmnop", k=24))
            case ColumnType.UUID:
                return str(UUID(int=chance.getrandbits(128)))
            case ColumnType.BINARY:
                return chance.randbytes(_IMAGE_BYTES)
            case ColumnType.DOUBLE:
                return chance.uniform(-100.0, 100.0)
            case ColumnType.BOOLEAN:
                return chance.random() < 0.5
            case _:
                return chance.randrange(1_000)

    return tuple(
        pa.array([value(kind) for _ in range(_ROWS)]).cast(ARROW_TYPES[kind])
        if kind is not ColumnType.DATE
        else pa.array([chance.randrange(1_000) for _ in range(_ROWS)], pa.int32()).cast(pa.date32())
        for kind in function.arguments
    )
