"""User functions over columns: NULL in, NULL out, and one bad row spoils no other.

A function never sees NULL: a row with a NULL argument has the answer NULL. A row for which it raises
has the answer NULL too, and only that row: where a call raises, both halves of its rows are
tried, and so on down to single rows. The answer is therefore a function of the row alone, whatever
the batch it came in, as for every other expression that has no value (`jobs.expressions`).
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from optimizer.udf.arrow import ARROW_TYPES
from optimizer.udf.loading import load
from optimizer.udf.registry import UserFunction

_ROWS = 8_192
"""At most so many rows in one call: enough to be vectorized, few enough to stay in a cache."""
_BYTES = 64 * 2**20
"""At most so many bytes of arguments in one call, but for single rows that have more: pairs repeat
their tuples, so that images in them take much more memory than in a store."""

failures: Counter[str] = Counter()
"""By function: rows for which it raised, in this process."""

_noted: dict[tuple[str, str], str] = {}
"""By function and arguments, what was raised for some of these rows; see `drain_failures`."""
_MOST_NOTED = 20
_ERROR_CHARACTERS = 300
_VALUE_CHARACTERS = 200

_LOG = logging.getLogger(__name__)
_COUNTING = Lock()
"""Polars may call a function from several of its threads at once."""


class BadAnswer(ValueError):
    """A function gave something else than one value of its type for every row."""


def evaluate(function: UserFunction, columns: Sequence[pa.Array]) -> pa.Array:
    """The function's answers, row by row.

    >>> from optimizer.algebra.types import ColumnType
    >>> text = (ColumnType.STRING, ColumnType.STRING)
    >>> path = "optimizer.udf.library.text:similarity"
    >>> function = UserFunction("similarity", path, text, ColumnType.DOUBLE, 0.3)
    >>> evaluate(function, (pa.array(["ab", None]), pa.array(["ab", "x"]))).to_pylist()
    [1.0, None]

    Args:
        columns: one per argument, of equal length, in the types of `optimizer.udf.arrow`.

    Returns:
        As many values of the function's type; NULL where an argument is or where it raised. Such rows
        are counted in `failures`, and the first of them, the tenth, the hundredth... are logged.
    """
    rows = len(columns[0])
    known: pa.Array | None = None
    for column in columns:
        if column.null_count:
            valid = column.is_valid()
            known = valid if known is None else pc.and_(known, valid)
    if known is None:
        return _answers(function, columns)
    inside = known.to_numpy(zero_copy_only=False)
    answers = _answers(function, [column.filter(known) for column in columns])
    positions = np.cumsum(inside) - 1
    return answers.take(pa.array(positions, pa.int64(), mask=~inside)) if rows else answers


def _answers(function: UserFunction, columns: Sequence[pa.Array]) -> pa.Array:
    kind, rows = ARROW_TYPES[function.returns], len(columns[0])
    width = sum(column.nbytes for column in columns) // rows + 1 if rows else 1
    at_once = max(1, min(_ROWS, _BYTES // width))
    parts = [
        part
        for first in range(0, rows, at_once)
        for part in _tried(function, [column.slice(first, at_once) for column in columns])
    ]
    return pa.concat_arrays(parts) if parts else pa.array([], kind)


def _tried(function: UserFunction, columns: Sequence[pa.Array]) -> Iterator[pa.Array]:
    rows, kind = len(columns[0]), ARROW_TYPES[function.returns]
    try:
        answer = _typed(load(function.path)(*columns), rows, kind)
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # Whatever a function raises, its rows have no answer: that is counted and told, never hidden.
        if rows == 1:
            _note(function.name, error, columns)
            yield pa.nulls(1, kind)
            return
        half = rows // 2
        for first, count in ((0, half), (half, rows - half)):
            yield from _tried(function, [column.slice(first, count) for column in columns])
    else:
        yield answer


def _typed(answer: object, rows: int, kind: pa.DataType) -> pa.Array:
    if isinstance(answer, pa.ChunkedArray):
        answer = answer.combine_chunks()
    typed = answer.cast(kind) if isinstance(answer, pa.Array) else pa.array(answer, type=kind)
    if len(typed) != rows:
        raise BadAnswer(f"{len(typed)} answers for {rows} rows")
    return typed


def drain_failures() -> list[tuple[str, str, str]]:
    """Take some of the rows on which functions raised since the last call.

    Each comes with function, error and arguments.
    """
    with _COUNTING:
        found = [(name, error, arguments) for (name, arguments), error in sorted(_noted.items())]
        _noted.clear()
        return found


def _note(name: str, error: BaseException, columns: Sequence[pa.Array]) -> None:
    with _COUNTING:
        failures[name] += 1
        count = failures[name]
        if len(_noted) < _MOST_NOTED:
            # As Arrow writes them: it knows moments that Python does not.
            values = [str(column[0])[:_VALUE_CHARACTERS] for column in columns]
            said = " ".join(f"{type(error).__name__}: {error}".split())
            _noted[name, json.dumps({"arguments": values}, ensure_ascii=False)] = said[:_ERROR_CHARACTERS]
    if count == 10 ** (len(str(count)) - 1):
        _LOG.warning(
            "function %s raised %s: %s; the row counts as NULL (%d so far)",
            name,
            type(error).__name__,
            error,
            count,
        )
