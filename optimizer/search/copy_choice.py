"""Which copies of one store to keep, and which of them each probe goes to.

Each is paid for, and saves probes from being sent to all tasks.

A probe whose sender knows none of the kept copies' partitionings goes to all tasks (section 6.4.1's
chi). Candidates are numbered; sets of them are bit masks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import combinations
from typing import Any, TypeVar

EXHAUSTIVE_PARTITIONINGS = 6
"""Up to this many candidates of one store all sets of copies are tried."""

CopyName = TypeVar("CopyName", bound=Hashable)


def best_copies(
    tasks: int,
    weights: tuple[float, ...],
    routed: float,
    by_known: dict[int, float],
    *,
    single: bool = False,
) -> tuple[float, int]:
    """The cheapest set of copies of one store, and the store's cost.

    Args:
        tasks: of the store.
        weights: objective per copy of each candidate partitioning.
        routed: cost of all probes if none is sent more than once.
        by_known: what it costs to send them to one task more, by the partitionings that their senders know.
        single: keep one copy only.

    >>> best_copies(3, (10.0, 10.0), 8.0, {0b01: 6.0, 0b10: 2.0})
    (22.0, 1)
    >>> best_copies(9, (10.0, 10.0), 8.0, {0b01: 6.0, 0b10: 2.0})
    (28.0, 3)
    """
    extra = tasks - 1
    count = len(weights)
    if count == 1 or not extra:
        least = min(weights)
        chosen = weights.index(least)
        unknown = 0.0
        if extra:
            for known, sent in by_known.items():
                if not known & 1:
                    unknown += sent
        return least + routed + extra * unknown, 1 << chosen
    sums = tuple(by_known.items())
    best_cost, chosen = min((copies_cost(weights, routed, sums, extra, 1 << i), 1 << i) for i in range(count))
    if single:
        return best_cost, chosen
    if count <= EXHAUSTIVE_PARTITIONINGS:
        ordered = sorted(weights)
        hopeless = by_known.get(0, 0.0) * extra + routed
        for size in range(2, count + 1):
            if sum(ordered[:size]) + hopeless >= best_cost:
                break
            for picks in combinations(range(count), size):
                copies = sum([1 << i for i in picks])
                total = copies_cost(weights, routed, sums, extra, copies)
                if total < best_cost - 1e-12 * abs(best_cost):
                    best_cost, chosen = total, copies
        return best_cost, chosen
    improved = True
    while improved:
        improved = False
        for i in range(count):
            copies = chosen ^ (1 << i)
            if copies:
                total = copies_cost(weights, routed, sums, extra, copies)
                if total < best_cost - 1e-12 * abs(best_cost):
                    best_cost, chosen, improved = total, copies, True
    return best_cost, chosen


def copies_cost(
    weights: tuple[float, ...],
    routed: float,
    by_known: Iterable[tuple[int, float]],
    extra: int,
    copies: int,
) -> float:
    """What a store costs with the given copies.

    See `best_copies`; `extra` is one less than its tasks.
    """
    unknown = 0.0
    for known, sent in by_known:
        if not known & copies:
            unknown += sent
    stored = 0.0
    for i, weight in enumerate(weights):
        if copies >> i & 1:
            stored += weight
    return stored + routed + extra * unknown


def relieved_copies(copies: int, count: int, cost: Callable[[int], Any], *, single: bool = False) -> int:
    """The cheapest copies by a cost that counts overload too.

    Of more than six candidates the best that is found.

    Args:
        copies: to begin with.
        count: of candidates.
        cost: of a set of copies; whatever compares.
        single: keep one copy only.
    """
    ones = [1 << number for number in range(count)]
    if single:
        return min([copies, *ones], key=cost)
    if count <= EXHAUSTIVE_PARTITIONINGS:
        return min(range(1, 1 << count), key=cost)
    while True:
        better = min([copies, *(copies ^ one for one in ones if copies != one)], key=cost)
        if better == copies:
            return copies
        copies = better


def assign_probes(
    probes: Iterable[tuple[float, Sequence[CopyName], int]], loads: dict[CopyName, float]
) -> list[CopyName]:
    """Give each probe in turn the copy whose tasks have least to do by then.

    Args:
        probes: tuples per second, the copies that it may go to, and how many tasks share these tuples.
        loads: what a task of each copy receives per second without probes; they are added.

    >>> loads = {"a": 1.0, "b": 2.0}
    >>> assign_probes([(8.0, ["a", "b"], 4), (3.0, ["a", "b"], 1)], loads), loads
    (['a', 'b'], {'a': 3.0, 'b': 5.0})
    """
    assigned = []
    for rate, ways, receivers in probes:
        copy = min(ways, key=loads.__getitem__)
        loads[copy] += rate / receivers
        assigned.append(copy)
    return assigned
