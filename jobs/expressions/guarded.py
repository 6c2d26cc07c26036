"""Guarded evaluation: a row that raises gets no value, is noted, and others go on.

An expression is evaluated over whole columns, and as a whole it raises. Who catches that evaluates
the same again with guards (`guard`): each function is then tried on all rows, on their halves and so on
down to the rows for which it raises, whose value is NULL. So a value remains a function of the row alone,
as for everything else that has no value (`jobs.expressions`), whatever batch the row came in. Expressions
that raise nothing are never guarded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

import polars as pl

from jobs.expressions.dtypes import DTYPES
from jobs.expressions.readable import readable
from jobs.plan.tuples import column_name
from optimizer.algebra.expression import Call, Column, Expression, Literal, walk
from optimizer.physical.rules import Emit, ProbeRule

Compile = Callable[[Expression], pl.Expr]
GUARD = "@guarded"
"""The function of a guarded expression: its value is that of the first argument. The other ones are columns
that are told beside those that it reads, the event time first."""
MOST_NOTED = 10
"""Rows of one expression that are noted between two drains; further ones are only counted."""
_ERROR_CHARACTERS = 300
"""Of an error in a dead letter."""
_TRANSPARENT = frozenset({"and", "eq", "ne", "lt", "le", "gt", "ge", "add", "subtract", "abs"})
"""Functions that raise for no row, through which `jobs.join.range_predicates` looks for the ranges of a
join."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A row for which an expression raised."""

    expression: Expression
    error: str
    """One line."""
    values: str
    """The columns of the row that the expression reads, and those told beside them, as a JSON object by
    `input.column`."""
    event_time_us: int | None = None


