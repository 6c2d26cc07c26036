"""Folders: the settings of a stream that one brings, and what of it a task reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

import pydantic
from pydantic import Field, model_validator

from jobs.sources.connector import Cutting, Descriptor, Numbered
from jobs.sources.folder.allowed import DIRECTORIES, EXPECTED, directories
from optimizer.algebra.errors import InputError
from optimizer.algebra.settings import SETTINGS
from optimizer.algebra.types import ColumnType
from optimizer.logical.source import SourceSettings

_COUNT = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly."""


@pydantic.dataclasses.dataclass(frozen=True, slots=True, config=SETTINGS)
class FolderFiles(SourceSettings):
    """The folder whose files bring a stream's tuples: one row is one tuple.

    Raises `ValueError` for a folder or a pattern that leads out of the operator's directories.

    >>> FolderFiles("landing/orders").place
    'the folder landing/orders'
    """

    connector: ClassVar[str] = "files"
    title: ClassVar[str] = "files of a folder"

    folder: Annotated[
        str,
        Field(
            title="Folder",
            min_length=1,
            max_length=1000,
            json_schema_extra={
                "x-expected": "a directory that the operator allows and folders below it, as landing/orders"
            },
        ),
    ]
    """A directory that the operator allows, and folders below it, as landing/orders."""
    pattern: Annotated[
        str,
        Field(
            title="Files",
            min_length=1,
            max_length=255,
            json_schema_extra={"x-expected": "names with * and ?, as *.csv"},
        ),
    ] = "*"
    """Names of the files, with * and ? for what differs, as *.csv; they are read by name."""
    format: Annotated[
        Literal["parquet", "csv", "json"],
        Field(
            title="Format",
            json_schema_extra={
                "x-labels": {"parquet": "Parquet", "csv": "CSV with a header", "json": "JSON lines"}
            },
        ),
    ] = "parquet"
    """What the files are."""
    faulty: Annotated[
        Literal["fail", "skip"],
        Field(
            title="If a file is damaged, changed, gone or late",
            json_schema_extra={"x-labels": {"fail": "stop and say so", "skip": "go on behind it"}},
        ),
    ] = "fail"
    """What to do about a file that cannot be read as it was found; late is one with an earlier name."""
    most_per_batch: Annotated[
        int | None,
        Field(title="Most rows of a batch", ge=1, le=_COUNT, json_schema_extra={"x-expected": "1 or more"}),
    ] = None
    """So many rows in a batch at most; empty leaves it to the batch's own bound."""

    @model_validator(mode="after")
    def _stays_inside(self) -> Self:
        parts = self.folder.split("/")
        if any(part in ("", ".", "..") for part in parts) or not self.folder.isprintable():
            raise ValueError(
                f"folder: {self.folder!r} instead of a directory that the operator allows and folders below "
                "it, as landing/orders"
            )
        if "/" in self.pattern or not self.pattern.isprintable():
            raise ValueError(f"pattern: {self.pattern!r} instead of names with * and ?, as *.csv")
        return self

    @classmethod
    def missing(cls) -> str | None:
        try:
            if directories():
                return None
        except InputError as error:
            return f"an operator to mend {DIRECTORIES}: {error.found} instead of {error.expected}"
        return f"an operator to set {DIRECTORIES}: {EXPECTED}"

    @property
    def place(self) -> str:
        return f"the folder {self.folder}"

    @property
    def identity(self) -> str:
        """What positions are of."""
        return f"{self.folder}/{self.pattern} as {self.format}"

    def look(self, columns: Sequence[tuple[str, ColumnType]]) -> None:
        from jobs.sources.folder.looking import look_into

        look_into(self, columns)


@dataclass(frozen=True, slots=True)
class _Rows(Descriptor):
    """Rows `first` to `first + rows` (exclusive, from 0) of a file; a header is none."""

    connector: ClassVar[str] = "files"

    stream: str
    folder: str
    name: str
    size: int
    mtime_ns: int
    """With `size`, which content the file had."""
    first: int
    rows: int

    @property
    def place(self) -> str:
        return f"{self.folder}/{self.name}: rows {self.first} to {self.first + self.rows - 1}, from 0"


@dataclass(frozen=True, slots=True)
class RowRange(_Rows, Numbered):
    """Rows of a folder's Parquet file."""

    kind: Literal["file rows"] = "file rows"


@dataclass(frozen=True, slots=True)
class LineRange(_Rows):
    """Rows of a CSV or JSON lines file in a folder, as the bytes that they are."""

    begin: int
    """Where the first row begins, in bytes."""
    end: int
    """Where the last row ends, exclusive."""
    quotes: bool
    """True if rows may go over several lines, in quotes."""
    kind: Literal["file lines"] = "file lines"

    def cut(self, rows: int, server: Cutting) -> tuple[Descriptor, Descriptor]:
        """In two; only the file tells where the second part begins."""
        from jobs.sources.folder.lines import taken_rows
        from jobs.sources.folder.opening import opened_as

        with opened_as(self) as file:
            _, middle = taken_rows(file, self.begin, self.end, rows, quotes=self.quotes)
        behind = replace(self, first=self.first + rows, rows=self.rows - rows, begin=middle)
        return replace(self, rows=rows, end=middle), behind


@dataclass(frozen=True, slots=True)
class FaultyFile(Descriptor):
    """That a file could not be read as it was found, and the stream went on."""

    connector: ClassVar[str] = "files"

    stream: str
    folder: str
    name: str
    reason: str
    rows: int = 0
    kind: Literal["faulty file"] = "faulty file"

    @property
    def place(self) -> str:
        return f"{self.folder}/{self.name}"
