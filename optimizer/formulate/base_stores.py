"""Say which relations of a stream share a base store.

One store for all takes in what any filter passes, once. A probe for a few of its tuples looks through
all of them, though, and so do stores of their own pay where filters pass little, or where one filter's
probes are many. Relations with equal filters always share: windows are checked where tuples meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from optimizer.algebra.digest import digest
from optimizer.formulate.model import Occurrence, over

SeparateStores = Mapping[str, tuple[frozenset[str], ...]]
"""By stream: sets of filters (`filter_key`), each with a store of its own. All others share one more."""


@lru_cache(maxsize=1 << 16)
def filter_key(relation: Occurrence) -> str:
    """Identify a relation's filter, on whichever occurrence; empty for none."""
    condition = relation.filter
    return "" if condition is None else digest("F", over(condition, {relation.input: relation.stream}))


def store_of(relation: Occurrence, separate: SeparateStores) -> str:
    """The name of the base store that keeps a relation.

    It is the stream's if the relation shares the common one.

    >>> from optimizer.logical.window import UNBOUNDED
    >>> whole = Occurrence("orders", "orders", frozenset({frozenset()}), UNBOUNDED)
    >>> store_of(whole, {}), stream_of_store(store_of(whole, {"orders": (frozenset({""}),)}))
    ('orders', 'orders')
    """
    groups = separate.get(relation.stream)
    if groups is None:
        return relation.stream
    key = filter_key(relation)
    own = next((group for group in groups if key in group), None)
    return relation.stream if own is None else f"{relation.stream}?{digest('B', sorted(own))[2:]}"


def stream_of_store(store: str) -> str:
    """The stream that a base store keeps, by the store's name."""
    return store.partition("?")[0]


def together(groups: Iterable[SeparateStores]) -> SeparateStores:
    """The separate stores of several plans as those of one.

    The first to divide a stream is right.
    """
    found: dict[str, tuple[frozenset[str], ...]] = {}
    for separate in groups:
        for stream, own in separate.items():
            found.setdefault(stream, own)
    return found
