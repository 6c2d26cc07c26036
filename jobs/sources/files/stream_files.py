"""The files of a stream in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from jobs.sources.connector import Numbered

ARRIVAL_COLUMN = "_arrival"
"""A bigint column of input files that gives the order of arrival over all streams."""


@dataclass(frozen=True, slots=True)
class InputFile:
    path: str
    """Of a Parquet file: the given one, or the staged form of a CSV file."""
    rows: int


@dataclass(frozen=True, slots=True)
class StreamFiles:
    """A stream's input in order: its files by name, their rows as they stand."""

    stream: str
    order_by: str
    """The column whose running maximum says how far the stream is: `_arrival` or the event time."""
    files: tuple[InputFile, ...]
    latest_us: int | None = None
    """A row with an event time above it is ahead of its arrival, and does not say how far the stream is."""

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True, slots=True)
class FileRange(Numbered):
    """Rows `first` to `first + rows` (exclusive, from 0) of a Parquet file."""

    connector: ClassVar[str] = "replay"

    stream: str
    path: str
    first: int
    rows: int
    kind: Literal["file"] = "file"

    @property
    def place(self) -> str:
        return f"{self.path}: rows {self.first} to {self.first + self.rows - 1}, from 0"
