"""The local join: arriving tuples meet a store's runs.

Runs that no window can reach are left out by their time range; the rest is one hash join on the
equalities and one filter with everything else. Without equalities an inequality between the two
sides drives a range join, and failing that, the pairs that the windows admit are formed in pieces
of bounded size. There is never a loop over tuples.

Where a bound is given, a step that would make more ends with `TooMany` before it fills the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from jobs.bounds import ranges_of
from jobs.emission import emit_columns
from jobs.expressions import compile_expression
from jobs.expressions.dtypes import common_type, convert
from jobs.expressions.screen import staged
from jobs.lookup import lookups
from jobs.message import ARRIVAL, LATE, ORDINAL, column_name, ordinal
from jobs.ranges import Bound, Range, Stretches, best_range, best_stretches, number_keys, pieces, stretches
from jobs.rules import RuleIndex
from jobs.runs import RunRef
from jobs.store import PartitionState
from optimizer.expression import Expression, columns_of, inputs_of, rename_inputs
from optimizer.graph import ProbeRule
from optimizer.types import ColumnType
from optimizer.udf.names import calls_user_function

_STORED_ARRIVAL, _STORED_LATE, _STORED_ORDINAL = "@stored arrival", "@stored late", "@stored ordinal"
_PAIRS = 500_000
"""Pairs formed at once where no key selects them; bounds memory."""
_FEW_PAIRS = 100_000
_SORTING = 8
"""Sorting a stored tuple takes about as long as forming and checking so many pairs in a hash join."""
_SAMPLE = 2_000
_CHECKED = 100
"""Pairs that may be formed and checked per combination that a step may make."""
_SCREENED = 3
"""Stored tuples per arriving one beyond which the stored ones are screened by key before the join."""


class TooMany(Exception):
    """A step makes, or has to check, more combinations in one batch and task than it may."""

    def __init__(self, combinations: int) -> None:
        super().__init__(f"more than {combinations} combinations")
        self.combinations = combinations
        """At least so many; how many it would have been is not known."""


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
            oldest = max(oldest, int(arriving[column].cast(pl.Int64).min()) - window)  # type: ignore[arg-type]
        for column, window in self.before:
            newest = min(newest, int(arriving[column].cast(pl.Int64).max()) + window)  # type: ignore[arg-type]
        return oldest, newest


_FIRST, _LAST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """A probe rule made ready: what to read, join on, check and keep."""

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
    outputs: tuple[pl.Expr, ...]
    reaches: tuple[Reach, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """How probable it is that two tuples of a store have equal keys, as one batch saw it."""

    batch: int
    probability: float


def probe(
    index: RuleIndex,
    rule: ProbeRule,
    state: PartitionState,
    runs: Sequence[RunRef],
    frame: pl.DataFrame,
    most: int | None = None,
) -> pl.DataFrame:
    """All combinations of arriving tuples and stored ones that satisfy the rule.

    `frame` holds what arrived on the rule's edge; `runs` is what the store may hold. Returns the
    columns that the edges and leaves behind the rule read, with the start's arrival number.

    With `most`, raises `TooMany` instead of forming more combinations than that, or of checking a
    hundred times as many pairs; under a memory limit in one piece of the store.
    """
    plan = plan_of(index, rule)
    arriving = frame[plan.arriving]
    reachable = _reachable(plan, runs, arriving) if arriving.height else []
    if not reachable:
        return pl.DataFrame()
    # Runs of earlier batches hold smaller arrival numbers only: nothing to compare.
    first: int = arriving[ARRIVAL].min()  # type: ignore[assignment]
    fresh = any(run.max_arrival >= first for run in reachable)
    conditions = staged(plan.costly, (*plan.conditions, plan.order) if fresh else plan.conditions)
    columns = [*(name for name, _ in plan.stored), ARRIVAL, ORDINAL, LATE]
    sought = {} if state.limit is None else _sought(plan, arriving)
    found: list[pl.DataFrame] = []
    made = 0
    for piece in state.pieces(reachable, columns, sought):
        stored = _stored(index, rule, plan, piece)
        del piece  # Under a limit the next one takes its place.
        try:
            met = _meet(index, rule, plan, state, arriving, stored, conditions, most)
        except TooMany as error:
            raise TooMany(made + error.combinations) from error
        del stored
        found.append(met if state.limit is None else _detached(met))
        made += met.height
        if most is not None:
            _refuse_too_many(made, most)
    if len(found) == 1:
        return found[0]
    return pl.concat([part for part in found if part.height] or found[:1]) if found else pl.DataFrame()


def _meet(
    index: RuleIndex,
    rule: ProbeRule,
    plan: ProbePlan,
    state: PartitionState,
    arriving: pl.DataFrame,
    stored: pl.DataFrame,
    conditions: Sequence[pl.Expr],
    most: int | None,
) -> pl.DataFrame:
    """All combinations with the given stored tuples."""
    if not plan.probe_keys:
        return _expand(plan, arriving, best_stretches(arriving, stored, plan.ranges), conditions, most)
    pairs = _estimated_pairs(index, rule, state.batch, arriving, stored)
    return _join(plan, arriving, stored, conditions, pairs, most)


def _detached(frame: pl.DataFrame) -> pl.DataFrame:
    """The same in memory of its own. Texts that went through a join still lie in the mapped run, and would
    keep all of it mapped."""
    texts = [name for name, kind in frame.schema.items() if kind in (pl.String, pl.Binary)]
    if not texts:
        return frame
    copied = frame.select(texts).to_arrow(compat_level=pl.CompatLevel.oldest())
    return frame.with_columns(pl.DataFrame(pl.from_arrow(copied)))


def _sought(plan: ProbePlan, arriving: pl.DataFrame) -> dict[str, pl.Series]:
    """By stored column, the values that have a partner in it; only such tuples need be read."""
    return {
        column: arriving.select(value).to_series().drop_nulls().unique().sort()
        for column, value in plan.lookups
    }


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
    probe_names: set[str] = set()
    stored_names: set[str] = set()
    for equality in rule.equalities:
        stored = equality.stored
        if not inputs_of(stored) <= in_store.keys():
            stored = rename_inputs(stored, dict(rule.renames))
        common = common_type(equality.probe.type, stored.type)
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
    conditions = [_elapsed(times[newer], times[older]) <= window for newer, older, window in windows]
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
    late = [(pl.col(LATE) | pl.col(_STORED_LATE)).alias(LATE)] if index.marks_late else []
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


def _order(rule: ProbeRule, base: bool) -> pl.Expr:
    """(arrival, ordinal) of the stored tuple, under this tree's names, before that of the start."""
    start = ordinal(rule.start)
    if base:
        (_, tree) = rule.renames[0]
        if ordinal(tree) < start:
            return pl.col(_STORED_ARRIVAL) <= pl.col(ARRIVAL)
        return pl.col(_STORED_ARRIVAL) < pl.col(ARRIVAL)
    earlier = sorted({ordinal(stored) for stored, tree in rule.renames if ordinal(tree) < start})
    return (pl.col(_STORED_ARRIVAL) < pl.col(ARRIVAL)) | (
        (pl.col(_STORED_ARRIVAL) == pl.col(ARRIVAL)) & pl.col(_STORED_ORDINAL).is_in(earlier)
    )


