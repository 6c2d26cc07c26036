"""The join graph of a query: its sub-joins, and how one becomes the next.

A shape knows relations 0..n-1 as bits and predicates as bit masks, no rates and no names,
so equal shapes of different queries are enumerated once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from optimizer.algebra.connectivity import connected_components

STATE_LIMIT = 3000
"""Connected sub-joins of one query beyond which only those on chosen sequences are looked at."""
STEP_LIMIT = 20_000
"""The same for steps, each counted once for every relation that may have begun it: a clique of nine has too
many. They are counted and not timed, so that equal input gives equal plans on slow and busy machines too."""
NESTED_LIMIT = 5_000_000
"""The same for steps times results that may be stored: searches look at the steps inside each result."""
FEW_RELATIONS = 8
"""So many have few sub-joins however they are joined."""
EXHAUSTIVE_RELATIONS = 10
"""Up to this many relations all pairs of disjoint sub-joins are cheap to enumerate."""


@dataclass(frozen=True, slots=True)
class ShapeStep:
    """A step from a partial result over `source` to a larger one.

    Probing a store of `store` gives their union.
    """

    source: int
    store: int
    starts: tuple[int, ...]
    """Members of `source` whose tuples can arrive there."""

    @property
    def target(self) -> int:
        return self.source | self.store


@dataclass(frozen=True, slots=True)
class Shape:
    """All states and steps of a query over relations 0..n-1, in increasing size."""

    size: int
    states: tuple[int, ...]
    """Masks of the partial results that some probe order passes, single relations first."""
    materializable: tuple[int, ...]
    """Masks of two or more relations that are joined by predicates alone and can be fed."""
    steps: tuple[ShapeStep, ...]


def bits(mask: int) -> tuple[int, ...]:
    """The positions of the one bits, ascending: `bits(0b101) == (0, 2)`.

    >>> bits(0b101)
    (0, 2)
    """
    positions = []
    while mask:
        low = mask & -mask
        positions.append(low.bit_length() - 1)
        mask ^= low
    return tuple(positions)


def is_connected(mask: int, predicates: Iterable[int]) -> bool:
    """True if the predicates inside `mask`, seen as hyperedges, join all of it.

    >>> is_connected(0b111, [0b011, 0b110]), is_connected(0b101, [0b011, 0b110])
    (True, False)
    """
    inside = [p for p in predicates if p & ~mask == 0]
    reached = mask & -mask
    grown = True
    while grown:
        grown = False
        for predicate in inside:
            if predicate & reached and predicate & ~reached:
                reached |= predicate
                grown = True
    return reached == mask


def artificial_links(size: int, predicates: tuple[int, ...]) -> tuple[int, ...]:
    """Pairs of relations that must be combined without a predicate between the two.

    Binary predicates that join everything need none, so cross products are never
    candidates. Otherwise a predicate over three or more relations is preceded by cross
    steps among its relations, and what no predicate joins is an explicit CROSS JOIN
    (section 7.1: artificial true-join predicates).

    >>> artificial_links(3, (0b011, 0b110)), artificial_links(3, (0b111,)), artificial_links(2, ())
    ((), (3, 5, 6), (3,))
    """
    everything = (1 << size) - 1
    binary = [p for p in predicates if p.bit_count() == 2]
    component = _component_numbers(size, binary)
    if len(set(component)) == 1:
        return ()
    links = {
        (1 << i) | (1 << j)
        for p in predicates
        if p.bit_count() > 2
        for i in bits(p)
        for j in bits(p)
        if component[i] != component[j]
    }
    if not is_connected(everything, [*binary, *links]):
        component = _component_numbers(size, [*binary, *links])
        links |= {(1 << i) | (1 << j) for i in range(size) for j in range(i) if component[i] != component[j]}
    return tuple(sorted(links))


def _component_numbers(size: int, pairs: Iterable[int]) -> list[int]:
    """The number of each relation's component."""
    components = connected_components(range(size), [bits(pair) for pair in pairs])
    numbers = {relation: number for number, members in enumerate(components) for relation in members}
    return [numbers[relation] for relation in range(size)]


def count_states(size: int, predicates: tuple[int, ...], limit: int) -> int:
    """The number of linked sets of relations, or `limit + 1` if there are more.

    >>> count_states(3, (0b011, 0b110), limit=100)
    6
    """
    return len(_linked(size, predicates, limit))


def _linked(size: int, predicates: tuple[int, ...], limit: int) -> set[int]:
    """Sets of relations grown one joinable relation at a time; stops beyond `limit`."""
    links = (*predicates, *artificial_links(size, predicates))
    found = {1 << i for i in range(size)}
    frontier = sorted(found)
    while frontier:
        grown = set()
        for mask in frontier:
            for i in range(size):
                wider = mask | 1 << i
                if wider not in found and _joinable(mask, 1 << i, links):
                    found.add(wider)
                    grown.add(wider)
                    if len(found) > limit:
                        return found
        frontier = sorted(grown)
    return found


def _joinable(source: int, store: int, links: Iterable[int]) -> bool:
    union = source | store
    return any(p & source and p & store and p & ~union == 0 for p in links)


def is_searched_whole(size: int, predicates: tuple[int, ...], mirs: bool) -> bool:
    """True if all sub-joins of a query are few enough to be looked at."""
    few = size <= FEW_RELATIONS or count_states(size, predicates, STATE_LIMIT) <= STATE_LIMIT
    return few and shape_of(size, predicates, mirs) is not None


