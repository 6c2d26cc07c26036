"""Queries whose conditions on event times say how long tuples are needed."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from optimizer.algebra.types import ColumnType
from tests.oracle.small.grammar import Dice, Term, between, column, compared, shifted
from tests.oracle.small.workload import SmallQuery

T = ColumnType
_STEPS = tuple(
    f"INTERVAL {length}"
    for length in (
        "0 SECONDS",
        "1 SECOND",
        "2 SECONDS",
        "1500 MILLISECONDS",
        "5 SECONDS",
        "'-1' SECOND",
        "2 DAYS",
    )
)


def in_time(chance: Dice, query: SmallQuery) -> SmallQuery:
    """The query with conditions on event times, mostly in the place of its windows."""
    if len(query.inputs) == 1:
        return query
    inputs = tuple(i if chance.random() < 0.25 else replace(i, window_us=None) for i in query.inputs)
    aliases = [i.alias for i in inputs]
    chance.shuffle(aliases)
    chain = [_moments(chance, *pair) for pair in pairwise(aliases)]
    more = [_moments(chance, *chance.sample(aliases, 2)) for _ in range(chance.choice((0, 1, 1, 2)))]
    others = tuple(p for p in query.predicates if chance.random() < 0.6)
    return replace(query, inputs=inputs, predicates=(*others, *chain, *more))


def _moments(chance: Dice, new: str, old: str) -> Term:
    """A condition on the event times of two inputs, or one that leads there by way of another column."""
    value, other = (column(alias, "ts", T.TIMESTAMP) for alias in (new, old))
    if chance.random() < 0.1:
        value = column(chance.choice((new, old)), "m", T.TIMESTAMP)
    low, high, step = (Term(T.INTERVAL, text, text) for text in chance.choices(_STEPS, k=3))
    operator = chance.choice(("<", "<=", "=", ">", ">="))
    drawn = chance.random()
    if drawn < 0.35:
        return between(value, shifted(other, "-", low), shifted(other, "+", high))
    if drawn < 0.6:
        return compared(operator, value, shifted(other, chance.choice("+-"), step))
    if drawn < 0.7:
        return compared(operator, shifted(value, chance.choice("+-"), step), shifted(other, "+", low))
    if drawn < 0.8:
        return compared(operator, value, other)
    if drawn < 0.9:
        difference = Term(T.INTERVAL, "({0} - {1})", "TRY({0} - {1})", (value, other))
        return compared(chance.choice(("<", "<=")), difference, step)
    unit = chance.choice(("second", "minute", "day"))
    text = f"DATE_TRUNC('{unit}', {{0}})"
    truncated = (
        Term(T.TIMESTAMP, text, f"TRY({text})", (side,)) for side in (value, shifted(other, "+", step))
    )
    return compared(operator, *truncated)
