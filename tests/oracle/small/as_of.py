"""ASOF JOINs of small queries: drawn, and written as DuckDB reads them.

Where ON has equalities and windows alone DuckDB's own ASOF JOIN answers, over streams with one tuple of those
among which it would take any: the greatest by what the query reads. Else the newest partner is asked for in
a subquery.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from optimizer.algebra.types import ColumnType
from tests.oracle.small.grammar import AMOUNTS, COLUMNS, VALUES, Dice, Term, column, compared, constant

if TYPE_CHECKING:
    from tests.oracle.small.workload import SmallInput, SmallQuery

AS_OF = ("ASOF", "ASOF LEFT")
_DECLARED = tuple((name, kind) for kind, names in COLUMNS.items() for name in names)


def with_as_of(chance: Dice, query: SmallQuery) -> SmallQuery:
    """A query with some of its joins made as-of joins."""
    first, *others = query.inputs
    able = [i for i in others if i.joined in ("", "INNER", "LEFT")]
    if not able:
        return query
    chosen = {i.alias for i in chance.sample(able, chance.choice((1, 1, min(2, len(able)))))}
    inputs = (
        first,
        *(
            replace(i, joined=chance.choice(AS_OF) if i.alias in chosen else i.joined or "INNER")
            for i in others
        ),
    )
    predicates, where = [], []
    for predicate in query.predicates:
        read = chosen & predicate.aliases()
        if not read:
            predicates.append(predicate)
            where += [predicate] if predicate in query.where else []
        elif _stands_in_on(chance, query, predicate, read):
            predicates.append(predicate)
    for alias in sorted(chosen):
        before = [i.alias for i in inputs[: [i.alias for i in inputs].index(alias)] if i.alias not in chosen]
        later, kind = chance.choice(before), chance.choice(VALUES)
        if chance.random() < 0.7 and not any(_equal(p) and alias in p.aliases() for p in predicates):
            name = chance.choice(COLUMNS[kind])
            predicates.append(compared("=", column(alias, name, kind), column(later, name, kind)))
        times = [column(one, "ts", ColumnType.TIMESTAMP) for one in (later, alias)]
        inequality = compared(chance.choice((">", ">=", ">=")), *times)
        if chance.random() < 0.3:
            inequality = compared({">": "<", ">=": "<="}[inequality.ours[4:-4]], times[1], times[0])
        predicates.append(inequality)
        if chance.random() < 0.3:
            asked = _asked(chance, alias, later)
            predicates.append(asked)
            where.append(asked)
    outputs = tuple(plain for o in query.outputs for plain in _plain(o, chosen))
    outputs += tuple(column(alias, *chance.choice(_DECLARED)) for alias in sorted(chosen))
    member = query.member
    if member is not None and chosen & member[0].aliases():
        member = (column(first.alias, member[0].ours.split(".")[1], member[0].kind), member[1])
    return replace(
        query,
        inputs=inputs,
        predicates=tuple(predicates),
        where=tuple(where),
        outputs=outputs,
        member=member,
    )


def _equal(predicate: Term) -> bool:
    return predicate.ours == "{0} = {1}" and not predicate.parts[0].aliases() & predicate.parts[1].aliases()


def _stands_in_on(chance: Dice, query: SmallQuery, predicate: Term, read: frozenset[str] | set[str]) -> bool:
    """Most that would be refused is left out: what reads streams behind, and second inequalities."""
    places = [i.alias for i in query.inputs]
    if len(read) > 1 or max(places.index(a) for a in predicate.aliases()) > places.index(min(read)):
        return False
    sure = len(predicate.aliases()) == 1 or predicate.ours in ("{0} = {1}", "{0} <> {1}")
    return sure or chance.random() < 0.05


def _asked(chance: Dice, alias: str, later: str) -> Term:
    """A condition of WHERE on what was found; it reads its columns whatever is folded."""
    kind = chance.choice((*AMOUNTS, ColumnType.STRING))
    own = column(alias, chance.choice(COLUMNS[kind]), kind)
    other = (
        constant(chance, kind) if chance.random() < 0.5 else column(later, chance.choice(COLUMNS[kind]), kind)
    )
    return compared(chance.choice(("<", ">=", "<>", "=")), own, other)


def _plain(output: Term, chosen: set[str]) -> Iterator[Term]:
    """An output, or columns in place of one that might be folded to something that reads less."""
    if not chosen & output.aliases() or not output.parts:
        yield output
    else:
        yield from (leaf for leaf in _leaves(output) if leaf.alias is not None)


def _leaves(term: Term) -> Iterator[Term]:
    if not term.parts:
        yield term
    for part in term.parts:
        yield from _leaves(part)


def joined_as_of(
    query: SmallQuery, item: SmallInput, conditions: Sequence[Term], windows: Sequence[str]
) -> str:
    """DuckDB's text of one ASOF JOIN, with the conditions of its ON."""
    ties = [f"{item.alias}.ts DESC"]
    for name, kind in _DECLARED:
        if name != "ts" and name in _read(query, item.alias):
            ties.append(f"{item.alias}.{name} DESC NULLS LAST")
            ties += [f"signbit({item.alias}.{name})"] if kind is ColumnType.DOUBLE else []
    order = ", ".join(ties)
    source = f"{item.stream} AS {item.alias}"
    two_sided = [p for p in conditions if len(p.aliases()) > 1 and not _inequality(p)]
    if all(_equal(p) and p.parts[0].kind is p.parts[1].kind for p in two_sided):
        own = [f"({p.reference()})" for p in conditions if p.aliases() == {item.alias}]
        keys = [side.reference() for p in two_sided for side in p.parts if item.alias in side.aliases()]
        partition = ", ".join([*keys, f"{item.alias}.ts"])
        one = f"row_number() OVER (PARTITION BY {partition} ORDER BY {order}) = 1"
        where = f" WHERE {' AND '.join(own)}" if own else ""
        on = [f"({p.reference()})" for p in conditions if p.aliases() != {item.alias}]
        newest = f"(SELECT * FROM {source}{where} QUALIFY {one}) AS {item.alias}"
        return f" {item.joined} JOIN {newest} ON {' AND '.join([*on, *windows])}"
    asked = " AND ".join([*(f"({p.reference()})" for p in conditions), *windows])
    newest = f"SELECT {item.alias}.* FROM {source} WHERE {asked} ORDER BY {order} LIMIT 1"
    return f" {'LEFT ' if item.joined != 'ASOF' else ''}JOIN LATERAL ({newest}) AS {item.alias} ON TRUE"


def _inequality(predicate: Term) -> bool:
    return predicate.ours in ("{0} < {1}", "{0} <= {1}", "{0} > {1}", "{0} >= {1}")


def _read(query: SmallQuery, alias: str) -> set[str]:
    """The columns of an alias that outputs and WHERE read."""
    leaves = (leaf for term in (*query.outputs, *query.where) for leaf in _leaves(term))
    return {leaf.ours.split(".")[1] for leaf in leaves if leaf.alias == alias}
