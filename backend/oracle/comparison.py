"""Two multisets of results, one from the job and one from DuckDB, batch by batch."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

from pydantic import BaseModel

from backend.oracle.published import Published
from backend.streams.values import shown
from optimizer.algebra.types import ColumnType

MOST_EXAMPLES = 3
"""Rows of each side that a person is shown."""
Row = tuple[object, ...]
_ALIKE_DIGITS = 6
"""Of floats by which rows are put together that may be near."""
_NEAR = 1e-9
"""How far floats may be apart, of the greater: sums and moments are rounded otherwise in DuckDB."""


class Examples(BaseModel, frozen=True, extra="forbid"):
    """Results that only one side has, at most MOST_EXAMPLES: columns, values as JSON."""

    missing: tuple[dict[str, object], ...] = ()
    extra: tuple[dict[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Undecided:
    """Results of one batch that are known in part.

    Each may be none at all.
    """

    places: tuple[int, ...]
    """Of a result, what is known."""
    rows: Counter[Row]
    """The values at these places."""

    def among(self, rows: Counter[Row]) -> Counter[Row]:
        """Those of some results that these may be.

        >>> Undecided((0,), Counter({("a",): 1})).among(Counter({("a", 7): 2, ("b", 7): 1}))
        Counter({('a', 7): 1})
        """
        left, found = Counter(self.rows), Counter[Row]()
        for row, many in rows.items():
            known = tuple(row[place] for place in self.places)
            taken = min(many, left[known])
            if taken:
                found[row] = taken
                left[known] -= taken
        return found


NOTHING_UNDECIDED = Undecided((), Counter())


@dataclass(frozen=True, slots=True)
class Expected:
    """DuckDB's results of one batch."""

    required: Counter[Row]
    """Those that the query must have published."""
    possible: Counter[Row]
    """And those that it may have: their partners arrived late, or before the query had full windows."""
    undecided: Undecided = NOTHING_UNDECIDED
    """Beside these."""


@dataclass(frozen=True, slots=True)
class Difference:
    expected: int
    """Results that must be there."""
    compared: int
    """Published results that were compared by their values."""
    undecided: int
    """Results that were left out."""
    missing: int
    extra: int
    examples: Examples


def compare(
    names: Sequence[str],
    expected: Mapping[int, Expected],
    told: Mapping[int, int],
    tail: Mapping[int, Published],
    in_sample: Callable[[Row], bool] | None = None,
) -> Difference:
    """What is missing and what is too much.

    Where the tail has a batch whole, values are compared. Where it was cut, what is left of it must be
    possible and the number that the job told must fit; of a sample nobody told a number.

    Args:
        names: the query's outputs, in order.
        expected: DuckDB's results, by batch.
        told: how many results the job told of each batch.
        tail: what the live tail has of each batch.
        in_sample: says of a published result whether it belongs to the sample that `expected` is of; None if
            that is all results.
    """
    missing: Counter[Row] = Counter()
    extra: Counter[Row] = Counter()
    uncounted_missing = uncounted_extra = compared = undecided = required = 0
    for batch, wanted in expected.items():
        part = tail[batch]
        rows = Counter(as_row(names, row) for row in part.rows)
        if in_sample is not None:
            rows = Counter({row: many for row, many in rows.items() if in_sample(row)})
        for row, twin in near_pairs(rows, wanted.required | wanted.possible):
            rows -= Counter([row])
            rows[twin] += 1
        rows -= wanted.undecided.among(rows - wanted.possible)
        undecided += wanted.undecided.rows.total()
        compared += rows.total()
        wrong = rows - wanted.possible
        extra += wrong
        if part.whole:
            missing += wanted.required - rows
        if in_sample is not None:
            required += wanted.required.total() if part.whole else 0
            continue
        required += wanted.required.total()
        # What the job counted and the tail no longer has, or never had, can only be counted.
        lacking = 0 if part.whole else max(0, wanted.required.total() - told[batch])
        uncounted_missing += lacking
        most = wanted.possible.total() + wanted.undecided.rows.total()
        uncounted_extra += max(0, told[batch] - most - wrong.total())
    return Difference(
        expected=required,
        compared=compared,
        undecided=undecided,
        missing=missing.total() + uncounted_missing,
        extra=extra.total() + uncounted_extra,
        examples=Examples(missing=_examples(names, missing), extra=_examples(names, extra)),
    )


def near_pairs(rows: Counter[Row], others: Counter[Row]) -> list[tuple[Row, Row]]:
    """Pair rows that differ by floats that are near.

    Each is in one pair; of several others the first is taken.

    >>> near_pairs(Counter({("a", 1.00000000001): 1, ("b", 2.0): 1}), Counter({("a", 1.0): 1, ("b", 3.0): 1}))
    [(('a', 1.00000000001), ('a', 1.0))]
    """
    unmatched = rows - others
    if not any(isinstance(value, float) for row in unmatched for value in row):
        return []
    free = others - rows
    alike: dict[Row, list[Row]] = {}
    for row in others:
        if row in free:
            alike.setdefault(_about(row), []).append(row)
    found = []
    for row in unmatched.elements():
        twin = next((one for one in alike.get(_about(row), ()) if free[one] and _are_near(row, one)), None)
        if twin is not None:
            found.append((row, twin))
            free[twin] -= 1
    return found


def _about(row: Row) -> Row:
    return tuple(float(f"{value:.{_ALIKE_DIGITS}g}") if isinstance(value, float) else value for value in row)


def _are_near(row: Row, other: Row) -> bool:
    return all(
        one == two
        or (isinstance(one, float) and isinstance(two, float) and math.isclose(one, two, rel_tol=_NEAR))
        for one, two in zip(row, other, strict=True)
    )


def as_row(names: Sequence[str], published: Mapping[str, object]) -> Row:
    """A published result as something to compare; a column that it lacks is NULL."""
    return tuple(_number(published.get(name)) for name in names)


def as_published(values: Iterable[object], types: Sequence[ColumnType]) -> Row:
    """DuckDB's values as the job publishes them (`jobs.sinks.redis_tail.to_json`).

    >>> as_published([1.0, float("nan"), b"a"], [ColumnType.DOUBLE, ColumnType.DOUBLE, ColumnType.BINARY])
    (1.0, None, 'YQ==')
    """
    return tuple(_value(value, kind) for value, kind in zip(values, types, strict=True))


def _value(value: object, kind: ColumnType) -> object:
    match value:
        case float() if not math.isfinite(value):
            return None
        case timedelta():
            return _number(value.total_seconds())
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return format(value, "f")
        case UUID():
            return str(value)
        case time():
            return value.isoformat()
        case datetime() | date():
            return shown(value)
        case int() if kind is ColumnType.DOUBLE:
            return _number(float(value))
        case _:
            return _number(value)


def _number(value: object) -> object:
    """A number for comparison.

    Equal numbers are equal whatever their type and sign of zero; floats to 12 digits.
    """
    return float(f"{value:.12g}") + 0.0 if isinstance(value, float) else value


def _examples(names: Sequence[str], rows: Counter[Row]) -> tuple[dict[str, object], ...]:
    first = sorted(rows, key=repr)[:MOST_EXAMPLES]
    return tuple(dict(zip(names, row, strict=True)) for row in first)
