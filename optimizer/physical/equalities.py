"""What equality predicates imply, and how they split at a probe."""

from __future__ import annotations

from collections.abc import Iterable

from optimizer.algebra.expression import Call, Column, Expression, columns_of
from optimizer.algebra.types import ColumnType, common_type
from optimizer.logical.canonical_inputs import sort_key
from optimizer.physical.rules import Equality


def hashes_agree(left: ColumnType, right: ColumnType) -> bool:
    """True if values equal in SQL hash alike, the one cast to the type of the other.

    Bigints and decimals compare with doubles as doubles, so different ones can equal one double: such an
    equality filters, but it cannot say which task holds a tuple.

    >>> hashes_agree(ColumnType.INT, ColumnType.DOUBLE)
    True
    """
    if ColumnType.DOUBLE not in (left, right):
        return True
    return not any(kind is ColumnType.BIGINT or kind.is_decimal for kind in (left, right))


def equality_class(column: Column, predicates: Iterable[Expression]) -> frozenset[Column]:
    """The columns that equal `column` wherever all predicates hold, itself included."""
    left = [
        p.arguments
        for p in predicates
        if isinstance(p, Call)
        and p.function == "eq"
        and hashes_agree(p.arguments[0].type, p.arguments[1].type)
    ]
    reached, grown = {column}, True
    while grown:
        grown, pairs, left = False, left, []
        for one, other in pairs:
            if not (isinstance(one, Column) and isinstance(other, Column)):
                continue
            if one in reached or other in reached:
                reached |= {one, other}
                grown = True
            else:
                left.append((one, other))
    return frozenset(reached)


def split_equality(predicate: Expression, bound: frozenset[str], stored: frozenset[str]) -> Equality | None:
    """The predicate as `probe = stored`, if each side lies on one side of the probe.

    Sides of different types are cast to their common one, which is how SQL compares them.
    """
    if not (isinstance(predicate, Call) and predicate.function == "eq"):
        return None
    left, right = predicate.arguments
    for probe, kept in ((left, right), (right, left)):
        probe_inputs = {c.input for c in columns_of(probe)}
        kept_inputs = {c.input for c in columns_of(kept)}
        if probe_inputs and kept_inputs and probe_inputs <= bound and kept_inputs <= stored:
            common = common_type(probe.type, kept.type)
            return Equality(cast(probe, common), cast(kept, common))
    return None


def split_conditions(
    conditions: Iterable[Expression], bound: frozenset[str], stored: frozenset[str]
) -> tuple[tuple[Equality, ...], tuple[Expression, ...]]:
    """Equalities to hash on, and the other conditions, each in a fixed order."""
    split = {p: split_equality(p, bound, stored) for p in sorted(conditions, key=sort_key)}
    return (
        tuple(equality for equality in split.values() if equality is not None),
        tuple(predicate for predicate, equality in split.items() if equality is None),
    )


def cast(expression: Expression, to: ColumnType) -> Expression:
    return expression if expression.type == to else Call("cast", (expression,), to)
