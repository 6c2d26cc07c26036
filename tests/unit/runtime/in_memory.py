"""A source of tables in memory, for topologies without Spark that work on many small batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import pyarrow as pa

from jobs.sources.connector import Asked, Connector, Numbered, Raw
from jobs.sources.formats.columns import type_columns
from jobs.sources.read import letters

REGISTERED: Mapping[str, str] = {"memory": __name__}
"""As `connector.BUILT_IN` has connectors."""


@dataclass(frozen=True, slots=True)
class TableRange(Numbered):
    """Rows `first` to `first + rows` (exclusive, from 0) of a table."""

    connector: ClassVar[str] = "memory"

    stream: str
    table: pa.Table = field(repr=False)
    first: int
    rows: int
    kind: Literal["table"] = "table"

    @property
    def place(self) -> str:
        return f"a table of {self.stream}: rows {self.first} to {self.first + self.rows - 1}, from 0"


class InMemory(Connector):
    """What a file's rows go through when they are read, without the file."""

    descriptors = (TableRange,)

    def read(self, descriptor: TableRange, asked: Asked) -> Raw:
        names = [name for name, _ in asked.columns]
        stored = descriptor.table.select(names).slice(descriptor.first, descriptor.rows)
        first = descriptor.first + 1
        typed = type_columns(stored, asked.columns, lambda row: f"row {first + row}", asked.needed)
        return Raw(typed.readable(), letters([(one.reason, one.text) for one in typed.broken]), None)


CONNECTOR = InMemory()
