"""Running groups: their states, and what a batch changes of their rows.

States are kept in the task of a group's keys. Those that a batch finds meet there with those that earlier
batches left. Only these are read of the store, so a batch that is repeated answers with the same rows. What
it found is added as rows of their own; where states merge, runs that are merged have one row of each group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from jobs.aggregation.groups import finish, merge, of_nothing
from jobs.failures.evaluation_errors import FailedCalls
from jobs.join.emit import emit
from jobs.plan.index import RuleIndex
from jobs.plan.tuples import ARRIVAL, Result, first_arrival
from jobs.storage.key_hash import hash_tasks
from jobs.storage.partition import PartitionState
from optimizer.physical.graph import GraphStore, Hold
from optimizer.physical.groups import DELETED, GROUP_HASH, Groups
from optimizer.physical.rules import AggregateRule


def answer_changes(
    index: RuleIndex,
    rule: AggregateRule,
    frames: Mapping[str, pl.DataFrame],
    state: PartitionState,
    failed: FailedCalls,
) -> tuple[list[Result], pl.DataFrame | None]:
    """The rows that a batch changes, and the states to add to the store.

    A row that leaves the answer, by HAVING, comes with its key and NULL, and is marked.
    """
    held = index.holds[rule.hold]
    groups, store = held.groups, index.stores[held.store]
    assert groups is not None
    prefix = f"{held.stream.name}."
    names = [*(f"{prefix}{name}" for name, _ in held.stream.columns), ARRIVAL]
    parts = [frames[edge].select(names) for edge in (rule.edge, *rule.direct) if edge in frames]
    runs = state.runs(store.id)
    if not groups.key_names and not runs and _is_home(store, state.partition):
        # One row is there before any combination is, as DuckDB has it.
        nothing = of_nothing(groups, held.stream.event_time).with_columns(
            pl.lit(first_arrival(state.batch, state.partition), dtype=pl.Int64).alias(ARRIVAL)
        )
        parts.append(_prefixed(held, nothing).select(names))
    if not parts:
        return [], None
    added = _plain(held, pl.concat(parts))
    if groups.merges:
        added = merge(groups, added, (held.stream.event_time, GROUP_HASH))
    before = added.clear()
    if runs:
        changed = added.get_column(GROUP_HASH).unique().sort()
        column = f"{prefix}{GROUP_HASH}"
        pieces = state.pieces(runs, names, {column: changed})
        found = [piece.select(names).filter(pl.col(column).is_in(changed.implode())) for piece in pieces]
        before = _plain(held, pl.concat(found)) if found else before
    after = pl.concat([before, added.select(before.columns)])
    # What functions raise was told when the row became what it is.
    old = _answers(index, rule, held, groups, before, FailedCalls(index))
    new = _answers(index, rule, held, groups, after, failed)
    results = _changes(index, rule, old, new, added.get_column(ARRIVAL))
    return results, _prefixed(held, added).select(names)


def current_rows(index: RuleIndex, held: Hold, rows: Sequence[pl.DataFrame]) -> pl.DataFrame | None:
    """The table, from all states of its store; None if no row is in it."""
    rule = next(r for rules in index.aggregate_rules.values() for r in rules if r.hold == held.name)
    assert held.groups is not None
    names = [*(f"{held.stream.name}.{name}" for name, _ in held.stream.columns), ARRIVAL]
    if not rows:
        return None
    states = _plain(held, pl.concat([part.select(names) for part in rows]))
    found = _answers(index, rule, held, held.groups, states, FailedCalls(index))
    return None if found is None else found.table.with_columns(pl.lit(False).alias(DELETED))


def folding(index: RuleIndex) -> dict[str, Callable[[pl.DataFrame], pl.DataFrame]]:
    """By store, how rows of running groups become one each when runs are merged."""
    return {
        held.store: _folding(held, held.groups)
        for held in index.holds.values()
        if held.groups is not None and held.is_running and held.groups.merges
    }


def _folding(held: Hold, groups: Groups) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def fold(rows: pl.DataFrame) -> pl.DataFrame:
        beside = (held.stream.event_time, GROUP_HASH)
        return _prefixed(held, merge(groups, _plain(held, rows), beside)).select(rows.columns)

    return fold


def _is_home(store: GraphStore, partition: int) -> bool:
    """True of the task that has the group without keys."""
    return int(hash_tasks(pl.Series([0]), store.tasks)[0]) == partition


def _answers(
    index: RuleIndex, rule: AggregateRule, held: Hold, groups: Groups, rows: pl.DataFrame, failed: FailedCalls
) -> Result | None:
    """What groups answer behind HAVING; None if nothing is left."""
    if rows.is_empty():
        return None
    finished = _prefixed(held, finish(groups, rows))
    return next(iter(emit(index, rule.id, rule.emits, (), finished, failed)), None)


def _changes(
    index: RuleIndex, rule: AggregateRule, old: Result | None, new: Result | None, arrivals: pl.Series
) -> list[Result]:
    (leaf,) = rule.emits
    query = index.queries[leaf.query]
    found: list[tuple[pl.DataFrame, pl.Series]] = []
    if new is not None:
        rows = new.table.with_row_index(_ROW)
        if old is not None:
            rows = rows.join(
                old.table, on=new.table.columns, how="anti", nulls_equal=True, maintain_order="left"
            )
        found.append((rows.drop(_ROW), new.arrivals.gather(rows.get_column(_ROW))))
    if query.key is not None:
        found = [(rows.with_columns(pl.lit(False).alias(DELETED)), which) for rows, which in found]
        if old is not None:
            gone = _gone(old.table, new, query.key)
            # They left with the newest of what came.
            which = pl.repeat(arrivals.max(), gone.height, dtype=pl.Int64, eager=True).alias(ARRIVAL)
            found.append((gone, which))
    found = [(rows, which) for rows, which in found if rows.height]
    if not found:
        return []
    table = pl.concat([rows for rows, _ in found])
    which = pl.concat([which for _, which in found])
    return [Result(leaf.query, table, which, rule.id, pl.DataFrame())]


_ROW = "@row"


def _gone(old: pl.DataFrame, new: Result | None, key: tuple[str, ...]) -> pl.DataFrame:
    """The rows of groups that were results and are none any more: their keys."""
    if new is not None:
        rest = new.table.select(key)
        old = (
            old.join(rest, on=key, how="anti", nulls_equal=True, maintain_order="left")
            if key
            else old.clear()
        )
    nothing = [pl.lit(None, dtype=kind).alias(name) for name, kind in old.schema.items() if name not in key]
    return old.with_columns(*nothing, pl.lit(True).alias(DELETED))


def _plain(held: Hold, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.rename({name: name.removeprefix(f"{held.stream.name}.") for name in rows.columns})


def _prefixed(held: Hold, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.rename({name: f"{held.stream.name}.{name}" for name in rows.columns if name != ARRIVAL})
