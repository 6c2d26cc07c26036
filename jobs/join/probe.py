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
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from jobs.expressions.predicate_order import staged
from jobs.join.hash_join import Buckets, integers
from jobs.join.newest import latest_stretches, newest_of_each
from jobs.join.pair_counts import coincidence, counted_pairs
from jobs.join.probe_plan import STORED_ARRIVAL, STORED_LATE, STORED_ORDINAL, ProbePlan, plan_of
from jobs.join.range_join import Stretches, best_range, best_stretches, number_keys, pieces, stretches
from jobs.plan.event_time import all_earlier, all_later
from jobs.plan.index import RuleIndex
from jobs.plan.tuples import ARRIVAL, LATE, ORDINAL
from jobs.storage.partition import PartitionState
from jobs.storage.run import RunRef
from optimizer.physical.rules import ProbeRule

_PAIRS = 500_000
"""Pairs formed at once where no key selects them; bounds memory."""
_FEW_PAIRS = 100_000
_FEW_ARRIVING = 16_384
_FEW_STORED = 32_768
"""With no more tuples, looking them up is faster than planning a join and having it done."""
_SORTING = 8
"""Sorting a stored tuple takes about as long as forming and checking so many pairs in a hash join."""
CHECKED = 100
"""Pairs that may be formed and checked per combination that a step may make."""
_Engine: TypeAlias = Literal["in-memory", "streaming"]
_SCREENED = 3
"""Stored tuples per arriving one beyond which the stored ones are screened by key before the join."""


class TooMany(Exception):
    """A step makes or checks more combinations than it may in one batch and task."""

    def __init__(self, combinations: int) -> None:
        super().__init__(f"more than {combinations} combinations")
        self.combinations = combinations
        """At least so many; how many it would have been is not known."""


@dataclass(frozen=True, slots=True)
class Held:
    """Stored tuples that several probes look up by the same columns."""

    frame: pl.DataFrame
    buckets: Buckets
    columns: dict[str, pl.Series]
    integers: dict[str, npt.NDArray[np.int64]]

    def column(self, name: str) -> pl.Series:
        """A column in one block of memory: taking single rows from many runs is slow."""
        if name not in self.columns:
            self.columns[name] = self.frame.get_column(name).rechunk()
        return self.columns[name]

    def whole(self, name: str) -> npt.NDArray[np.int64]:
        """A column of times or whole numbers without NULL."""
        if name not in self.integers:
            self.integers[name] = integers(self.column(name))
        return self.integers[name]


Tables = dict[tuple[str, ...], Held]
"""By what they were made of; kept by the caller for as long as the store stays as it is."""


def probe(
    index: RuleIndex,
    rule: ProbeRule,
    state: PartitionState,
    runs: Sequence[RunRef],
    frame: pl.DataFrame,
    most: int | None = None,
    tables: Tables | None = None,
) -> pl.DataFrame:
    """All combinations of arriving tuples and stored ones that satisfy the rule.

    `frame` holds what arrived on the rule's edge; `runs` is what the store may hold. Returns the
    columns that the edges and leaves behind the rule read, with the start's arrival number.

    With `most`, raises `TooMany` instead of forming more combinations than that, or of checking a
    hundred times as many pairs; under a memory limit in one piece of the store. `tables` keeps what other
    probes into the same stores can use again.
    """
    plan = plan_of(index, rule)
    arriving = frame[plan.arriving]
    reachable = _reachable(plan, runs, arriving) if arriving.height else []
    if not reachable:
        return pl.DataFrame()
    # Runs of earlier batches hold smaller arrival numbers only: nothing to compare.
    first: int = arriving.get_column(ARRIVAL).min()  # type: ignore[assignment]
    fresh = any(run.max_arrival >= first for run in reachable)
    little = arriving.height <= _FEW_ARRIVING and sum(run.rows for run in reachable) <= _FEW_STORED
    if little and plan.whole_keys and state.limit is None:
        tables = {} if tables is None else tables
        met = _meet_few(index, rule, plan, state, reachable, arriving, fresh, tables)
        if met is not None:
            met = newest_of_each(met, plan.newest) if plan.newest else met
            if most is not None:
                _refuse_too_many(met.height, most)
            return met
    conditions = staged(plan.costly, (*plan.conditions, plan.order) if fresh else plan.conditions)
    columns = [*(name for name, _ in plan.stored), ARRIVAL, ORDINAL, LATE]
    sought = {} if state.limit is None else _sought(plan, arriving)
    found: list[pl.DataFrame] = []
    made = 0
    further, beside = plan.computed
    if further:
        arriving = arriving.with_columns(further)
    for piece in state.pieces(reachable, columns, sought):
        stored = _stored(index, rule, plan, piece)
        if beside:
            stored = stored.with_columns(beside)
        del piece  # Under a limit the next one takes its place.
        try:
            met = _meet(index, rule, plan, state, arriving, stored, conditions, most)
        except TooMany as error:
            raise TooMany(made + error.combinations) from error
        del stored
        if plan.newest:
            met = newest_of_each(met, plan.newest)
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
    if plan.latest is not None:
        found = latest_stretches(plan.latest, arriving, stored, plan.probe_keys, plan.stored_keys)
        return _expand(plan, arriving, found, conditions, most)
    if not plan.probe_keys:
        return _expand(plan, arriving, best_stretches(arriving, stored, plan.ranges), conditions, most)
    pairs = float(arriving.height * stored.height)
    if pairs > _FEW_PAIRS:
        pairs *= coincidence(index, rule, state.batch, stored)
    return _join(plan, arriving, stored, conditions, pairs, most)