def _neighbours(size: int, pairs: Sequence[int], ordered: Sequence[int]) -> dict[int, int]:
    """Per set of relations those outside of it that a binary predicate joins to it.

    `ordered` are the sets, each behind those that it is made of.
    """
    neighbours: dict[int, int] = {}
    for i in range(size):
        neighbours[1 << i] = 0
        for p in pairs:
            if p >> i & 1:
                neighbours[1 << i] |= p & ~(1 << i)
    for mask in ordered:
        if mask not in neighbours:
            low = mask & -mask
            rest = neighbours.get(mask ^ low)
            if rest is None:
                rest = 0
                for i in bits(mask ^ low):
                    rest |= neighbours[1 << i]
            neighbours[mask] = (neighbours[low] | rest) & ~mask
    return neighbours


@lru_cache(maxsize=4096)
def shape_of(
    size: int, predicates: tuple[int, ...], mirs: bool, allowed: frozenset[int] | None = None
) -> Shape | None:
    """Enumerate a query's states and steps; None if these are more than are searched.

    `predicates` are sorted, distinct masks. `allowed` limits the states to look at, for
    queries with more than are searched; without `mirs` there are never too many of these. A
    materialized result is only a candidate if predicates join it and each of its relations can
    start an order that produces it.
    """
    links = (*predicates, *artificial_links(size, predicates))
    pairs = [p for p in links if p.bit_count() == 2]
    hyperedges = tuple(p for p in links if p.bit_count() > 2)
    candidates = _linked(size, predicates, STATE_LIMIT) if allowed is None else set(allowed)
    ordered = sorted(candidates, key=lambda m: (m.bit_count(), m))
    neighbours = _neighbours(size, pairs, ordered)
    starts_of: dict[int, int] = {1 << i: 1 << i for i in range(size)}
    stores = {1 << i for i in range(size)}
    steps: list[ShapeStep] = []
    counted = 0
    for union in ordered:
        if union.bit_count() == 1:
            continue
        reached = 0
        for source in _splits(union, ordered, size) if mirs else _without_one(union):
            starts = starts_of.get(source, 0)
            store = union ^ source
            if not starts or store not in stores:
                continue
            if neighbours[source] & store or (hyperedges and _joinable(source, store, hyperedges)):
                steps.append(ShapeStep(source, store, bits(starts)))
                reached |= starts
                counted += starts.bit_count()
        if counted > STEP_LIMIT and (mirs or allowed is None):
            return None
        starts_of[union] = reached
        full = union == (1 << size) - 1
        if mirs and not full and reached == union and is_connected(union, predicates):
            stores.add(union)
    if counted * (len(stores) - size) > NESTED_LIMIT:
        return None
    return Shape(
        size=size,
        states=tuple(m for m in ordered if starts_of[m]),
        materializable=tuple(m for m in ordered if m in stores and m.bit_count() > 1),
        steps=tuple(steps),
    )


def widest_shape(
    masks: tuple[int, ...],
    mirs: bool,
    contents: Sequence[float],
    factors: Sequence[tuple[int, float]],
) -> Shape:
    """The sub-joins to search, all of them if they are not too many.

    Otherwise those on one sequence from each start; or these over base stores alone. For the arguments see
    `small_sequences`.
    """
    size = len(contents)
    if is_searched_whole(size, masks, mirs):
        whole = shape_of(size, masks, mirs)
        assert whole is not None  # `is_searched_whole` says so
        return whole
    allowed = small_sequences(contents, factors, (*masks, *artificial_links(size, masks)))
    few = len(allowed) <= STATE_LIMIT
    found = shape_of(size, masks, mirs, allowed) if few else None
    found = found or shape_of(size, masks, False, allowed)
    assert found is not None  # without materialized results there are never too many
    return found


def _splits(union: int, ordered: list[int], size: int) -> Iterable[int]:
    """The nonempty proper subsets of `union` that may be sources.

    Ascending by size and value.
    """
    if size <= EXHAUSTIVE_RELATIONS:
        subsets = []
        subset = (union - 1) & union
        while subset:
            subsets.append(subset)
            subset = (subset - 1) & union
        return reversed(subsets)
    return (mask for mask in ordered if mask & ~union == 0 and mask != union)


def _without_one(union: int) -> Iterable[int]:
    """Sources of `union` where only single relations are stored, ascending."""
    return sorted(union ^ (1 << i) for i in bits(union))


def small_sequences(
    contents: Sequence[float], predicates: Sequence[tuple[int, float]], links: Sequence[int]
) -> frozenset[int]:
    """Masks on a greedy sequence from each relation: the smallest partial result next.

    For queries too dense to enumerate. Algorithm 1's look-ahead would cost n^4 for them; this costs a look
    at every predicate for every start.

    Args:
        contents: tuples of each relation within its window.
        predicates: mask and selectivity of each.
        links: masks of what joins relations: the predicates' and `artificial_links`.
    """
    size = len(contents)
    touching = [[p for p in predicates if p[0] >> i & 1] for i in range(size)]
    linked = [[link for link in links if link >> i & 1] for i in range(size)]
    allowed = {1 << i for i in range(size)}
    for start in range(size):
        mask, growth, near = 0, list(contents), 0
        newest = start
        while True:
            mask |= 1 << newest
            allowed.add(mask)
            for inside, selectivity in touching[newest]:
                missing = inside & ~mask
                if missing.bit_count() == 1:
                    growth[missing.bit_length() - 1] *= selectivity
            for link in linked[newest]:
                missing = link & ~mask
                if missing.bit_count() == 1:
                    near |= missing
            left = bits(near & ~mask)
            if not left:
                break
            newest = min(left, key=lambda i: (growth[i], i))
    return frozenset(allowed)
