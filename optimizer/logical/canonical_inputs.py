"""Canonical inputs: one name for what means the same in different queries.

Expressions over them are canonical too.

Aliases are a person's choice. Before planning, every alias becomes a *canonical input*: the
stream's name, or `stream#2`, `stream#3`... for further occurrences in the same query. Ordinals
are chosen by structure, so queries that differ only in alias names become identical, and
equal sub-queries of different queries coincide and can be shared (OPTIMIZER: identity of a
prefix includes predicates, filters and windows, not names).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, product
from math import factorial, prod

from optimizer.algebra.digest import digest
from optimizer.algebra.expression import Call, Expression, columns_of, inputs_of, rename_inputs
from optimizer.algebra.types import common_type, widens
from optimizer.algebra.udf_names import commutes
from optimizer.logical.query import Query

_MIRRORED = {"gt": "lt", "ge": "le"}
_COMMUTATIVE = frozenset({"eq", "ne", "and", "or", "add", "multiply"})
_MAX_ASSIGNMENTS = 5040
"""Beyond it (more than seven like aliases) ties are broken by alias name instead of exhaustively."""


def stream_of(canonical_input: str) -> str:
    """The stream of a canonical input.

    >>> stream_of("departures#2")
    'departures'
    """
    return canonical_input.split("#", 1)[0]


def canonical_input(stream: str, ordinal: int) -> str:
    """The name of a stream's occurrence (`optimizer.physical.graph`).

    The first has no suffix.

    >>> canonical_input("departures", 1), canonical_input("departures", 2)
    ('departures', 'departures#2')
    """
    return stream if ordinal == 1 else f"{stream}#{ordinal}"


def canonical_expression(expression: Expression) -> Expression:
    """An equal expression in which mirrored and commuted forms coincide.

    `b > a` becomes `a < b`, and the arguments of =, <>, AND, OR, + and * are ordered by
    structure. Two arguments of + or * commute exactly in floating point too; longer chains
    are left alone because they do not associate.
    """
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(canonical_expression(argument) for argument in expression.arguments)
    function = expression.function
    if function in _MIRRORED:
        function, arguments = _MIRRORED[function], arguments[::-1]
    if function in _COMMUTATIVE or commutes(function):
        arguments = tuple(sorted(arguments, key=sort_key))
    return Call(function, arguments, expression.type)


@lru_cache(maxsize=1 << 16)
def sort_key(expression: Expression) -> tuple[str, str]:
    """A total order of expressions that depends on structure only."""
    first = min((f"{c.input}.{c.name}" for c in columns_of(expression)), default="")
    return first, repr(expression)


def conjuncts(expression: Expression) -> frozenset[Expression]:
    """The conjuncts of an expression in canonical form.

    Casts that SQL makes by itself are left out.

    With a of a narrower type than b, `cast(a) = b` and `a = b` are the same condition. A cast that
    loses something, or that makes both sides wider, is part of the condition.
    """
    if isinstance(expression, Call) and expression.function == "and":
        return frozenset(c for argument in expression.arguments for c in conjuncts(argument))
    if isinstance(expression, Call) and expression.function == "eq":
        return frozenset(
            {canonical_expression(Call("eq", _compared(*expression.arguments), expression.type))}
        )
    return frozenset({canonical_expression(expression)})


def _compared(first: Expression, second: Expression) -> tuple[Expression, Expression]:
    """An equality's sides with the fewest casts that keep the type it compares in."""
    if not first.type.comparable_with(second.type):
        return first, second
    common = common_type(first.type, second.type)
    left, right = (_unwidened(side) for side in (first, second))
    if common_type(left.type, right.type) is common:
        return left, right
    # Without its casts the equality would compare in a narrower type, in which other values are equal.
    return Call("cast", (left,), common), Call("cast", (right,), common)


def _unwidened(side: Expression) -> Expression:
    """What the outermost casts to wider types cast; any other expression itself."""
    while isinstance(side, Call) and side.function == "cast" and widens(side.arguments[0].type, side.type):
        side = side.arguments[0]
    return side


def canonical_names(queries: Sequence[Query]) -> tuple[dict[str, str], ...]:
    """For each query, the canonical input of every alias.

    A query that reads each stream once needs no choice. In a self-join ordinals go to
    the assignment under which most predicates coincide with those of queries without
    self-joins (so that they share), then to the structurally smallest one. The result does
    not depend on alias names, on query names or on the order of `queries`.

    Returns one mapping alias -> canonical input per query, in the order of `queries`.
    """
    names: list[dict[str, str]] = []
    reference: set[Expression] = set()
    for query in queries:
        simple = {i.alias: i.stream for i in query.inputs}
        if len(set(simple.values())) == len(simple):
            reference.update(_renamed(query.predicates, simple))
    for query in queries:
        names.append(_assign(query, reference))
    return tuple(names)


def _renamed(expressions: Iterable[Expression], names: Mapping[str, str]) -> list[Expression]:
    return [canonical_expression(rename_inputs(expression, names)) for expression in expressions]


