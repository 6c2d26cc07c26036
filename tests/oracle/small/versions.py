"""A table among the streams of a small workload: queries that look its versions up, as DuckDB reads them.

Which version is in force the reference says by intervals, from each time of a key to its next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from optimizer.algebra.types import ColumnType
from tests.oracle.small.grammar import COLUMNS, Dice, Term, column, compared, constant, reading

if TYPE_CHECKING:
    from tests.oracle.small.workload import SmallInput, SmallQuery

ALIAS = "v"  # no column is called so
NAME = "versions"
_DECLARED = tuple((name, kind) for kind, names in COLUMNS.items() for name in names)
_KEYS = tuple(
    (name, kind) for name, kind in _DECLARED if name not in ("ts", "id") and kind is not ColumnType.DOUBLE
)


@dataclass(frozen=True, slots=True)
class SmallTable:
    key: tuple[str, ...]
    deleted: str | None
    """The column that is true of versions that delete their key."""


def draw_table(chance: Dice) -> SmallTable:
    keys = [name for name, _ in chance.sample(_KEYS, chance.choice((1, 1, 2)))]
    flags = [name for name in COLUMNS[ColumnType.BOOLEAN] if name not in keys]
    return SmallTable(tuple(keys), chance.choice((None, *flags)))


def with_look_up(
    chance: Dice, query: SmallQuery, aliases: Sequence[str], table: SmallTable, last: SmallInput
) -> SmallQuery:
    """A query that looks up the version in force at one of its event times.

    Args:
        chance: what is drawn from.
        query: without groups, which go by the positions of outputs.
        aliases: of its inputs outside of a subquery.
        table: of `last`.
        last: the input to be added.
    """
    first, *others = query.inputs
    inputs = (first, *(replace(i, joined=i.joined or "INNER") for i in others), last)
    predicates = list(query.predicates)
    for name, kind in _KEYS:
        if name in table.key:
            predicates.append(compared("=", column(ALIAS, name, kind), _key(chance, aliases, kind)))
    predicates.append(
        compared(">=", *(column(a, "ts", ColumnType.TIMESTAMP) for a in (chance.choice(aliases), ALIAS)))
    )
    asked = [
        reading(chance, ColumnType.BOOLEAN, (ALIAS, chance.choice(aliases)), 2)
        for _ in range(chance.choice((0, 0, 1, 2)))
    ]
    where = [p for p in asked if chance.random() < 0.4]
    outputs = (*query.outputs, *(column(ALIAS, *chance.choice(_DECLARED)) for _ in range(2)))
    return replace(
        query,
        inputs=inputs,
        predicates=(*predicates, *asked),
        where=(*query.where, *where),
        outputs=outputs,
    )


def _key(chance: Dice, aliases: Sequence[str], kind: ColumnType) -> Term:
    """What has the value of one key: mostly a column."""
    if kind is not ColumnType.BINARY and chance.random() < 0.15:
        return constant(chance, kind)
    if chance.random() < 0.2:
        return reading(chance, kind, (chance.choice(aliases),), 1)
    return column(chance.choice(aliases), chance.choice(COLUMNS[kind]), kind)


def looked_up(item: SmallInput, conditions: Sequence[Term]) -> str:
    """DuckDB's text of one join with a table, with the conditions of its ON."""
    assert item.table is not None
    (later,) = {
        side.alias
        for p in conditions
        if p.ours == "{0} >= {1}" and p.parts[1].ours == f"{ALIAS}.ts" and p.parts[0].ours.endswith(".ts")
        for side in p.parts[:1]
    }
    by = ", ".join(item.table.key)
    ties = []
    for name, kind in _DECLARED:
        if name != "ts":
            ties.append(f"{name} DESC NULLS LAST")
            ties += [f"signbit({name})"] if kind is ColumnType.DOUBLE else []
    one = f'row_number() OVER (PARTITION BY {by}, "@us" ORDER BY {", ".join(ties)}) = 1'
    until = f'lead("@us") OVER (PARTITION BY {by} ORDER BY "@us") AS "@until"'
    versions = f"(SELECT *, {until} FROM (SELECT * FROM {item.stream} QUALIFY {one})) AS {item.alias}"
    on = [f"({p.reference()})" for p in conditions]
    on.append(f'({item.alias}."@until" IS NULL OR {later}."@us" < {item.alias}."@until")')
    if item.table.deleted is not None:
        on.append(f"NOT COALESCE({item.alias}.{item.table.deleted}, FALSE)")
    return f" {'LEFT ' if item.joined != 'ASOF' else ''}JOIN {versions} ON {' AND '.join(on)}"
