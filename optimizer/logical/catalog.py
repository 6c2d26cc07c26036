"""The catalog: the streams and user functions that queries may name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from optimizer.algebra.identifiers import matches
from optimizer.logical.query import Query, derived_of
from optimizer.logical.stream import Stream
from optimizer.udf.registry import NO_FUNCTIONS, FunctionRegistry


@dataclass(frozen=True, slots=True)
class Catalog:
    """Streams by name; a name finds its stream whatever its case, unless it is quoted.

    >>> from optimizer.algebra.types import ColumnType
    >>> departures = Stream("departures", (("at", ColumnType.TIMESTAMP),), "at")
    >>> catalog = Catalog.of([departures])
    >>> catalog.find("DEPARTURES") is departures, catalog.find("weather")
    (True, None)

    Raises `ValueError` when two streams have the same name but for case.
    """

    streams: tuple[Stream, ...] = ()
    """Sorted by name."""
    functions: FunctionRegistry = NO_FUNCTIONS
    derived: tuple[Stream, ...] = ()
    """Results of queries as streams, which no text names."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "streams", tuple(sorted(self.streams, key=lambda s: s.name)))
        folded = [stream.name.casefold() for stream in self.streams]
        if len(set(folded)) != len(folded):
            raise ValueError(f"stream names repeat: {', '.join(self.names)}")

    @classmethod
    def of(cls, streams: Iterable[Stream], functions: FunctionRegistry = NO_FUNCTIONS) -> Catalog:
        return cls(tuple(streams), functions)

    def __iter__(self) -> Iterator[Stream]:
        return iter(self.streams)

    def beside(self, queries: Iterable[Query]) -> Catalog:
        """The catalog with the derived streams that queries read."""
        found = {stream.name: stream for stream in self.derived}
        found |= {one.stream.name: one.stream for one in derived_of(queries)}
        return replace(self, derived=tuple(found.values())) if len(found) > len(self.derived) else self

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(stream.name for stream in self.streams)

    def find(self, name: str, quoted: bool = False) -> Stream | None:
        """The stream of this name, or None."""
        return next((stream for stream in self.streams if matches(stream.name, name, quoted)), None)

    def __getitem__(self, name: str) -> Stream:
        """The stream whose declared name is exactly `name`. Raises `KeyError`."""
        stream = self.find(name, quoted=True) or next((s for s in self.derived if s.name == name), None)
        if stream is None:
            raise KeyError(name)
        return stream
