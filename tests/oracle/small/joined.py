"""Outer, semi and anti joins of small queries: drawn, and written as Millrace and as DuckDB read them.

DuckDB's text has the conditions of windows where two inputs meet, in ON or in the subquery; beside an input
that is NULL-extended there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.oracle.small.as_of import AS_OF, joined_as_of
from tests.oracle.small.grammar import COLUMNS, VALUES, Dice, Term, column
from tests.oracle.small.versions import looked_up

if TYPE_CHECKING:
    from tests.oracle.small.workload import SmallInput, SmallQuery

OUTER = ("LEFT", "RIGHT", "FULL")
BRACKETS = "IN BRACKETS"
"""Of an input that is joined to the one before it, in brackets, before both are joined to the others."""
ASKED = ("EXISTS", "NOT EXISTS", "IN", "NOT IN")
"""Of inputs of the subquery."""


def around(query: SmallQuery) -> list[SmallInput]:
    """The inputs outside of the subquery."""
    return [i for i in query.inputs if i.joined not in ASKED]


def joined(chance: Dice, query: SmallQuery) -> SmallQuery:
    """A query with some of its joins made outer, semi or anti joins."""
    first, *others = query.inputs
    if not others:
        return query
    subquery = chance.choice((0, 0, 0, 1, 1, 2)) if len(others) > 1 else chance.choice((0, 0, 1))
    asked = chance.choice(ASKED)
    kinds = [chance.choice((*OUTER, "LEFT", "LEFT", "INNER")) for _ in others[: len(others) - subquery]]
    if len(kinds) > 1 and chance.random() < 0.25:
        kinds[-1] = BRACKETS
    kinds += [asked] * (len(others) - len(kinds))
    inputs = (first, *(replace(i, joined=kind) for i, kind in zip(others, kinds, strict=True)))
    inside = {i.alias for i in inputs if i.joined in ASKED}
    outputs = tuple(o for o in query.outputs if inside.isdisjoint(o.aliases()))
    where = tuple(p for p in query.predicates if inside.isdisjoint(p.aliases()) and chance.random() < 0.25)
    member = None
    if inside and asked in ("IN", "NOT IN"):
        kind = chance.choice(VALUES)
        around = chance.choice([i.alias for i in inputs if i.alias not in inside])
        member = tuple(
            column(alias, chance.choice(COLUMNS[kind]), kind)
            for alias in (around, chance.choice(sorted(inside)))
        )
    return replace(query, inputs=inputs, outputs=outputs, where=where, member=member)


def text(query: SmallQuery) -> str:
    """As Millrace reads it."""
    return _written(query, theirs=False)


def reference(query: SmallQuery) -> str:
    """As DuckDB answers it."""
    return _written(query, theirs=True)


def _written(query: SmallQuery, theirs: bool) -> str:
    def said(term: Term) -> str:
        return term.reference() if theirs else term.text()

    def source(item: SmallInput) -> str:
        return f"{item.stream} AS {item.alias}" if theirs else item.text()

    def met(ones: Sequence[SmallInput], others: Sequence[SmallInput]) -> list[str]:
        """Windows of pairs of inputs."""
        return [
            f'COALESCE({newer.alias}."@us" - {older.alias}."@us" <= {older.window_us}::HUGEINT, TRUE)'
            for one in ones
            for other in others
            if theirs
            for newer, older in ((one, other), (other, one))
            if older.window_us is not None
        ]

    inside = [i for i in query.inputs if i.joined in ASKED]
    main = around(query)
    pending = [p for p in query.predicates if p not in query.where]

    def taken(aliases: set[str]) -> list[str]:
        """The conditions that read nothing else, each once."""
        return [f"({said(p)})" for p in take(aliases)]

    def take(aliases: set[str]) -> list[Term]:
        found = [p for p in pending if p.aliases() <= aliases]
        pending[:] = [p for p in pending if p not in found]
        return found

    tree, there, n = source(main[0]), [main[0]], 1
    while n < len(main):
        item = main[n]
        right, fresh = source(item), [item]
        if n + 1 < len(main) and main[n + 1].joined == BRACKETS:
            other = main[n + 1]
            on = [*taken({item.alias, other.alias}), *met([item], [other])]
            right, fresh = f"({right} JOIN {source(other)} ON {_all(on)})", [item, other]
        kind = "INNER" if item.joined == BRACKETS else item.joined
        aliases = {i.alias for i in (*there, *fresh)}
        beside = [i for i in there if i.joined not in AS_OF]
        if theirs and item.table is not None:
            tree += looked_up(item, take(aliases))
        elif theirs and kind in AS_OF:
            tree += joined_as_of(query, item, take(aliases), met(beside, fresh))
        else:
            tree += f" {kind} JOIN {right} ON {_all([*taken(aliases), *met(beside, fresh)])}"
        there, n = [*there, *fresh], n + len(fresh)
    conditions = [f"({said(p)})" for p in query.where] + taken({i.alias for i in main})
    if inside:
        where = [f"({said(p)})" for p in pending]
        beside = [i for i in main if i.joined not in AS_OF]
        where += [c for n, i in enumerate(inside) for c in met([*beside, *inside[:n]], [i])]
        member = query.member
        chosen = "1" if member is None else said(member[1])
        sources = f" {'CROSS JOIN' if not where else ','} ".join(source(i) for i in inside)
        asked = (
            f"{inside[0].joined} (SELECT {chosen} FROM {sources}{f' WHERE {_all(where)}' if where else ''})"
        )
        conditions.append(asked if member is None else f"{said(member[0])} {asked}")
    outputs = ", ".join(f"{said(o)} AS o{n}" for n, o in enumerate(query.outputs))
    return f"SELECT {outputs} FROM {tree}" + (f" WHERE {_all(conditions)}" if conditions else "")


def _all(conditions: Sequence[str]) -> str:
    return " AND ".join(conditions) or "TRUE"