class _Notes:
    """What guarded expressions raised in this process.

    Polars evaluates in several threads at once.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._rows: dict[Expression, dict[str, Raised]] = {}
        self._counts: Counter[Expression] = Counter()

    def add(self, expression: Expression, rows: int, noted: Sequence[Raised]) -> None:
        with self._lock:
            self._counts[expression] += rows
            known = self._rows.setdefault(expression, {})
            for one in noted:
                if len(known) < MOST_NOTED:
                    known.setdefault(one.values, one)

    def drain(self) -> tuple[int, tuple[Raised, ...]]:
        """How many rows raised since the last call of this, and some of them."""
        if not self._counts:
            return 0, ()
        with self._lock:
            count = self._counts.total()
            # Threads note in any order.
            rows = tuple(known[values] for known in self._rows.values() for values in sorted(known))
            self._counts.clear()
            self._rows.clear()
            return count, rows


notes = _Notes()


def raised_by_a_row(error: BaseException) -> bool:
    """True if an error may be one that evaluating some row raises, and no other row.

    Want of memory, files and connections are nobody's row. Polars tells of some of its errors by a panic,
    which is no `Exception`.

    >>> raised_by_a_row(ZeroDivisionError()), raised_by_a_row(OSError()), raised_by_a_row(SystemExit())
    (True, False, False)
    """
    if isinstance(error, pl.exceptions.PanicException):
        return True
    return isinstance(error, Exception) and not isinstance(error, (MemoryError, OSError))


def one_line(error: BaseException) -> str:
    """An error on one line.

    >>> one_line(ValueError("no\\nsuch  thing"))
    'ValueError: no such thing'
    """
    # Polars repeats the whole expression behind the first paragraph.
    said, *_ = str(error).split("\n\nThis error occurred", 1)
    return f"{type(error).__name__}: {' '.join(said.split())}"[:_ERROR_CHARACTERS]


def guard(expression: Expression, beside: Sequence[Column] = ()) -> Expression:
    """The same expression, NULL for rows for which it raises."""
    return Call(GUARD, (expression, *beside), expression.type) if isinstance(expression, Call) else expression


def guarded_emit(leaf: Emit, beside: Sequence[Column]) -> Emit:
    """A leaf with guarded expressions."""
    return replace(
        leaf,
        residuals=tuple(guard(condition, beside) for condition in leaf.residuals),
        outputs=tuple((name, guard(value, beside)) for name, value in leaf.outputs),
    )


def guarded_rules(rule: ProbeRule) -> Iterator[ProbeRule]:
    """A probe rule with guarded expressions: ranges still seen, then all guarded."""
    for whole in (False, True):
        yield replace(
            rule,
            id=f"{rule.id}{GUARD}{' whole' if whole else ''}",
            equalities=tuple(
                replace(equality, probe=guard(equality.probe), stored=guard(equality.stored))
                for equality in rule.equalities
            ),
            predicates=tuple(guard(p) if whole else _guard_terms(p) for p in rule.predicates),
        )


def _guard_terms(expression: Expression) -> Expression:
    if isinstance(expression, Call) and expression.function in _TRANSPARENT:
        return replace(expression, arguments=tuple(_guard_terms(one) for one in expression.arguments))
    return guard(expression)


def guarded(call: Call, compile_expression: Compile) -> pl.Expr:
    """The Polars expression for a call of `GUARD`, compiled by `compile_expression`."""
    expression, *beside = call.arguments
    columns = [node for argument in call.arguments for node in walk(argument) if isinstance(node, Column)]
    names = list(dict.fromkeys(column_name(column) for column in columns))
    if not names:
        return pl.lit(_value(expression, None, compile_expression, pl.DataFrame({"": [0]})))
    time = next((column_name(column) for column in beside if isinstance(column, Column)), None)
    return pl.map_batches(
        [pl.col(name) for name in names],
        partial(_value_of, expression, time, compile_expression),
        return_dtype=DTYPES[expression.type],
        is_elementwise=True,
    )


def _value_of(
    expression: Expression, time: str | None, compile_expression: Compile, columns: Sequence[pl.Series]
) -> pl.Series:
    return _value(expression, time, compile_expression, pl.DataFrame(columns)).alias(columns[0].name)


def _value(
    expression: Expression, time: str | None, compile_expression: Compile, frame: pl.DataFrame
) -> pl.Series:
    failed: dict[int, str] = {}
    value = _evaluated(expression, compile_expression, frame, failed)
    if failed:
        rows = sorted(failed)
        some = frame[rows[:MOST_NOTED]]
        texts = readable(some.select(name for name in some.columns if name))
        times = some.get_column(time).to_physical().to_list() if time else [None] * some.height
        noted = [
            Raised(expression, failed[row], text, moment)
            for row, text, moment in zip(rows, texts, times, strict=False)
        ]
        notes.add(expression, len(rows), noted)
    return value


def _evaluated(
    expression: Expression, compile_expression: Compile, frame: pl.DataFrame, failed: dict[int, str]
) -> pl.Series:
    """The value of every row; rows that raise are added to `failed` with the error."""
    match expression:
        case Column():
            return frame.get_column(column_name(expression))
        case Literal():
            return pl.select(compile_expression(expression)).to_series().new_from_index(0, frame.height)
        case Call():
            # Each function by itself, over the values of its arguments. Constants stay where they are: some
            # functions look at them while they are compiled.
            values = {
                place: _evaluated(argument, compile_expression, frame, failed)
                for place, argument in enumerate(expression.arguments)
                if not isinstance(argument, Literal)
            }
            arguments = tuple(
                Column("@", str(place), argument.type) if place in values else argument
                for place, argument in enumerate(expression.arguments)
            )
            compiled = compile_expression(replace(expression, arguments=arguments))
            table = pl.DataFrame([value.alias(f"@.{place}") for place, value in values.items()])
            if not values:
                table = pl.DataFrame({"": pl.repeat(0, frame.height, eager=True)})
            return _tried(compiled, DTYPES[expression.type], table, failed)


def _tried(
    compiled: pl.Expr, kind: pl.DataType, table: pl.DataFrame, failed: dict[int, str], first: int = 0
) -> pl.Series:
    rows = table.height
    try:
        value = table.select(compiled.alias("value")).to_series()
        return value if len(value) == rows else value.new_from_index(0, rows)
    except BaseException as error:
        if not raised_by_a_row(error):
            raise
        if rows == 1 or (first == 0 and rows and _raises_without_rows(compiled, table)):
            # Also for a constant that no row can change.
            failed.update(dict.fromkeys(range(first, first + rows), one_line(error)))
            return pl.Series([None], dtype=kind).new_from_index(0, rows)
    half = rows // 2
    parts = ((table[:half], first), (table[half:], first + half))
    return pl.concat([_tried(compiled, kind, part, failed, begin) for part, begin in parts])


def _raises_without_rows(compiled: pl.Expr, table: pl.DataFrame) -> bool:
    try:
        table.clear().select(compiled)
    except BaseException as error:
        if not raised_by_a_row(error):
            raise
        return True
    return False
