"""The queries that come and go: drawn from a seed, each written for Millrace and for DuckDB."""

from __future__ import annotations

import random
from datetime import timedelta

from tests.oracle.workload import ID, GeneratedInput, GeneratedQuery
from tests.soak.tuples import VALUES

MOST_OUTPUTS = 4
_SHAPES: tuple[tuple[tuple[tuple[str, str], ...], tuple[str, ...]], ...] = (
    ((("x", "r"), ("y", "s")), ("x.a = y.a",)),
    ((("x", "s"), ("y", "t")), ("x.b = y.b",)),
    ((("x", "r"), ("y", "s"), ("z", "t")), ("x.a = y.a", "y.b = z.b")),
    ((("x", "r"), ("y", "r")), ("x.a = y.a", "x.v <= y.v")),
    ((("x", "r"), ("y", "s")), ("x.a = y.a", "x.v - y.v BETWEEN -200 AND 200")),
    ((("x", "s"), ("y", "t"), ("z", "t")), ("x.b = y.b", "x.b = z.b", "y.v < z.v")),
)
"""Aliases with their streams, and predicates that join them."""
_THETA: tuple[tuple[tuple[str, str], ...], tuple[str, ...]] = ((("x", "r"), ("y", "t")), ("x.v < y.v",))
"""Nothing is equal here: only with strong filters on both sides."""


def draw_query(seed: int, number: int) -> GeneratedQuery:
    """The query of a number; the first ones show every shape."""
    chance = random.Random(f"query {seed} {number}")
    if number % (len(_SHAPES) + 1) == len(_SHAPES):
        sources, predicates = _THETA
        filters = [f"{alias}.v % 50 = {chance.randrange(50)}" for alias, _ in sources]
    else:
        sources, predicates = _SHAPES[number % (len(_SHAPES) + 1)]
        filtered = chance.choice([alias for alias, _ in sources])
        least = chance.randrange(0, VALUES * 9 // 10)
        filters = [f"{filtered}.v BETWEEN {least} AND {least + chance.randrange(50, 100)}"]
    windows = [chance.choice((2, 4, 6, 8)) for _ in sources]
    if len(filters) > 1:
        windows = [1 for _ in sources]
    inputs = tuple(
        GeneratedInput(alias, stream, timedelta(seconds=window))
        for (alias, stream), window in zip(sources, windows, strict=True)
    )
    outputs = [f"{i.alias}.{ID} AS o{position}" for position, i in enumerate(inputs)]
    outputs.append(f"{inputs[0].alias}.v + {inputs[-1].alias}.v AS o{len(inputs)}")
    conditions = (*predicates, *filters)
    tables = ", ".join(
        f"{i.stream} [RANGE {window} SECONDS] AS {i.alias}" for i, window in zip(inputs, windows, strict=True)
    )
    text = f"SELECT {', '.join(outputs)}\nFROM {tables}\nWHERE {' AND '.join(conditions)}\n"
    return GeneratedQuery(f"q{number:04d}", inputs, conditions, tuple(outputs), text)
