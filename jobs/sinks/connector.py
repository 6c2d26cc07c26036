"""Sinks beside result files: what each has to say.

A sink is one module with a `SINK`, which adds its options to `python -m jobs run` and, if they ask for it,
opens a `Sink`. `jobs.sinks.configured` finds them.
"""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable
from urllib.parse import unquote

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class KeyedTable:
    """What results of running groups are: changes of a table's rows.

    A result takes the place of the row with its key; one whose `_deleted` is true only removes that.
    """

    key: tuple[str, ...]
    """The columns by which a row is known; none for a single row."""
    begin: int
    """The batch from which its rows are: those of earlier batches are of other groups."""
    changes: int
    """Results since then, the batch's among them: whoever has fewer of those before it missed some."""


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What a batch changed of a table of running groups."""

    parts: Sequence[pa.Table]
    keyed: KeyedTable
    before: int
    """Changes of the groups before the batch. If some of its own did not travel, `parts` have fewer than
    `keyed.changes` says."""
    is_all: bool = False
    """True if this is the table itself, as a job that starts finds it."""
    counted_from_us: int | None = None
    """The event time from which on combinations are counted, microseconds since 1970; None if all are."""

    @property
    def is_whole(self) -> bool:
        """True if all that the batch changed is here."""
        return self.is_all or sum(part.num_rows for part in self.parts) == self.keyed.changes - self.before


@dataclass(frozen=True, slots=True)
class BatchResults:
    """What a committed batch has for sinks."""

    batch: int
    files: tuple[Path, ...]
    """Result files; `query_of` says whose each is."""
    complete_since_us: Mapping[str, int]
    """By query, since which event time of their newest tuples results are all there; absent if all are."""
    tables: Mapping[str, KeyedTable] = field(default_factory=dict)
    """By query, of running groups."""
    verified_until_us: Mapping[str, int] = field(default_factory=dict)
    """By query, until which event time the continuous check has found its results right by now; absent if
    unknown."""

    def begun(self) -> Mapping[str, KeyedTable]:
        """The tables that are empty before this batch, which may have no rows of them."""
        return {query: keyed for query, keyed in self.tables.items() if keyed.begin == self.batch}

    def by_query(self) -> dict[str, list[Path]]:
        """Each query's files."""
        found: dict[str, list[Path]] = {}
        for file in self.files:
            found.setdefault(query_of(file), []).append(file)
        return found


class Sink(Protocol):
    """Takes the results of committed batches in order, each whole or not at all."""

    def connect(self) -> int:
        """Finish or undo what a dead process left.

        Returns the last batch that the sink has, or -1.

        Asked again after `jobs.sources.connector.Away`, which may come from here too.
        """
        ...

    def publish(self, results: BatchResults) -> None:
        """Take a batch's results. Raises `Away`."""
        ...


@runtime_checkable
class TableKeeper(Protocol):
    """A sink that keeps current tables of running groups."""

    def restore(self, batch: int, tables: Mapping[str, TableChanges]) -> None:
        """Have these tables, by query, as they are behind a batch.

        Called once, behind `Sink.connect`, when a job starts: those that the sink has so already are left
        alone. What is published of that batch, and of those before, changes them no more. Raises `Away`.
        """
        ...


class SinkConnector(ABC):
    """A kind of sink; its module's `SINK` is the only object of it."""

    option: ClassVar[str]
    """The option of `jobs run` that asks for it."""

    @abstractmethod
    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Its options, with defaults from the environment."""

    @abstractmethod
    def open(self, given: argparse.Namespace, identity: str) -> Sink:
        """The sink that the options describe, for the checkpoint with this id.

        Raises `InputError` if the deployment lacks what it needs.
        """

    def wanted(self, given: argparse.Namespace) -> bool:
        return said(given, self.option) is not None


def said(given: argparse.Namespace, option: str) -> str | None:
    """What the command line says of an option."""
    found: str | None = getattr(given, option.lstrip("-").replace("-", "_"))
    return found


def read_results(files: Iterable[Path]) -> pa.Table:
    """The results in files of one query."""
    # The command line imports this module before it starts Java.
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa.concat_tables([pq.read_table(file, partitioning=None) for file in files])


def query_of(file: Path) -> str:
    """The query of a result file, whose folder has its quoted name.

    >>> query_of(Path("out/results/late%20flights/0.parquet"))
    'late flights'
    """
    return unquote(file.parent.name)
