"""Choose the columns that a store's runs are indexed on.

Those of equalities that one stored column answers by itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from jobs.plan.index import RuleIndex
from jobs.plan.per_plan import PerPlan
from jobs.plan.tuples import column_name
from jobs.storage.memory_budget import Limit
from optimizer.algebra.expression import Column, Expression
from optimizer.algebra.types import ColumnType, common_type
from optimizer.physical.graph import GraphStore
from optimizer.physical.groups import GROUP_HASH
from optimizer.physical.rules import ProbeRule


@dataclass(frozen=True, slots=True)
class Lookup:
    """An equality between arriving tuples and a stored column."""

    column: str
    """Under its name in the store."""
    sought: Expression
    """Its value, computed from an arriving tuple."""
    common: ColumnType
    """The type in which the two are compared; never DOUBLE, whose NaN has no place among other values."""


_SEARCHED: PerPlan[dict[str, tuple[str, ...]]] = PerPlan(dict)
"""By store, when somebody first asks."""


def lookups(rule: ProbeRule) -> tuple[Lookup, ...]:
    """The rule's equalities of that form, in their order."""
    in_store = {tree: stored for stored, tree in rule.renames}
    found = []
    for equality in rule.equalities:
        stored = equality.stored
        if not isinstance(stored, Column):
            continue
        common = common_type(equality.probe.type, stored.type)
        if common is not ColumnType.DOUBLE:
            # An equality names the stored column as its tree does or, if the tree has no such input, as
            # the store does.
            held = Column(in_store.get(stored.input, stored.input), stored.name, stored.type)
            found.append(Lookup(column_name(held), equality.probe, common))
    return tuple(found)


def searched_columns(index: RuleIndex, store: GraphStore) -> tuple[str, ...]:
    """The stored columns that probes look up, the most used first, then by name.

    The column that places tuples in tasks leads if it is one of them: who knows it asks one task only, and
    asks it for its own keys.
    """
    searched = _SEARCHED[index]
    if store.id in searched:
        return searched[store.id]
    uses = Counter(
        lookup.column
        for rules in index.probe_rules.values()
        for rule in rules
        if rule.store == store.id
        for lookup in lookups(rule)
    )
    if any(hold.store == store.id and hold.is_running for hold in index.graph.holds):
        uses[f"{store.inputs[0].input}.{GROUP_HASH}"] += 1
    placing = column_name(store.partitioning) if isinstance(store.partitioning, Column) else None
    found = tuple(sorted(uses, key=lambda column: (column != placing, -uses[column], column)))
    searched[store.id] = found
    return found


def limit_of(index: RuleIndex, share_bytes: int | None) -> Limit | None:
    """The limit of one partition under a plan; None for none."""
    if share_bytes is None:
        return None
    return Limit(share_bytes, {store.id: searched_columns(index, store) for store in index.graph.stores})
