"""GROUP BY and DISTINCT of a query's combinations, by buckets or without an end.

A group's bucket ends some time, and until the watermark is as far behind that as tuples of the group can
still come the group waits. Then it is final and leaves once. Groups without a bucket are *running*: each
batch says which of them changed, and their states stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from optimizer.algebra.aggregates import Scheme, scheme
from optimizer.algebra.digest import ADDED
from optimizer.algebra.expression import Expression
from optimizer.algebra.types import ColumnType

GROUP = "@group"
"""The input that a finished group's keys and aggregates are columns of."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The stretch of event time that a group is about."""

    key: str
    """The key that says when it begins."""
    size_us: int
    """How long after its beginning event times in it may be, microseconds; the end is not in it."""
    aliases: tuple[str, ...]
    """The newest event time of these is in it, sorted."""
    slide_us: int = 0
    """How long after one bucket the next one begins if they overlap; a key is then the last to begin."""
    overlapping: int = 1
    """In how many buckets an event time is."""
    ahead_us: int = field(default=0, metadata=ADDED)
    """How much later event times may be than the times that the buckets are of, which are other columns of
    derived streams then."""
    gap_us: int = field(default=0, metadata=ADDED)
    """How far apart, at most, neighbours in a session are; 0 for buckets of any other kind. A combination's
    own key is then its time, of which the size is."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Which way values are ordered."""

    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of a group."""

    name: str
    """The column of `GROUP`."""
    function: str
    """A name of `optimizer.algebra.aggregates.AGGREGATES`."""
    arguments: tuple[Expression, ...]
    """Over the combination; none for COUNT(*). Behind them what they are ordered by."""
    where: Expression | None
    """FILTER's condition."""
    distinct: bool
    type: ColumnType
    constant: float | str | None = None
    """A quantile's fraction, or what stands between texts."""
    directions: tuple[Direction, ...] = ()
    """Of the ORDER BY inside, whose values are the last arguments."""

    @property
    def scheme(self) -> Scheme:
        """What is kept of a group for it."""
        return scheme(self.function, [argument.type for argument in self.arguments], self.distinct)


@dataclass(frozen=True, slots=True)
class Order:
    """One entry of ORDER BY."""

    expression: Expression
    """Over `GROUP`."""
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Grouping:
    """How combinations become groups. A query's outputs are then over `GROUP`."""

    keys: tuple[tuple[str, Expression], ...]
    """(column of `GROUP`, what it is of a combination)."""
    bucket: Bucket | None
    """None for running groups."""
    aggregates: tuple[Aggregate, ...]
    conditions: tuple[Expression, ...] = ()
    """HAVING's conjuncts, over `GROUP`."""
    order: tuple[Order, ...] = ()
    """Groups that are alike by it are in the order of their keys."""
    limit: int | None = None
    """The first so many groups of every bucket are results; all if None."""
    beside: tuple[str, ...] = ()
    """Keys beside the bucket, sorted: the first groups are those of each combination of all of these."""
    counted_by: Expression | None = field(default=None, metadata=ADDED)
    """Of running groups the event time of a combination by which it counts in a topology that ran before the
    query came: the newest of its tuples, or the oldest where a window has no end."""

    @property
    def changes(self) -> bool:
        """True of running groups whose rows may become others, or none.

        >>> Grouping((), None, ()).changes
        False
        """
        return self.bucket is None and bool(self.aggregates or self.conditions)

    @property
    def taken(self) -> dict[Expression, str]:
        """What is taken of a combination, by expression the name that it waits under."""
        found = {expression: name for name, expression in self.keys}
        for aggregate in self.aggregates:
            for expression in (*aggregate.arguments, aggregate.where):
                if expression is not None:
                    found.setdefault(expression, f"of{len(found) + 1}")
        if self.counted_by is not None:
            found.setdefault(self.counted_by, f"of{len(found) + 1}")
        return found
