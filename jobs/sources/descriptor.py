"""Descriptors: which tuples of which stream an ingesting task reads.

A descriptor names an immutable range, so reading it again after a failure gives the same tuples
in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter


@dataclass(frozen=True, slots=True)
class FileRange:
    """Rows `first` to `first + rows` (exclusive, from 0) of a Parquet file."""

    stream: str
    path: str
    first: int
    rows: int
    kind: Literal["file"] = "file"


@dataclass(frozen=True, slots=True)
class EntryRange:
    """The entries of a Redis Stream with an id behind `after` up to and with `last`."""

    stream: str
    key: str
    after: str
    last: str
    rows: int
    """Entries at planning time; entries deleted or trimmed since are gone, and reading says so."""
    tuples: tuple[int, int] | None = None
    """Of a single entry with several tuples, which of them: from the first to before the second; None for
    all."""
    kind: Literal["entries"] = "entries"


@dataclass(frozen=True, slots=True)
class GeneratedRange:
    """Tuples `first` to `first + rows` (exclusive) of a synthetic stream, see `sources.rate`."""

    stream: str
    first: int
    rows: int
    tuples_per_second: float
    start_us: int
    """Event time of tuple 0, microseconds since 1970."""
    seed: int
    distinct: int
    """How many values each column takes."""
    kind: Literal["generated"] = "generated"


@dataclass(frozen=True, slots=True)
class RecordRange:
    """The records of a topic's partition with offsets `first` to `first + rows` (exclusive), as far as
    they were committed; offsets without a record are passed over."""

    stream: str
    topic: str
    partition: int
    first: int
    rows: int
    kind: Literal["records"] = "records"


@dataclass(frozen=True, slots=True)
class LostRange:
    """Offsets `first` to `before` (exclusive) of a partition, which were gone before they were read."""

    stream: str
    topic: str
    partition: int
    first: int
    before: int
    rows: int = 0
    kind: Literal["lost"] = "lost"


@dataclass(frozen=True, slots=True)
class LostEntries:
    """That the server was emptied: what its stream had behind `after`, if anything, nobody has read."""

    stream: str
    key: str
    after: str
    rows: int = 0
    kind: Literal["lost entries"] = "lost entries"


Descriptor: TypeAlias = FileRange | EntryRange | GeneratedRange | RecordRange | LostRange | LostEntries
DESCRIPTORS: TypeAdapter[tuple[Descriptor, ...]] = TypeAdapter(
    tuple[Annotated[Descriptor, Field(discriminator="kind")], ...]
)
