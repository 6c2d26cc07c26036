"""Compile a probe rule, once per graph and process: read, join on, check, keep."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from jobs.expressions import compile_expression
from jobs.expressions.conversion import convert
from jobs.join.emit import emit_columns
from jobs.join.index_columns import lookups
from jobs.join.newest import Latest, latest_of
from jobs.join.range_join import Bound, Range
from jobs.join.range_predicates import ranges_of
from jobs.plan.event_time import FIRST_US, LAST_US, admits, earlier_than, later_than
from jobs.plan.index import RuleIndex
from jobs.plan.per_plan import PerPlan
from jobs.plan.tuples import ARRIVAL, LATE, column_name, ordinal
from optimizer.algebra.expression import Column, Expression, columns_of, inputs_of, rename_inputs
from optimizer.algebra.types import ColumnType, common_type
from optimizer.algebra.udf_names import calls_user_function
from optimizer.physical.rules import ProbeRule

_FURTHER = "@key of "
STORED_ARRIVAL, STORED_LATE, STORED_ORDINAL = "@stored arrival", "@stored late", "@stored ordinal"
_WHOLE = (ColumnType.BIGINT, ColumnType.INT, ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.BOOLEAN)


@dataclass(frozen=True, slots=True)
class Reach:
    """Event times of a stored input that the windows of given arriving tuples admit."""

    stored_time: str
    """Under its name in the tree."""
    position: int
    """Of the input in the store."""
    after: tuple[tuple[str, int], ...]
    """(arriving time column, window): not older than the arriving time minus the window."""
    before: tuple[tuple[str, int], ...]
    """(arriving time column, window): not newer than the arriving time plus the window."""

    def bounds(self, arriving: pl.DataFrame) -> tuple[int, int]:
        """Oldest and newest event time (us, inclusive) that any of the tuples can meet."""
        oldest, newest = FIRST_US, LAST_US
        for column, window in self.after:
            first: int = arriving.get_column(column).cast(pl.Int64).min()  # type: ignore[assignment]
            oldest = max(oldest, first - window)
        for column, window in self.before:
            last: int = arriving.get_column(column).cast(pl.Int64).max()  # type: ignore[assignment]
            newest = min(newest, last + window)
        return oldest, newest


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """A probe rule made ready."""

    arriving: list[str]
    """The columns of arriving tuples that are used."""
    stored: tuple[tuple[str, str], ...]
    """(column in the store, column in the tree) that are read."""
    lookups: tuple[tuple[str, pl.Expr], ...]
    """(column in the store, what arriving tuples ask of it): equalities that an index of a run knows."""
    probe_keys: tuple[str, ...]
    stored_keys: tuple[str, ...]
    """Columns that are equal, of the two sides; those that do not come along are in `computed`."""
    computed: tuple[tuple[pl.Expr, ...], tuple[pl.Expr, ...]]
    """What arriving and what stored tuples get as further columns, before they are joined. The library asks
    of expressions to join on that they be element by element, and not to name a column twice."""
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
    newest: tuple[str, ...]
    """By which of these columns the greatest partner alone is wanted, if there are any."""
    latest: Latest | None
    """How the newest partner is looked up, where that needs no pairs with older ones."""
    reaches: tuple[Reach, ...]


_PLANS: PerPlan[dict[str, ProbePlan]] = PerPlan(dict)
"""By rule, when it first gets work."""


def is_prepared(index: RuleIndex, rule: ProbeRule) -> bool:
    """True if the rule was made ready before."""
    return rule.id in _PLANS[index]


def plan_of(index: RuleIndex, rule: ProbeRule) -> ProbePlan:
    """The rule made ready, once per graph and process."""
    plan = _PLANS[index].get(rule.id)
    if plan is None:
        plan = _PLANS[index][rule.id] = _prepare(index, rule)
    return plan


def _prepare(index: RuleIndex, rule: ProbeRule) -> ProbePlan:
    store = index.stores[rule.store]
    in_tree = dict(rule.renames)
    in_store = {tree: stored for stored, tree in rule.renames}
    bound = frozenset(rule.bound)
    kept = {column for edge in rule.out for column in index.edges[edge].columns}
    kept |= emit_columns(index, rule.emits, (*rule.bound, *in_store))
    windows = index.unchecked_windows(rule)
    times = {name: column_name(index.time_column(name)) for name in (*rule.bound, *in_store)}
    expressions: list[Expression] = [*rule.predicates]
    equal: list[pl.Expr] = []
    whole: list[tuple[str, str]] = []
    probe_keys, stored_keys = _Keys("probe"), _Keys("stored")
    for equality in rule.equalities:
        stored = equality.stored
        if not inputs_of(stored) <= in_store.keys():
            stored = rename_inputs(stored, in_tree)
        common = common_type(equality.probe.type, stored.type)
        if (
            isinstance(equality.probe, Column)
            and isinstance(stored, Column)
            and equality.probe.type is stored.type
            and common in _WHOLE
        ):
            whole.append((column_name(equality.probe), column_name(stored)))
        expressions.extend((equality.probe, stored))
        values = (probe_keys.value(equality.probe, common), stored_keys.value(stored, common))
        if common is ColumnType.DOUBLE:
            # Polars may join doubles by merging, which does not find NaN = NaN: join their hashes,
            # then compare.
            equal.append(pl.col(values[0]) == pl.col(values[1]))
        for keys, name in zip((probe_keys, stored_keys), values, strict=True):
            keys.join_on(name, common)
    read = {column for expression in expressions for column in columns_of(expression)}
    read |= {index.time_column(name) for newer, older, _ in windows for name in (newer, older)}
    needed = {column_name(column): column for column in (*kept, *read)}
    between = tuple(
        (times[newer], times[older], window.reach_us)
        for newer, older, window in windows
        if window.reach_us is not None
    )
    arriving = {times[name] for name in bound}
    conditions = [
        admits(window, pl.col(times[newer]), pl.col(times[older])) for newer, older, window in windows
    ]
    conditions.extend(equal)
    costly = tuple(predicate for predicate in rule.predicates if calls_user_function(predicate))
    conditions.extend(compile_expression(p) for p in rule.predicates if p not in costly)
    reaches = tuple(
        Reach(
            times[tree],
            position,
            tuple((newer, us) for newer, older, us in between if older == times[tree] and newer in arriving),
            tuple((older, us) for newer, older, us in between if newer == times[tree] and older in arriving),
        )
        for position, tree in enumerate(in_tree[stored.input] for stored in store.inputs)
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
        probe_keys=tuple(probe_keys.names),
        stored_keys=tuple(stored_keys.names),
        computed=(tuple(probe_keys.computed), tuple(stored_keys.computed)),
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
        newest=tuple(column_name(column) for column in rule.newest),
        latest=None if equal else latest_of(rule),
        reaches=reaches,
    )


class _Keys:
    """The columns of one side that are joined on."""

    def __init__(self, side: str) -> None:
        self._side = side
        self._values: dict[str, pl.Expr] = {}
        self.names: list[str] = []
        self.computed: list[pl.Expr] = []

    def value(self, expression: Expression, common: ColumnType) -> str:
        """The column of an expression's values, in the type in which they are compared."""
        if isinstance(expression, Column) and expression.type is common:
            return column_name(expression)
        value = convert(compile_expression(expression), expression.type, common)
        name = self._further(value)
        self._values[name] = value
        return name

    def join_on(self, name: str, kind: ColumnType) -> None:
        """Join on a column too; on what doubles are hashed to."""
        if kind is ColumnType.DOUBLE:
            name = self._further(_hashed(self._values.get(name, pl.col(name))))
        elif name in self.names:
            name = self._further(pl.col(name))
        self.names.append(name)

    def _further(self, expression: pl.Expr) -> str:
        name = f"{_FURTHER}{self._side} {len(self.computed)}"
        self.computed.append(expression.alias(name))
        return name


def _hashed(doubles: pl.Expr) -> pl.Expr:
    """Equal numbers for equal doubles (-0.0 = 0.0, NaN = NaN), NULL for NULL."""
    return pl.when(doubles.is_nan()).then(0).when(doubles.is_not_null()).then((doubles + 0.0).hash())


def _ties(rule: ProbeRule, base: bool) -> bool | tuple[int, ...]:
    """Which stored tuples with the start's arrival number are older than it."""
    start = ordinal(rule.start)
    if base:
        ((_, tree),) = rule.renames
        return ordinal(tree) < start
    return tuple(sorted({ordinal(stored) for stored, tree in rule.renames if ordinal(tree) < start}))


def _order(rule: ProbeRule, base: bool) -> pl.Expr:
    """The stored tuple's (arrival, ordinal) comes before that of the start."""
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
            *(Bound(earlier_than(pl.col(column), window), "ge") for column, window in reach.after),
            *(Bound(later_than(pl.col(column), window), "le") for column, window in reach.before),
        ),
    )