def _detached(frame: pl.DataFrame) -> pl.DataFrame:
    """A copy in memory of its own.

    Texts that went through a join still lie in the mapped run, and would keep all of it mapped.
    """
    texts = [name for name, kind in frame.schema.items() if kind in (pl.String, pl.Binary)]
    if not texts:
        return frame
    copied = frame.select(texts).to_arrow(compat_level=pl.CompatLevel.oldest())
    return frame.with_columns(pl.DataFrame(pl.from_arrow(copied)))


def _sought(plan: ProbePlan, arriving: pl.DataFrame) -> dict[str, pl.Series]:
    """By stored column, the values that have a partner: only such tuples need be read."""
    return {
        column: arriving.select(value).to_series().drop_nulls().unique().sort()
        for column, value in plan.lookups
    }


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
    columns = [run.get_column(name).alias(tree) for name, tree in plan.stored]
    columns.append(run.get_column(ARRIVAL).alias(STORED_ARRIVAL))
    if not index.stores[rule.store].is_base:
        columns.append(run[ORDINAL].alias(STORED_ORDINAL))
    if index.marks_late:
        # Runs from before the first query that marks late results hold tuples that were in time.
        late = run[LATE].fill_null(False) if LATE in run.columns else pl.repeat(False, run.height, eager=True)
        columns.append(late.alias(STORED_LATE))
    return pl.DataFrame(columns)


def _meet_few(
    index: RuleIndex,
    rule: ProbeRule,
    plan: ProbePlan,
    state: PartitionState,
    runs: Sequence[RunRef],
    arriving: pl.DataFrame,
    fresh: bool,
    tables: Tables,
) -> pl.DataFrame | None:
    """What the rule makes of few tuples; None if a library does so many pairs faster."""
    names = {tree: stored for stored, tree in plan.stored}
    keys = tuple(names[stored] for _, stored in plan.whole_keys)
    made_of = (*keys, "", *(run.path for run in runs))
    if made_of not in tables:
        scanned = state.scan_all(runs)
        columns = {name: scanned.get_column(name).rechunk() for name in keys}
        tables[made_of] = Held(scanned, Buckets([columns[name] for name in keys]), columns, {})
    held = tables[made_of]
    pairs = held.buckets.pairs([arriving.get_column(name) for name, _ in plan.whole_keys], _FEW_PAIRS)
    if pairs is None:
        return None
    left, right = pairs

    moments = {
        name: held.whole(names[name]) if name in names else integers(arriving.get_column(name))
        for window in plan.windows
        for name in window[:2]
    }
    for newer, older, window in plan.windows:
        # What arrives is moved, once for all pairs; inside an intermediate result nothing does.
        if newer not in names:
            inside = (
                moments[older][right if older in names else left] >= all_earlier(moments[newer], window)[left]
            )
        elif older not in names:
            inside = moments[newer][right] <= all_later(moments[older], window)[left]
        else:
            inside = moments[older][right] >= all_earlier(moments[newer][right], window)
        left, right = left[inside], right[inside]
    if fresh:
        before, now = held.whole(ARRIVAL)[right], integers(arriving.get_column(ARRIVAL))[left]
        older_ones = before < now
        if plan.ties:
            tied = before == now
            if plan.ties is not True:
                tied &= np.isin(held.whole(ORDINAL)[right], plan.ties)
            older_ones |= tied
        left, right = left[older_ones], right[older_ones]
    if not len(left):
        return pl.DataFrame()
    rows, partners = pl.Series(left.astype(np.uint32)), pl.Series(right.astype(np.uint32))
    if plan.only_windows and not index.marks_late:
        made = [
            held.column(names[name])[partners].alias(name)
            if name in names
            else arriving.get_column(name)[rows]
            for name in plan.kept
        ]
        return pl.DataFrame([*made, arriving.get_column(ARRIVAL)[rows]])
    sides = (arriving[rows], _stored(index, rule, plan, held.frame)[partners])
    conditions = staged(plan.costly, plan.conditions)
    return _made(_checked(plan, pl.concat(sides, how="horizontal").lazy(), conditions))


