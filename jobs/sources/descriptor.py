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
    """Entries at planning time; entries deleted or trimmed since are gone."""
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


Descriptor: TypeAlias = FileRange | EntryRange | GeneratedRange
DESCRIPTORS: TypeAdapter[tuple[Descriptor, ...]] = TypeAdapter(
    tuple[Annotated[Descriptor, Field(discriminator="kind")], ...]
)
