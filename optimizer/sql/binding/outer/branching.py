"""Outer, semi and anti joins to branches, conjunctive parts of a query.

`a LEFT JOIN b ON p` has the branch of a and b with p, and the branch of a without any such b, in which b's
columns are NULL. What is joined, asked or put out behind it has NULL in their place there, and is folded: a
branch whose conditions can then never be true is none. Chains of joins give products of branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Literal as Kind
from typing import TypeAlias

from optimizer.algebra.connectivity import connected_components
from optimizer.algebra.expression import Call, Column, Expression, Literal, inputs_of
from optimizer.algebra.functions import FUNCTIONS
from optimizer.algebra.normalize import conjuncts, normal_form, ordered_call
from optimizer.algebra.typing import call
from optimizer.logical.query import Absence, Branch, Input, Output
from optimizer.sql.binding.outer.in_force import Versions
from optimizer.sql.binding.scalar.constants import ConstantError, fold

JoinKind: TypeAlias = Kind["INNER", "LEFT", "RIGHT", "FULL", "ASOF", "ASOF LEFT"]
JOIN_KINDS: Mapping[str, JoinKind] = {
    "": "INNER",
    "INNER": "INNER",
    "CROSS": "INNER",
    **{f"{side}{outer}": side for side in ("LEFT", "RIGHT", "FULL") for outer in ("", " OUTER")},
    "ASOF": "ASOF",
    "ASOF INNER": "ASOF",
    "ASOF LEFT": "ASOF LEFT",
    "ASOF LEFT OUTER": "ASOF LEFT",
}
"""What the words before JOIN mean."""
MOST_BRANCHES = 32
"""Of one query: so many are planned together in seconds."""
_STRICT = frozenset({"comparison", "arithmetic"})
"""Rules of functions that are NULL where any argument is; `in` is where its first one is."""


class Unanswerable(Exception):
    """A join that has a meaning, but no plan: what was found, and what would have one."""

    def __init__(self, found: str, expected: str) -> None:
        self.found, self.expected = found, expected
        super().__init__(found)


@dataclass(frozen=True, slots=True)
class Part:
    """A branch in the making."""

    aliases: frozenset[str]
    predicates: tuple[Expression, ...] = ()
    absences: tuple[Absence, ...] = ()
    missing: frozenset[str] = frozenset()
    """Aliases whose columns are NULL."""
    accepted: tuple[tuple[str, Expression], ...] = ()
    """(alias, condition) of what an as-of join finds: its columns are NULL unless the condition is true."""

    @property
    def found(self) -> frozenset[str]:
        """The aliases of partners that as-of joins find."""
        return frozenset(item.alias for absence in self.absences if absence.newest for item in absence.inputs)

    @property
    def visible(self) -> frozenset[str]:
        """All aliases whose columns may be read."""
        return self.aliases | self.missing | self.found

    def read(self, expression: Expression) -> Expression:
        """An expression over the branch, in which what is not accepted is NULL."""
        match expression:
            case Column():
                needed = [condition for alias, condition in self.accepted if alias == expression.input]
                if needed:
                    accepted = reduce(partial(call, "and"), needed)
                    return call("case", accepted, expression, Literal(None, expression.type))
            case Call() if not self.found.isdisjoint(inputs_of(expression)):
                arguments = tuple(self.read(argument) for argument in expression.arguments)
                return Call(expression.function, arguments, expression.type)
        return expression


Parts: TypeAlias = Sequence[Part]


def joined(
    kind: JoinKind,
    left: Parts,
    right: Parts,
    on: Sequence[Expression],
    inputs: Mapping[str, Input],
    versions: Versions | None = None,
) -> list[Part]:
    """The branches of a join of two sides; `versions` if the right one is a table.

    Raises `Unanswerable` where a side is to be absent that is itself defined by what is absent.
    """
    if kind in ("ASOF", "ASOF LEFT"):
        (other,) = right
        return [part for one in left if (part := _as_of(kind, one, other, on, inputs, versions)) is not None]
    found = [part for one in left for other in right if (part := _matched(one, other, on)) is not None]
    if kind in ("LEFT", "FULL"):
        found += [_unmatched(one, right, on, inputs) for one in left]
    if kind in ("RIGHT", "FULL"):
        found += [_unmatched(one, left, on, inputs) for one in right]
    if len(found) > MOST_BRANCHES:
        raise Unanswerable(f"outer joins of {len(found)} cases", f"at most {MOST_BRANCHES} in a query")
    return found


def restricted(parts: Parts, where: Sequence[Expression]) -> list[Part]:
    """The branches whose results fulfil the conditions too."""
    return [
        replace(part, predicates=(*part.predicates, *conditions))
        for part in parts
        if (conditions := _conditions(where, part.missing)) is not None
    ]


def with_partners(
    parts: Parts, others: Parts, on: Sequence[Expression], inputs: Mapping[str, Input], present: bool
) -> list[Part]:
    """The branches whose combinations have a partner among `others`, or have none.

    Raises `Unanswerable` as `joined` does.
    """
    found = []
    for part in parts:
        asked = _asked(part, others, on, inputs)
        if present and len(asked) > 1:
            raise Unanswerable("EXISTS of a subquery with an outer join", "EXISTS of inner joins")
        if not present:
            found.append(replace(part, absences=(*part.absences, *asked)))
        elif asked:
            found.append(replace(part, absences=(*part.absences, replace(asked[0], present=True))))
    return found


def branches(parts: Parts, outputs: Sequence[Output], inputs: Mapping[str, Input]) -> tuple[Branch, ...]:
    """The branches with their outputs."""
    found = []
    for part in parts:
        at_once = [p for p in dict.fromkeys(part.predicates) if part.found.isdisjoint(inputs_of(p))]
        found.append(
            Branch(
                tuple(inputs[alias] for alias in sorted(part.aliases)),
                tuple(at_once),
                tuple(Output(o.name, part.read(without(o.expression, part.missing))) for o in outputs),
                tuple(dict.fromkeys(part.absences)),
                len(connected_components(sorted(part.aliases), [inputs_of(p) for p in at_once])) > 1,
                tuple(part.read(p) for p in dict.fromkeys(part.predicates) if p not in at_once),
            )
        )
    return tuple(found)


def without(expression: Expression, missing: frozenset[str]) -> Expression:
    """An expression in which the columns of some inputs are NULL, folded.

    >>> from optimizer.algebra.types import ColumnType
    >>> sides = (Column("r", "a", ColumnType.INT), Column("s", "a", ColumnType.INT))
    >>> without(Call("eq", sides, ColumnType.BOOLEAN), frozenset({"s"})).value is None
    True
    """
    match expression:
        case Column() if expression.input in missing:
            return Literal(None, expression.type)
        case Call() if not missing.isdisjoint(inputs_of(expression)):
            arguments = tuple(without(argument, missing) for argument in expression.arguments)
            return _simplified(Call(expression.function, arguments, expression.type))
    return expression


def _simplified(call: Call) -> Expression:
    function = FUNCTIONS.get(call.function)
    if function is None:
        return call  # a user function, which says itself what it makes of NULL
    if all(isinstance(argument, Literal) for argument in call.arguments):
        try:
            return fold(call)
        except ConstantError:
            # An expression that raises has no value.
            return Literal(None, call.type)
    nulls = [isinstance(a, Literal) and a.value is None for a in call.arguments]
    if function.rule in _STRICT and (nulls[0] if call.function == "in" else any(nulls)):
        return Literal(None, call.type)
    return normal_form(ordered_call(call.function, call.arguments, call.type))


def _conditions(on: Iterable[Expression], missing: frozenset[str]) -> tuple[Expression, ...] | None:
    """Conditions where some inputs are NULL; None if they can then not be true.

    Raises `Unanswerable` for a condition that only a user function can decide.
    """
    found: list[Expression] = []
    for condition in on:
        for part in conjuncts(without(condition, missing)):
            if isinstance(part, Literal):
                if part.value is not True:
                    return None
            elif not inputs_of(part):
                raise Unanswerable(
                    "a user function of nothing but NULL",
                    "a condition that reads a column of the side that is kept",
                )
            else:
                found.append(part)
    return tuple(found)


def _matched(one: Part, other: Part, on: Sequence[Expression]) -> Part | None:
    missing = one.missing | other.missing
    conditions = _conditions(on, missing)
    if conditions is None:
        return None
    return Part(
        one.aliases | other.aliases,
        (*one.predicates, *other.predicates, *conditions),
        (*one.absences, *other.absences),
        missing,
        (*one.accepted, *other.accepted),
    )


def _unmatched(one: Part, others: Parts, on: Sequence[Expression], inputs: Mapping[str, Input]) -> Part:
    gone = frozenset().union(*(other.visible for other in others))
    asked = _asked(one, others, on, inputs)
    return replace(one, absences=(*one.absences, *asked), missing=one.missing | gone)


def _asked(one: Part, others: Parts, on: Sequence[Expression], inputs: Mapping[str, Input]) -> list[Absence]:
    """What of `others` joins with a branch: each of them that can."""
    found = []
    for other in others:
        # A subquery's own conditions may read what is missing around it.
        conditions = _conditions((*other.predicates, *on), one.missing | other.missing)
        if conditions is None:
            continue
        if other.absences:
            raise Unanswerable(
                "a join that is kept whole beside a side with an outer or as-of join of its own",
                "inner joins on that side, or a condition on its optional streams",
            )
        found.append(_absence(one, other, conditions, inputs))
    return found


def _as_of(
    kind: JoinKind,
    one: Part,
    other: Part,
    on: Sequence[Expression],
    inputs: Mapping[str, Input],
    versions: Versions | None,
) -> Part | None:
    """A branch with its newest partner; None if it must have one and cannot."""
    conditions = _conditions((*other.predicates, *on), one.missing)
    if conditions is None:
        return None if kind == "ASOF" else replace(one, missing=one.missing | other.aliases)
    asked: list[Expression] = []
    if versions is not None:
        asked = [*(p for p in conditions if not versions.found_by(p)), *versions.existing]
        conditions = tuple(p for p in conditions if versions.found_by(p))
    joined = replace(_absence(one, other, conditions, inputs), present=kind == "ASOF", newest=True)
    found = replace(one, absences=(*one.absences, joined))
    if kind == "ASOF":
        return replace(found, predicates=(*found.predicates, *asked))
    return replace(found, accepted=(*found.accepted, *((min(other.aliases), p) for p in asked)))


def _absence(
    one: Part, other: Part, conditions: Sequence[Expression], inputs: Mapping[str, Input]
) -> Absence:
    early = one.found & frozenset[str]().union(*map(inputs_of, conditions))
    if early:
        raise Unanswerable(
            f"{min(early)}, which an ASOF JOIN finds, in what another join waits for",
            "conditions on the other streams, or in WHERE",
        )
    return Absence(
        tuple(inputs[alias] for alias in sorted(other.aliases)),
        tuple(sorted(one.aliases)),
        tuple(sorted(set(conditions), key=repr)),
    )