def _window(reach: Reach) -> Range:
    return Range(
        pl.col(reach.stored_time).to_physical(),
        (
            *(Bound(pl.col(column).to_physical() - window, "ge") for column, window in reach.after),
            *(Bound(pl.col(column).to_physical() + window, "le") for column, window in reach.before),
        ),
    )


def _reachable(plan: ProbePlan, runs: Sequence[RunRef], arriving: pl.DataFrame) -> list[RunRef]:
    reachable = list(runs)
    for reach in plan.reaches:
        oldest, newest = reach.bounds(arriving)
        reachable = [
            run
            for run in reachable
            if run.max_times_us[reach.position] >= oldest and run.min_times_us[reach.position] <= newest
        ]
    return reachable


def _stored(index: RuleIndex, rule: ProbeRule, plan: ProbePlan, run: pl.DataFrame) -> pl.DataFrame:
    columns = [run[name].alias(tree) for name, tree in plan.stored]
    columns.append(run[ARRIVAL].alias(_STORED_ARRIVAL))
    if not index.stores[rule.store].is_base:
        columns.append(run[ORDINAL].alias(_STORED_ORDINAL))
    if index.marks_late:
        # Runs from before the first query that marks late results hold tuples that were in time.
        late = run[LATE].fill_null(False) if LATE in run.columns else pl.repeat(False, run.height, eager=True)
        columns.append(late.alias(_STORED_LATE))
    return pl.DataFrame(columns)


