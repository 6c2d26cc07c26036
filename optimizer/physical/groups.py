"""What a graph says of groups: their keys, states and ends."""

from __future__ import annotations

from dataclasses import dataclass, field

from optimizer.algebra.aggregates import UNMERGED, Scheme
from optimizer.algebra.digest import ADDED
from optimizer.algebra.expression import Expression
from optimizer.algebra.types import ColumnType

DELETED = "_deleted"
"""The column at the end of results of running groups: true where a group has left the answer."""
LAST_TIME = "@last"
"""The newest event time of what a row of a session has merged."""
GROUP_HASH = "@group"
"""Of the keys of a running group; places its rows."""


@dataclass(frozen=True, slots=True)
class GroupAggregate:
    """One aggregate of groups."""

    name: str
    function: str
    """A name of `optimizer.algebra.aggregates.AGGREGATES`."""
    arguments: tuple[str, ...]
    """Columns that are taken of combinations."""
    where: str | None
    """The one that says which combinations count; None if all do."""
    distinct: bool
    type: ColumnType
    scheme: Scheme
    states: tuple[tuple[str, ColumnType], ...]
    """The columns of its state."""
    constant: float | str | None = field(default=None, metadata=ADDED)
    """A quantile's fraction, or what stands between texts."""
    descending: tuple[bool, ...] = field(default=(), metadata=ADDED)
    """Per value that texts are ordered by, the last of the arguments, whether the greatest comes first."""
    nulls_first: tuple[bool, ...] = field(default=(), metadata=ADDED)


@dataclass(frozen=True, slots=True)
class Rank:
    """One column of the order of a bucket's groups."""

    expression: Expression
    """Over the hold's stream."""
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Groups:
    """Combinations of equal keys, which become one result when their bucket is over."""

    taken: tuple[tuple[str, ColumnType], ...]
    """What leaves give of a combination: its keys, then arguments and conditions of aggregates."""
    keys: int
    """How many of these are keys."""
    bucket: str
    """The key with the bucket's beginning; of buckets that overlap, of the last that begins. Empty for
    running groups."""
    size_us: int
    """How long after its beginning event times in a bucket may be, the end not in it."""
    slide_us: int
    """How long after one bucket the next one begins, if they overlap."""
    overlapping: int
    """In how many buckets a time is."""
    wait_us: int
    """How long after the last time in a bucket combinations of it may still be found."""
    aggregates: tuple[GroupAggregate, ...]
    ranks: tuple[Rank, ...] = ()
    limit: int | None = None
    """How many groups of a bucket are results, the first by `ranks` and then by their keys; None for all."""
    beside: tuple[str, ...] = field(default=(), metadata=ADDED)
    """Keys beside the bucket: so many groups of each combination of all of these are."""
    gap_us: int = field(default=0, metadata=ADDED)
    """How far apart, at most, neighbours in a session are; 0 for buckets of any other kind. The bucket's
    beginning is then the first time of what a row has merged, and `LAST_TIME` its last one."""
    running: bool = field(default=False, metadata=ADDED)
    """True if groups have no end: their states stay, and each batch answers with the rows that it changed."""
    counted_by: str = field(default="", metadata=ADDED)
    """Of running groups the column of `taken` with the event time by which a combination counts."""
    by_oldest: bool = field(default=False, metadata=ADDED)
    """True if that is the event time of its oldest tuple, and not of its newest."""

    @property
    def together(self) -> list[str]:
        """The keys whose equal values one task must have."""
        if self.gap_us:
            return self.alike
        return self.key_names if self.limit is None else [self.bucket, *self.beside]

    @property
    def alike(self) -> list[str]:
        """The keys beside the bucket."""
        return [name for name in self.key_names if name != self.bucket]

    @property
    def key_names(self) -> list[str]:
        """The columns that tell groups apart."""
        return [name for name, _ in self.taken[: self.keys]]

    @property
    def merges(self) -> bool:
        """True if one row is enough of a group's rows."""
        return all(one.scheme not in UNMERGED for one in self.aggregates)