def _join(
    plan: ProbePlan,
    arriving: pl.DataFrame,
    stored: pl.DataFrame,
    conditions: Sequence[pl.Expr],
    pairs: float,
    most: int | None,
) -> pl.DataFrame:
    """Tuples with equal keys that fulfil the conditions.

    About `pairs` have equal keys.
    """
    if pairs > max(_PAIRS, _SORTING * stored.height) and plan.ranges:
        # Few values, many tuples of each: a range within each key may leave far fewer pairs.
        some, part = best_range(arriving, stored, plan.ranges)
        if some is not None and pairs * (1 - part) > _SORTING * stored.height:
            keys = number_keys(arriving, stored, plan.probe_keys, plan.stored_keys)
            return _expand(plan, arriving, stretches(arriving, stored, some, keys), conditions, most)
    if most is not None and pairs > most:
        _refuse_too_many(counted_pairs(plan, arriving, stored), most * CHECKED)
    partners = stored.lazy()
    if len(plan.probe_keys) == 1 and stored.height > _SCREENED * arriving.height:
        # Most stored tuples have no partner. Looking their keys up in a set is several times as fast as
        # taking them through a join.
        sought = arriving.get_column(plan.probe_keys[0])
        partners = partners.filter(pl.col(plan.stored_keys[0]).is_in(sought.implode()))
    joined = arriving.lazy().join(
        partners, left_on=plan.probe_keys, right_on=plan.stored_keys, how="inner", coalesce=False
    )
    # Streaming checks pairs as it forms them, so that a frequent key does not fill the memory; it
    # takes longer to begin.
    engine: _Engine = "in-memory" if pairs <= _FEW_PAIRS else "streaming"
    found = _checked(plan, joined, conditions)
    if most is None:
        return _made(found, engine)
    made = _made(found.head(most + 1), engine)
    _refuse_too_many(made.height, most)
    return made


def _expand(
    plan: ProbePlan,
    arriving: pl.DataFrame,
    found: Stretches,
    conditions: Sequence[pl.Expr],
    most: int | None,
) -> pl.DataFrame:
    if most is not None:
        _refuse_too_many(found.pairs, most * CHECKED)
    kept: list[pl.DataFrame] = []
    made = 0
    for pairs in pieces(arriving, found, _PAIRS):
        kept.append(_made(_checked(plan, pairs.lazy(), conditions)))
        made += kept[-1].height
        if most is not None:
            _refuse_too_many(made, most)
    return pl.concat(kept) if kept else pl.DataFrame()


def _refuse_too_many(combinations: int, most: int) -> None:
    if combinations > most:
        raise TooMany(combinations)


def _made(found: pl.LazyFrame, engine: _Engine = "in-memory") -> pl.DataFrame:
    """The table with every column as it is.

    Of one tuple that meets several the library keeps a value and how often it is there, and some
    expressions over such a column (`CASE` behind a comparison with a constant) fail.
    """
    return pl.DataFrame(found.collect(engine=engine).get_columns())


def _checked(plan: ProbePlan, pairs: pl.LazyFrame, conditions: Sequence[pl.Expr]) -> pl.LazyFrame:
    return (pairs.filter(*conditions) if conditions else pairs).select(plan.outputs)
