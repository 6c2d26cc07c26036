"""A probe rule made ready: what to read, join on, check and keep. Made once per graph and process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from jobs.bounds import ranges_of
from jobs.emission import emit_columns
from jobs.expressions import compile_expression
from jobs.expressions.dtypes import common_type, convert
from jobs.lookup import lookups
from jobs.message import ARRIVAL, LATE, column_name, ordinal
from jobs.ranges import Bound, Range
from jobs.rules import RuleIndex
from optimizer.expression import Column, Expression, columns_of, inputs_of, rename_inputs
from optimizer.graph import ProbeRule
from optimizer.types import ColumnType
from optimizer.udf.names import calls_user_function

STORED_ARRIVAL, STORED_LATE, STORED_ORDINAL = "@stored arrival", "@stored late", "@stored ordinal"
_WHOLE = (ColumnType.BIGINT, ColumnType.INT, ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.BOOLEAN)


@dataclass(frozen=True, slots=True)
class Reach:
    """Which event times of one stored input the windows admit, beside given arriving tuples."""

    stored_time: str
    """Under its name in the tree."""
    position: int
    """Of the input in the store."""
    after: tuple[tuple[str, int], ...]
    """(arriving time column, window): not older than the arriving time minus the window."""
    before: tuple[tuple[str, int], ...]
    """(arriving time column, window): not newer than the arriving time plus the window."""

    def bounds(self, arriving: pl.DataFrame) -> tuple[int, int]:
        """Oldest and newest event time in microseconds, inclusive, that any of the tuples can meet."""
        oldest, newest = _FIRST, _LAST
        for column, window in self.after:
            first: int = arriving.get_column(column).cast(pl.Int64).min()  # type: ignore[assignment]
            oldest = max(oldest, first - window)
        for column, window in self.before:
            last: int = arriving.get_column(column).cast(pl.Int64).max()  # type: ignore[assignment]
            newest = min(newest, last + window)
        return oldest, newest


_FIRST, _LAST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """A probe rule made ready."""

    arriving: list[str]
    """The columns of arriving tuples that are used."""
    stored: tuple[tuple[str, str], ...]
    """(column in the store, column in the tree) that are read."""
    lookups: tuple[tuple[str, pl.Expr], ...]
    """(column in the store, what arriving tuples ask of it): equalities that an index of a run knows."""
    probe_keys: tuple[pl.Expr, ...]
    stored_keys: tuple[pl.Expr, ...]
    ranges: tuple[Range, ...]
    """Windows and inequalities between the two sides, for joins without keys or with few values."""
    conditions: tuple[pl.Expr, ...]
    """What to check of a pair besides the keys, the order and `costly`; implies `ranges`."""
    costly: tuple[Expression, ...]
    """What calls user functions, to be checked last and in this order."""
    order: pl.Expr
    """True where the start tuple is the newer one."""
    whole_keys: tuple[tuple[str, str], ...]
    """(arriving, stored) columns, under their names in the tree, that all keys are, if keys are nothing but
    columns of whole numbers, times and booleans; otherwise empty."""
    windows: tuple[tuple[str, str, int], ...]
    """(newer, older) time columns and how many microseconds apart they may be; `conditions` has them too."""
    only_windows: bool
    """True if there is nothing to check besides keys, windows and the order."""
    ties: bool | tuple[int, ...]
    """Whether a start tuple also meets a stored one with its own arrival number; for an intermediate result,
    the ordinals of stored tuples for which it does."""
    kept: tuple[str, ...]
    """The columns of `outputs`, but for the position."""
    outputs: tuple[pl.Expr, ...]
    reaches: tuple[Reach, ...]


def plan_of(index: RuleIndex, rule: ProbeRule) -> ProbePlan:
    """The rule made ready, once per graph and process."""
    plan = index.probe_plans.get(rule.id)
    if plan is None:
        plan = index.probe_plans[rule.id] = _prepare(index, rule)
    return plan


def _prepare(index: RuleIndex, rule: ProbeRule) -> ProbePlan:
    store = index.stores[rule.store]
    in_store = {tree: stored for stored, tree in rule.renames}
    bound = frozenset(rule.bound)
    kept = {column for edge in rule.out for column in index.edges[edge].columns}
    kept |= emit_columns(index, rule.emits, (*rule.bound, *in_store))
    windows = index.unchecked_windows(rule)
    times = {name: column_name(index.time_column(name)) for name in (*rule.bound, *in_store)}
    expressions: list[Expression] = [*rule.predicates]
    probe_keys, stored_keys, equal = [], [], []
    whole: list[tuple[str, str]] = []
    probe_names: set[str] = set()
    stored_names: set[str] = set()
    for equality in rule.equalities:
        stored = equality.stored
        if not inputs_of(stored) <= in_store.keys():
            stored = rename_inputs(stored, dict(rule.renames))
        common = common_type(equality.probe.type, stored.type)
        if (
            isinstance(equality.probe, Column)
            and isinstance(stored, Column)
            and equality.probe.type is stored.type
            and common in _WHOLE
        ):
            whole.append((column_name(equality.probe), column_name(stored)))
        arriving_key = convert(compile_expression(equality.probe), equality.probe.type, common)
        stored_key = convert(compile_expression(stored), stored.type, common)
        if common is ColumnType.DOUBLE:
            # Polars may join doubles by merging, which does not find NaN = NaN: join their hashes,
            # then compare.
            equal.append(arriving_key == stored_key)
            arriving_key, stored_key = _hashed(arriving_key), _hashed(stored_key)
        expressions.extend((equality.probe, stored))
        names = (arriving_key.meta.output_name(), stored_key.meta.output_name())
        if names[0] in probe_names or names[1] in stored_names:
            # Polars joins on a column once: what else it must equal is compared behind.
            equal.append(arriving_key == stored_key)
            continue
        probe_names.add(names[0])
        stored_names.add(names[1])
        probe_keys.append(arriving_key)
        stored_keys.append(stored_key)
    read = {column for expression in expressions for column in columns_of(expression)}
    read |= {index.time_column(name) for newer, older, _ in windows for name in (newer, older)}
    needed = {column_name(column): column for column in (*kept, *read)}
    between = tuple((times[newer], times[older], window) for newer, older, window in windows)
    conditions = [_elapsed(newer, older) <= window for newer, older, window in between]
    conditions.extend(equal)
    costly = tuple(predicate for predicate in rule.predicates if calls_user_function(predicate))
    conditions.extend(compile_expression(p) for p in rule.predicates if p not in costly)
    reaches = tuple(
        Reach(
            times[tree],
            position,
            tuple(
                (times[newer], window) for newer, older, window in windows if older == tree and newer in bound
            ),
            tuple(
                (times[older], window) for newer, older, window in windows if newer == tree and older in bound
            ),
        )
        for position, tree in enumerate(_tree_names(rule, [stored.input for stored in store.inputs]))
    )
    late = [(pl.col(LATE) | pl.col(STORED_LATE)).alias(LATE)] if index.marks_late else []
    return ProbePlan(
        arriving=[
            *(name for name in sorted(needed) if needed[name].input in bound),
            ARRIVAL,
            *((LATE,) if index.marks_late else ()),
        ],
        stored=tuple(
            (f"{in_store[needed[name].input]}.{needed[name].name}", name)
            for name in sorted(needed)
            if needed[name].input in in_store
        ),
        lookups=tuple(
            (lookup.column, convert(compile_expression(lookup.sought), lookup.sought.type, lookup.common))
            for lookup in lookups(rule)
        ),
        probe_keys=tuple(probe_keys),
        stored_keys=tuple(stored_keys),
        ranges=(
            *(_window(reach) for reach in reaches if reach.after or reach.before),
            *ranges_of(rule.predicates, bound),
        ),
        conditions=tuple(conditions),
        costly=costly,
        order=_order(rule, store.is_base),
        whole_keys=tuple(whole) if len(whole) == len(rule.equalities) else (),
        windows=between,
        only_windows=not rule.predicates,
        ties=_ties(rule, store.is_base),
        kept=tuple(sorted({column_name(column) for column in kept})),
        outputs=(
            *(pl.col(name) for name in sorted({column_name(column) for column in kept})),
            pl.col(ARRIVAL),
            *late,
        ),
        reaches=reaches,
    )


def _tree_names(rule: ProbeRule, inputs: Sequence[str]) -> list[str]:
    names = dict(rule.renames)
    return [names[name] for name in inputs]


def _hashed(doubles: pl.Expr) -> pl.Expr:
    """Equal numbers for equal doubles (-0.0 = 0.0, NaN = NaN), NULL for NULL."""
    return pl.when(doubles.is_nan()).then(0).when(doubles.is_not_null()).then((doubles + 0.0).hash())


def _elapsed(newer: str, older: str) -> pl.Expr:
    return pl.col(newer).to_physical() - pl.col(older).to_physical()


def _ties(rule: ProbeRule, base: bool) -> bool | tuple[int, ...]:
    """Which stored tuples with the start tuple's own arrival number are older than it, under this tree's
    names."""
    start = ordinal(rule.start)
    if base:
        ((_, tree),) = rule.renames
        return ordinal(tree) < start
    return tuple(sorted({ordinal(stored) for stored, tree in rule.renames if ordinal(tree) < start}))


def _order(rule: ProbeRule, base: bool) -> pl.Expr:
    """(arrival, ordinal) of the stored tuple, under this tree's names, before that of the start."""
    ties = _ties(rule, base)
    if isinstance(ties, bool):
        stored = pl.col(STORED_ARRIVAL)
        return stored <= pl.col(ARRIVAL) if ties else stored < pl.col(ARRIVAL)
    return (pl.col(STORED_ARRIVAL) < pl.col(ARRIVAL)) | (
        (pl.col(STORED_ARRIVAL) == pl.col(ARRIVAL)) & pl.col(STORED_ORDINAL).is_in(ties)
    )


def _window(reach: Reach) -> Range:
    return Range(
        pl.col(reach.stored_time).to_physical(),
        (
            *(Bound(pl.col(column).to_physical() - window, "ge") for column, window in reach.after),
            *(Bound(pl.col(column).to_physical() + window, "le") for column, window in reach.before),
        ),
    )
