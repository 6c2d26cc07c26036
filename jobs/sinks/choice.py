"""Which queries' results a sink gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TypeVar

from jobs.sinks.connector import BatchResults, Sink, TableChanges, TableKeeper, query_of
from optimizer.algebra.errors import InputError, Place

EVERY = "*"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class QueryChoice:
    """Names of queries, with `*` in them for anything.

    >>> choice = QueryChoice.of("--results-table-queries", "late_*, totals")
    >>> choice.includes("late_departures"), choice.includes("arrivals")
    (True, False)
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, option: str, text: str) -> QueryChoice:
        """What an option says, comma-separated. Raises `InputError` if it names nothing."""
        names = tuple(name.strip() for name in text.split(",") if name.strip())
        if not names:
            expected = "names of queries, comma-separated, * in them for anything"
            raise InputError("bad-option", Place("command line", path=option), text or "nothing", expected)
        return cls(names)

    def includes(self, query: str) -> bool:
        """True if a query's results go to the sink."""
        return any(fnmatchcase(query, name) for name in self.names)


class ChosenQueries:
    """A sink that gets the results of chosen queries only.

    A batch without any is none for it. What it had before stays when the choice changes; a query that is
    chosen later begins with the batches that are then still to be published, and a table of running groups
    with all of its rows.
    """

    def __init__(self, sink: Sink, choice: QueryChoice) -> None:
        self._sink = sink
        self._choice = choice

    def connect(self) -> int:
        return self._sink.connect()

    def publish(self, results: BatchResults) -> None:
        files = tuple(file for file in results.files if self._choice.includes(query_of(file)))
        chosen = replace(results, files=files, tables=self._chosen(results.tables))
        if files or chosen.begun():
            self._sink.publish(chosen)

    def restore(self, batch: int, tables: Mapping[str, TableChanges]) -> None:
        """Tables of the chosen queries, for a sink that keeps any."""
        if isinstance(self._sink, TableKeeper):
            self._sink.restore(batch, self._chosen(tables))

    def _chosen(self, tables: Mapping[str, T]) -> dict[str, T]:
        return {query: table for query, table in tables.items() if self._choice.includes(query)}