def _assign(query: Query, reference: set[Expression]) -> dict[str, str]:
    occurrences: dict[str, list[str]] = defaultdict(list)
    for item in query.inputs:
        occurrences[item.stream].append(item.alias)
    if all(len(aliases) == 1 for aliases in occurrences.values()):
        return {aliases[0]: stream for stream, aliases in occurrences.items()}
    colors = _colors(query)
    by_alias = {item.alias: item.stream for item in query.inputs}
    streams = sorted(occurrences)
    ranked = [sorted(occurrences[stream], key=lambda a: (colors[a], a)) for stream in streams]
    may_share = any(blank_ordinals(rename_inputs(p, by_alias)) in reference for p in query.predicates)
    orders = [_orders(aliases, colors, may_share, _twins(query, aliases, colors)) for aliases in ranked]
    if prod(count for count, _ in orders) > _MAX_ASSIGNMENTS:
        return _named(streams, ranked)

    def rank(choice: dict[str, str]) -> tuple[int, list[str], list[str]]:
        predicates = _renamed(query.predicates, choice)
        shared = sum(predicate in reference for predicate in predicates)
        by_input = {name: colors[alias] for alias, name in choice.items()}
        outputs = _renamed((o.expression for o in query.outputs), choice)
        structure = [*sorted(digest("p", p) for p in predicates), *(digest("o", o) for o in outputs)]
        return -shared, [by_input[name] for name in sorted(by_input)], structure

    choices = (_named(streams, c) for c in product(*(found for _, found in orders)))
    return min(choices, key=rank)


def _orders(
    aliases: Sequence[str], colors: Mapping[str, str], may_share: bool, twins: Mapping[str, str]
) -> tuple[int, Iterator[tuple[str, ...]]]:
    """Orders to compare, and how many.

    All orders if sharing may decide, else those among equal colours.

    Twins are never compared in another order, since nothing distinguishes them.
    """

    def count(members: Sequence[str]) -> int:
        sizes = Counter(twins[alias] for alias in members)
        return factorial(len(members)) // prod(factorial(size) for size in sizes.values())

    if may_share:
        return count(aliases), _twins_in_order(tuple(aliases), twins)
    classes = [tuple(members) for _, members in groupby(aliases, key=lambda alias: colors[alias])]

    def within_classes() -> Iterator[tuple[str, ...]]:
        # A function, so that nothing is enumerated where there turn out to be too many.
        for parts in product(*(_twins_in_order(members, twins) for members in classes)):
            yield tuple(alias for part in parts for alias in part)

    return prod(count(members) for members in classes), within_classes()


def _twins_in_order(members: tuple[str, ...], twins: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Permutations that keep twins in order, as `itertools.permutations` lists them.

    Twelve inputs that nothing distinguishes have one of these, and 479 million permutations.
    """
    if not members:
        yield ()
    begun: set[str] = set()
    for number, first in enumerate(members):
        if twins[first] not in begun:
            begun.add(twins[first])
            for rest in _twins_in_order(members[:number] + members[number + 1 :], twins):
                yield (first, *rest)


def _twins(query: Query, aliases: Sequence[str], colors: Mapping[str, str]) -> dict[str, str]:
    """Each alias with the first alias that it can swap with in an unchanged query."""
    plain = {item.alias: item.alias for item in query.inputs}
    predicates = set(_renamed(query.predicates, plain))
    outputs = [output.expression for output in query.outputs]
    found: dict[str, str] = {}
    for alias in aliases:
        found[alias] = alias
        for other in dict.fromkeys(found.values()):
            swap = {**plain, alias: other, other: alias}
            if (
                other != alias
                and colors[alias] == colors[other]
                and set(_renamed(query.predicates, swap)) == predicates
                and [rename_inputs(output, swap) for output in outputs] == outputs
            ):
                found[alias] = other
                break
    return found


def _named(streams: Sequence[str], aliases: Sequence[Sequence[str]]) -> dict[str, str]:
    return {
        alias: canonical_input(stream, ordinal)
        for stream, ordered in zip(streams, aliases, strict=True)
        for ordinal, alias in enumerate(ordered, start=1)
    }


@lru_cache(maxsize=1024)
def _colors(query: Query) -> Mapping[str, str]:
    """Structure seen from each alias.

    Its stream, window and predicates, refined through its neighbours.

    Colour refinement (Weisfeiler and Leman): aliases of different colour are structurally different.
    """
    colors = {i.alias: digest("c", i.stream, i.window.seconds) for i in query.inputs}
    for _ in query.inputs:
        colors = {alias: digest("c", colors[alias], _seen_from(alias, query, colors)) for alias in colors}
    return colors


def _seen_from(alias: str, query: Query, colors: Mapping[str, str]) -> list[str]:
    names = {other: "self" if other == alias else color for other, color in colors.items()}
    return sorted(
        digest("p", canonical_expression(rename_inputs(predicate, names)))
        for predicate in query.predicates
        if alias in inputs_of(predicate)
    )


def blank_ordinals(expression: Expression) -> Expression:
    """The same expression over streams: `r#2.a = s.a` becomes `r.a = s.a`.

    Statistics belong to streams, not to occurrences, so this is what they are looked up by.

    >>> from optimizer.algebra.expression import Column
    >>> from optimizer.algebra.types import ColumnType
    >>> sides = (Column("r#2", "a", ColumnType.INT), Column("s", "a", ColumnType.INT))
    >>> blank_ordinals(Call("eq", sides, ColumnType.BOOLEAN)).arguments[0].input
    'r'
    """
    names = {name: stream_of(name) for name in inputs_of(expression)}
    return canonical_expression(rename_inputs(expression, names))
