"""Random instances after dissertation section 7.3.3, for tests and benchmarks.

An environment has relations with three attributes each, and joins between attributes, each
with a selectivity of one over the arrival rate. In the *matching* environment each
attribute joins exactly one other; in the *free* one any two attributes of different
relations may be joined. Queries are grown: from a random relation by random joins.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from optimizer.search.problem import Attribute, JoinPredicate, JoinQuery, Problem, Relation

ATTRIBUTES = ("a", "b", "c")


def environment(
    count: int,
    seed: int,
    *,
    rate: float = 100.0,
    varied: bool = False,
    tasks: int = 4,
    matching: bool = True,
) -> tuple[tuple[Relation, ...], tuple[JoinPredicate, ...]]:
    """Relations and the joins between them.

    Args:
        count: number of relations.
        rate: tuples per second of each relation.
        varied: draw rates between a fifth and five times `rate` instead, log-uniformly, and
            selectivities between a fifth and five times one over the rate.
        tasks: tasks per store.
        matching: join each attribute with exactly one other.
    """
    random = Random(f"environment {count} {seed}")
    width = len(str(count - 1))
    names = [f"r{i:0{width}d}" for i in range(count)]
    rates = {name: rate * (5 ** random.uniform(-1, 1) if varied else 1.0) for name in names}
    relations = tuple(Relation(name, name, rates[name], 1.0, tasks) for name in names)
    attributes = [Attribute(name, a) for name in names for a in ATTRIBUTES]
    pairs = _matching(attributes, random) if matching else _any_pairs(attributes)
    predicates = []
    for left, right in pairs:
        mean = (rates[left.relation] * rates[right.relation]) ** 0.5
        selectivity = min(1.0, (5 ** random.uniform(-1, 1) if varied else 1.0) / mean)
        name = f"{left.relation}.{left.name}={right.relation}.{right.name}"
        relations_of = frozenset({left.relation, right.relation})
        predicates.append(JoinPredicate(name, relations_of, selectivity, (left, right)))
    return relations, tuple(predicates)


def _matching(attributes: Sequence[Attribute], random: Random) -> list[tuple[Attribute, Attribute]]:
    """A random perfect matching in which no attribute joins one of its own relation."""
    while True:
        shuffled = list(attributes)
        random.shuffle(shuffled)
        if len(shuffled) % 2:
            shuffled.pop()
        pairs = list(zip(shuffled[::2], shuffled[1::2], strict=True))
        clashes = [i for i, (left, right) in enumerate(pairs) if left.relation == right.relation]
        for i in clashes:
            j = random.randrange(len(pairs))
            (a, b), (c, d) = pairs[i], pairs[j]
            pairs[i], pairs[j] = (a, d), (c, b)
        if all(left.relation != right.relation for left, right in pairs):
            return sorted((min(pair), max(pair)) for pair in pairs)


def _any_pairs(attributes: Sequence[Attribute]) -> list[tuple[Attribute, Attribute]]:
    return [
        (left, right)
        for i, left in enumerate(attributes)
        for right in attributes[i + 1 :]
        if left.relation != right.relation
    ]


def draw_queries(
    predicates: Sequence[JoinPredicate],
    relations: Sequence[Relation],
    count: int,
    size: int,
    seed: int,
) -> tuple[JoinQuery, ...]:
    """Up to `count` distinct queries over `size` relations each.

    Fewer if the environment does not have as many: drawing stops after fifty times `count`
    attempts, which the dissertation's elimination of duplicates amounts to.
    """
    random = Random(f"queries {count} {size} {seed}")
    joins: dict[str, list[JoinPredicate]] = {relation.id: [] for relation in relations}
    for predicate in predicates:
        for relation in sorted(predicate.relations):
            joins[relation].append(predicate)
    names = sorted(joins)
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], None] = {}
    for _ in range(50 * count):
        if len(found) == count:
            break
        covered = {random.choice(names)}
        chosen: set[str] = set()
        while len(covered) < size:
            growing = [p for r in sorted(covered) for p in joins[r] if not p.relations <= covered]
            if not growing:
                break
            predicate = random.choice(growing)
            chosen.add(predicate.id)
            covered |= predicate.relations
        if len(covered) == size:
            found[tuple(sorted(covered)), tuple(sorted(chosen))] = None
    width = len(str(max(len(found) - 1, 1)))
    return tuple(
        JoinQuery(f"q{i:0{width}d}", frozenset(members), frozenset(chosen))
        for i, (members, chosen) in enumerate(found)
    )


def instance(
    queries: int,
    size: int,
    relations: int,
    seed: int = 0,
    *,
    varied: bool = False,
    tasks: int = 4,
    matching: bool = True,
) -> Problem:
    """A problem of `queries` joins over `size` of `relations` relations; equal seeds, equal problems.

    >>> len(instance(10, 3, 100).queries)
    10
    """
    bases, predicates = environment(relations, seed, varied=varied, tasks=tasks, matching=matching)
    drawn = draw_queries(predicates, bases, queries, size, seed)
    used = {p for query in drawn for p in query.predicates}
    return Problem(bases, tuple(p for p in predicates if p.id in used), drawn)