def _join(
    plan: ProbePlan,
    arriving: pl.DataFrame,
    stored: pl.DataFrame,
    conditions: Sequence[pl.Expr],
    pairs: float,
    most: int | None,
) -> pl.DataFrame:
    """Tuples with equal keys that fulfil the conditions; about `pairs` have equal keys."""
    if pairs > max(_PAIRS, _SORTING * stored.height) and plan.ranges:
        # Few values, many tuples of each: a range within each key may leave far fewer pairs.
        some, part = best_range(arriving, stored, plan.ranges)
        if some is not None and pairs * (1 - part) > _SORTING * stored.height:
            keys = number_keys(arriving, stored, plan.probe_keys, plan.stored_keys)
            return _expand(plan, arriving, stretches(arriving, stored, some, keys), conditions, most)
    if most is not None and pairs > most:
        _refuse_too_many(_counted_pairs(plan, arriving, stored), most * _CHECKED)
    partners = stored.lazy()
    if len(plan.probe_keys) == 1 and stored.height > _SCREENED * arriving.height:
        # Most stored tuples have no partner. Looking their keys up in a set is several times as fast as
        # taking them through a join.
        sought = arriving.select(plan.probe_keys[0]).to_series()
        partners = partners.filter(plan.stored_keys[0].is_in(sought.implode()))
    joined = arriving.lazy().join(
        partners, left_on=plan.probe_keys, right_on=plan.stored_keys, how="inner", coalesce=False
    )
    # Streaming checks pairs as it forms them, so that a frequent key does not fill the memory; it
    # takes longer to begin.
    engine: Literal["in-memory", "streaming"] = "in-memory" if pairs <= _FEW_PAIRS else "streaming"
    found = _checked(plan, joined, conditions)
    if most is None:
        return found.collect(engine=engine)
    made = found.head(most + 1).collect(engine=engine)
    _refuse_too_many(made.height, most)
    return made


def _estimated_pairs(
    index: RuleIndex, rule: ProbeRule, batch: int, arriving: pl.DataFrame, stored: pl.DataFrame
) -> float:
    """Pairs with equal keys, from how often keys of a sample coincide.

    An arriving and a stored tuple coincide as often as two stored ones, if both sides are alike.
    What was found for one rule holds for all rules of the batch that join the store on the same.
    """
    product = float(arriving.height * stored.height)
    if product <= _FEW_PAIRS:
        return product
    keys = (rule.store, tuple(equality.stored for equality in rule.equalities))
    known = index.repetitions.get(keys)
    if known is None or known.batch != batch:
        probability = _coincidence(stored, plan_of(index, rule).stored_keys)
        known = index.repetitions[keys] = Repetition(batch, probability)
    return product * known.probability


def _coincidence(stored: pl.DataFrame, keys: Sequence[pl.Expr]) -> float:
    """The probability that two tuples have equal keys, judged by a sample.

    Of k sampled keys, k * (k - 1) / 2 pairs coincide with the probability sum(p * p) over the
    keys' frequencies p: Alon, Matias, Szegedy, STOC 1996, section 2.2, on the second frequency moment.
    """
    sample = stored[:: max(1, stored.height // _SAMPLE)]
    if sample.height < 2:
        return 1.0
    found = sample.select(key.alias(str(i)) for i, key in enumerate(keys)).drop_nulls()
    _, counts = np.unique(found.hash_rows().to_numpy(), return_counts=True)
    return float((counts * (counts - 1)).sum()) / (sample.height * (sample.height - 1))


def _expand(
    plan: ProbePlan,
    arriving: pl.DataFrame,
    found: Stretches,
    conditions: Sequence[pl.Expr],
    most: int | None,
) -> pl.DataFrame:
    if most is not None:
        _refuse_too_many(found.pairs, most * _CHECKED)
    kept: list[pl.DataFrame] = []
    made = 0
    for pairs in pieces(arriving, found, _PAIRS):
        kept.append(_checked(plan, pairs.lazy(), conditions).collect())
        made += kept[-1].height
        if most is not None:
            _refuse_too_many(made, most)
    return pl.concat(kept) if kept else pl.DataFrame()


def _counted_pairs(plan: ProbePlan, arriving: pl.DataFrame, stored: pl.DataFrame) -> int:
    """How many pairs have equal keys."""
    names = [str(number) for number in range(len(plan.probe_keys))]

    def counted(frame: pl.DataFrame, keys: Sequence[pl.Expr], count: str) -> pl.LazyFrame:
        values = [key.alias(name) for name, key in zip(names, keys, strict=True)]
        return frame.lazy().select(values).group_by(names).agg(pl.len().cast(pl.Float64).alias(count))

    both = counted(arriving, plan.probe_keys, "arriving").join(
        counted(stored, plan.stored_keys, "stored"), on=names
    )
    return int(both.select((pl.col("arriving") * pl.col("stored")).sum()).collect().item())


def _refuse_too_many(combinations: int, most: int) -> None:
    if combinations > most:
        raise TooMany(combinations)


def _checked(plan: ProbePlan, pairs: pl.LazyFrame, conditions: Sequence[pl.Expr]) -> pl.LazyFrame:
    return (pairs.filter(*conditions) if conditions else pairs).select(plan.outputs)
