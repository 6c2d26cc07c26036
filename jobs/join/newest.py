"""As-of joins: of each tuple's partners only the newest.

Of several of one event time it is the greatest by what is read of them, so that neither the order in which
they came nor the tasks in which they lie decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from jobs.expressions import compile_expression
from jobs.expressions.dtypes import DTYPES
from jobs.join.range_join import Bound, Range, Stretches, number_keys, stretches
from jobs.plan.tuples import ARRIVAL, column_name
from optimizer.algebra.expression import Call, Column, Literal, inputs_of
from optimizer.algebra.udf_names import calls_user_function
from optimizer.physical.rules import Found, ProbeRule


@dataclass(frozen=True, slots=True)
class Latest:
    """A look-up of the newest partner among tuples sorted by key and event time."""

    range: Range
    """The event times that partners may have."""
    filters: tuple[pl.Expr, ...]
    """Conditions on stored tuples alone: others are no candidates."""


def latest_of(rule: ProbeRule) -> Latest | None:
    """The look-up of a rule that wants the newest partner.

    There is none if other conditions than equalities, the inequality of event times and windows decide who is
    a candidate: then pairs are formed and checked.
    """
    if not rule.newest:
        return None
    filters: list[pl.Expr] = []
    bounds: list[Bound] = []
    for predicate in rule.predicates:
        if calls_user_function(predicate):
            return None
        if inputs_of(predicate).isdisjoint(rule.bound):
            filters.append(compile_expression(predicate))
            continue
        match predicate:
            case Call(function="le" | "lt" as comparison, arguments=(stored, Column() as later)) if (
                stored == rule.newest[0] and later.input in rule.bound
            ):
                bounds.append(Bound(pl.col(column_name(later)).to_physical(), comparison))
            case Call(
                function="le" | "lt",
                arguments=(Call(function="subtract", arguments=(Column(), earlier)), Literal()),
            ) if earlier == rule.newest[0]:
                pass  # As a window: what it excludes it excludes of all older ones too.
            case _:
                return None
    time = pl.col(column_name(rule.newest[0])).to_physical()
    return Latest(Range(time, tuple(bounds)), tuple(filters)) if len(bounds) == 1 else None


def latest_stretches(
    latest: Latest,
    arriving: pl.DataFrame,
    stored: pl.DataFrame,
    probe_keys: Sequence[str],
    stored_keys: Sequence[str],
) -> Stretches:
    """Per arriving tuple, the newest stored ones of its key.

    Several have one event time, if there are several. Windows that exclude them exclude all older ones.
    """
    if latest.filters:
        stored = stored.filter(*latest.filters)
    keys = number_keys(arriving, stored, probe_keys, stored_keys) if probe_keys else None
    found = stretches(arriving, stored, latest.range, keys)
    if not len(found.order):
        return found
    times = stored.select(latest.range.stored).to_series().to_numpy()[found.order]
    fresh = np.concatenate(([True], times[1:] != times[:-1]))
    if keys is not None:
        numbers = keys.stored[found.order]
        fresh[1:] |= numbers[1:] != numbers[:-1]
    first_alike = np.maximum.accumulate(np.where(fresh, np.arange(len(fresh)), 0))
    ends = found.begins + found.lengths
    begins = np.where(found.lengths > 0, first_alike[np.maximum(ends, 1) - 1], found.begins)
    return replace(found, begins=begins, lengths=ends - begins)


def newest_of_each(pairs: pl.DataFrame, order: Iterable[str]) -> pl.DataFrame:
    """Take, of each arriving tuple's pairs, that with the greatest stored one.

    NULL is the least of all values, NaN the greatest.

    >>> pairs = pl.DataFrame({ARRIVAL: [7, 7, 8], "q.at": [1, 2, 1], "q.x": [5.0, 0.5, None]})
    >>> newest_of_each(pairs, ["q.at", "q.x"]).rows()
    [(7, 2, 0.5), (8, 1, None)]
    """
    if pairs.height < 2:
        return pairs
    by = [pl.col(ARRIVAL), *(expression for name in order for expression in _ordered(pairs, name))]
    return pairs.sort(by, nulls_last=False).unique(ARRIVAL, keep="last", maintain_order=True)


def _ordered(pairs: pl.DataFrame, name: str) -> Sequence[pl.Expr]:
    value = pl.col(name)
    if not pairs.schema[name].is_float():
        return (value,)
    # 0.0 comes behind -0.0, which equals it.
    return value, pl.when(value == 0).then(1 / value)


def with_newest(found: Found, rows: pl.DataFrame, hits: pl.DataFrame | None) -> pl.DataFrame:
    """Join what is due with the newest of the partners that any task has found.

    Where there is none columns are NULL, or the row goes, if it must have one.
    """
    names = [column_name(column) for column in found.newest]
    if hits is None:
        empty = [pl.lit(None, DTYPES[column.type]).alias(column_name(column)) for column in found.newest]
        return rows.clear().with_columns(empty) if found.present else rows.with_columns(empty)
    partners = newest_of_each(hits, names).select(ARRIVAL, *names)
    return rows.join(partners, on=ARRIVAL, how="inner" if found.present else "left", maintain_order="left")
