"""Streams: the named, typed, event-timed sequences that queries read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from optimizer.algebra.digest import ADDED
from optimizer.algebra.identifiers import nearest
from optimizer.algebra.settings import BadSetting
from optimizer.algebra.types import ColumnType
from optimizer.logical.source import SourceSettings, check_columns

LatePolicy = Literal["drop", "join"]
StreamKind = Literal["stream", "table"]

MAX_AHEAD = timedelta(days=1)
"""How far ahead of its arrival a tuple's event time may lie unless its stream says otherwise."""

MOST_TASKS = 1 << 8
"""Tasks of a store, and ingesting tasks of a batch: a job's arrival numbers tell so many apart."""


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A timestamp column that is bound to the event time of its tuple."""

    name: str
    least_us: int
    """The event time is at least so much later."""
    most_us: int | None
    """And at most so much; None is no bound."""
    step_us: int = 0
    """Its values are multiples of it, counted as buckets are; 0 if they may be any."""


@dataclass(frozen=True, slots=True)
class Results:
    """What makes a stream one of a query's results."""

    lag_us: int
    """Once the watermark has passed an event time by so much, all results of that time are there."""
    times: tuple[TimeColumn, ...]
    label: str = field(default="", compare=False)
    """What a text calls the query, for people."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A registered stream, or the results of a query.

    >>> departures = Stream("departures", (("at", ColumnType.TIMESTAMP), ("origin", ColumnType.STRING)), "at")
    >>> departures.event_time, departures.late
    ('at', 'drop')

    A table's tuples are versions: each is in force for its key from its event time on, until the next one.

    Raises `ValueError` when the event-time column is missing or no timestamp, when a
    column name repeats, when lateness, max_ahead, parallelism or rate are out of range, or
    when a setting of its source, or what makes it a table (`check_table`), names a column
    that cannot be.
    """

    name: str
    columns: tuple[tuple[str, ColumnType], ...]
    """Name and type in declaration order."""
    event_time: str
    lateness: timedelta = timedelta(0)
    """A tuple this much older than the newest one seen is still in time (inclusive)."""
    late: LatePolicy = "drop"
    parallelism: int | None = None
    """Tasks over which this stream's stores are spread; None lets the runtime choose."""
    tuples_per_second: float | None = None
    """Estimated event-time rate; None is unknown."""
    source: SourceSettings | None = None
    """What brings its tuples; None if producers send them to Millrace itself."""
    top_shares: tuple[tuple[str, float], ...] = ()
    """Columns and the share of tuples, from 0 to 1, that have the column's most frequent value."""
    max_ahead: timedelta | None = None
    """A tuple whose event time lies this much ahead of its arrival is still accepted (inclusive). None is
    `MAX_AHEAD` where the source tells when a tuple arrived, and no bound over files."""
    kind: StreamKind = "stream"
    key: tuple[str, ...] = ()
    """Of a table: the columns that say of what its tuples are versions."""
    deleted: str | None = None
    """Of a table: the BOOLEAN column that is true of a version that deletes its key; NULL means false."""
    results: Results | None = field(default=None, metadata=ADDED)
    """Of a derived stream (`optimizer.logical.derived`)."""

    def __post_init__(self) -> None:
        names = [name for name, _ in self.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"stream {self.name}: column names repeat: {', '.join(names)}")
        if self.column_type(self.event_time) is not ColumnType.TIMESTAMP:
            raise ValueError(
                f"stream {self.name}: event_time {self.event_time} must be one of its timestamp columns"
            )
        if self.lateness < timedelta(0):
            raise ValueError(f"stream {self.name}: lateness must not be negative")
        if self.max_ahead is not None and self.max_ahead < timedelta(0):
            raise ValueError(f"stream {self.name}: max_ahead must not be negative")
        if self.parallelism is not None and self.parallelism < 1:
            raise ValueError(f"stream {self.name}: parallelism must be at least 1")
        for column, share in self.top_shares:
            if self.column_type(column) is None or not 0 <= share <= 1:
                raise ValueError(f"stream {self.name}: top share {share} of {column}: a column and 0 to 1")
        if self.tuples_per_second is not None and self.tuples_per_second < 0:
            raise ValueError(f"stream {self.name}: rate must not be negative")
        parts = {} if self.source is None else self.source.parts()
        for connector, settings in parts.items():
            try:
                check_columns(settings, self.columns)
            except BadSetting as error:
                raise ValueError(f"stream {self.name}: {connector}.{error}") from None
        try:
            check_table(
                self.kind, self.key, self.deleted, self.columns, self.event_time, self.lateness, self.late
            )
        except BadSetting as error:
            raise ValueError(f"stream {self.name}: {error}") from None

    @property
    def lag_us(self) -> int:
        """How far behind the watermark what comes of it may be."""
        return 0 if self.results is None else self.results.lag_us

    @property
    def is_table(self) -> bool:
        """True if its tuples are versions."""
        return self.kind == "table"

    def column_type(self, name: str) -> ColumnType | None:
        """The column's type, or None if there is no such column."""
        return dict(self.columns).get(name)


def check_table(
    kind: StreamKind,
    key: Sequence[str],
    deleted: str | None,
    columns: Sequence[tuple[str, ColumnType]],
    event_time: str,
    lateness: timedelta = timedelta(0),
    late: LatePolicy = "drop",
) -> None:
    """Raise `BadSetting` unless such a stream may have this kind, key and deletions.

    >>> columns = (("at", ColumnType.TIMESTAMP), ("tail", ColumnType.STRING), ("seats", ColumnType.INT))
    >>> check_table("table", ("tail",), None, columns, "at")
    >>> check_table("table", ("plane",), None, columns, "at")
    Traceback (most recent call last):
    optimizer.algebra.settings.BadSetting: key: column plane instead of one of tail, seats
    """
    types = dict(columns)
    if kind == "stream":
        if key or deleted is not None:
            raise BadSetting("key" if key else "deleted", "columns of versions", "kind: table beside them")
        return
    able = [name for name, type_ in columns if name != event_time and type_ is not ColumnType.DOUBLE]
    expected = f"one of {', '.join(able)}" if able else "a column beside the event time, no double"
    if not key:
        raise BadSetting("key", "a table without a key", expected)
    for number, name in enumerate(key):
        if name in key[:number]:
            raise BadSetting("key", f"column {name} twice", "each column once")
        if name not in able:
            found = f"{types[name]} column {name}" if name in types else f"column {name}"
            found = f"the event time {name}" if name == event_time else found
            raise BadSetting("key", found, expected, nearest(name, able))
    flags = [name for name, type_ in columns if type_ is ColumnType.BOOLEAN and name not in key]
    if deleted is not None and deleted not in flags:
        there = ", ".join(flags) or "there is none yet"
        expected = f"one of the boolean columns outside the key: {there}"
        raise BadSetting("deleted", f"column {deleted}", expected, nearest(deleted, flags))
    waiting = "lateness" if lateness else "late" if late != "drop" else None
    if waiting is not None:
        raise BadSetting(waiting, f"{waiting} of a table", "none: the watermark of the streams decides")
