"""A sample of what lies in a query's windows, read on batch by batch.

Checks of windows that hold few tuples read them anew. Of windows that hold more a sample is kept instead,
which costs what arrives and not what the windows hold: each check reads the tuples that came since the last
one, keeps those of some keys, and lets go of what no later tuple can meet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from backend.oracle.accepted import BATCH, LATE, accepted
from backend.oracle.expected.due import waits_us
from backend.oracle.expected.running import is_running
from backend.oracle.expected.sessions import SAMPLED_GAPS, session_from
from backend.oracle.ledger import Batch, Ledger
from backend.oracle.sampling.keys import Keys, marks, may_hold
from backend.oracle.span import (
    BEGINNING,
    MOST_BATCHES_BACK,
    MOST_TUPLES,
    CannotCheck,
    Span,
    microseconds,
    needed_from,
    stretch_of,
)
from jobs.protocol import StreamMetrics
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.udf.arrow import ARROW_TYPES

MOST_SAMPLED = 20_000
"""Tuples of a stream that are kept; with more, every other key goes."""
MOST_READ = 200_000
"""Tuples that are read for a query at once; those of one batch may be more."""
_MOST_OF_BATCH = 2_000_000
_MOST_HALVINGS = 40
_Columns = tuple[tuple[str, ColumnType], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Of one stream."""

    table: pa.Table
    """Its sampled tuples, with the columns of `Accepted`."""
    position: str
    """The last entry that was read."""
    complete_from_us: int | None
    """From this event time on no tuple of the sample is missing; None if none is at all."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What is kept of the tuples that a query reads, up to a batch."""

    halvings: int
    """One in 2**halvings of each key's values is kept."""
    began: int
    """The batch behind which it began; -1 with the first one."""
    batch: int
    """The last one whose tuples were read."""
    parts: dict[str, Part]


@dataclass(frozen=True, slots=True)
class Sampling:
    """Of one query.

    Arguments: the query; the registered streams; the batches that its topology told of; the columns by whose
    values tuples are kept (`keys_of` the query).
    """

    query: Query
    catalog: Catalog
    ledger: Ledger
    keys: Keys

    def begun(self, span: Span) -> Sample:
        """An empty sample that reading on fills with all that a span's results need.

        Unless it is no longer there. It takes so many keys that what the job told of them is about as much
        as is kept.
        """
        before = self.ledger.get(span.age + 1)
        oldest = dict.fromkeys(self._streams) if before is None else self._needed(before)
        age, read = 0, dict.fromkeys(self._streams, 0)
        while age < MOST_BATCHES_BACK and (batch := self.ledger.get(age)) is not None:
            if age > span.age and all(
                _is_behind(batch.streams.get(name), oldest[name]) for name in self._streams
            ):
                break
            for name in self._streams:
                part = batch.streams.get(name)
                read[name] += 0 if part is None else part.read
            if self.ledger.begins_with(age):
                nothing = {name: Part(self._empty(name), BEGINNING, None) for name in self._streams}
                return Sample(self._halvings(read), -1, -1, nothing)
            age += 1
        return self._beginning_behind(max(0, age - (self.ledger.get(age) is None)), self._halvings(read))

    def begun_now(self) -> Sample:
        """An empty sample that nothing is read for of what came before the newest batch."""
        return self._beginning_behind(0, 0)

    def continues(self, sample: Sample) -> bool:
        """True if the job's batches lead on from a sample: it did not begin anew."""
        age = self._batch(0).batch - sample.batch
        if sample.batch < 0:
            return self.ledger.begins_with(age - 1)
        batch = self.ledger.get(age) if age >= 0 else None
        return batch is not None and all(
            name not in batch.streams or batch.streams[name].position == part.position
            for name, part in sample.parts.items()
        )

    def read_on(self, sample: Sample) -> Sample:
        """The sample with about MOST_READ tuples of the next batches, or all there are.

        Raises:
            CannotCheck: they cannot be known, or a sample would be too large.
        """
        batches = self._next(sample)
        if not batches:
            return sample
        parts = {name: self._extended(name, sample, batches) for name in self._streams}
        # What is read now is checked next, so what it may meet has to stay.
        behind = self.ledger.get(self._batch(0).batch - sample.batch)
        if behind is not None:
            oldest = self._needed(behind)
            parts = {name: self._without_older(name, part, oldest[name]) for name, part in parts.items()}
        return self._fitting(replace(sample, batch=batches[-1].batch, parts=parts))

    @property
    def _streams(self) -> list[str]:
        return sorted({item.stream for item in self.query.inputs})

    def columns(self, stream: str) -> list[_Columns]:
        """What each of a stream's aliases is sampled by."""
        return [self.keys.by_alias[item.alias] for item in self.query.inputs if item.stream == stream]

    def marked(self, stream: str, sample: Sample) -> pa.Table:
        """A stream's tuples with a column per key, `mark_of` it: is it in the sample?"""
        table = sample.parts[stream].table
        for name, kind in sorted({column for columns in self.columns(stream) for column in columns}):
            table = table.append_column(mark_of(name), marks(table.column(name), kind, sample.halvings))
        return table

    def _batch(self, age: int) -> Batch:
        batch = self.ledger.get(age)
        assert batch is not None  # whoever samples has a span to check
        return batch

    def _needed(self, batch: Batch) -> dict[str, int | None]:
        """By stream the oldest event time that results behind a batch are made of."""
        if is_running(self.query):
            # Since the query came that is the same in all batches.
            told = self._batch(0).queries.get(self.query.name)
            if told is None or told.missing_before is None:
                return dict.fromkeys(self._streams)
            return needed_from(self.query, self.catalog, microseconds(told.missing_before))
        least: list[int] = []
        for name in self._streams:
            part = batch.streams.get(name)
            if part is None or part.max_event_time is None:
                return dict.fromkeys(self._streams)
            least.append(microseconds(part.max_event_time) - _lateness_us(self.catalog[name]))
        wait_us = waits_us(self.query, self.catalog)
        if wait_us is not None:
            if not isinstance(batch.watermark, datetime):
                return dict.fromkeys(self._streams)
            least.append(microseconds(batch.watermark) - wait_us)
        oldest = session_from(self.query, min(least), SAMPLED_GAPS)
        assert oldest is not None
        return needed_from(self.query, self.catalog, oldest)

    def _halvings(self, read: Mapping[str, int]) -> int:
        found = 0
        for name, many in read.items():
            fewest = min(len(columns) for columns in self.columns(name))
            if fewest and many > MOST_SAMPLED:
                found = max(found, math.ceil(math.log2(many / MOST_SAMPLED) / fewest))
        return min(found, _MOST_HALVINGS)

    def _beginning_behind(self, age: int, halvings: int) -> Sample:
        parts = {}
        for name in self._streams:
            part = self._told(name, age)
            reached = None if part is None else part.max_event_time
            since = None if reached is None else microseconds(reached) + 1
            position = BEGINNING if part is None or part.position is None else part.position
            parts[name] = Part(self._empty(name), position, since)
        batch = self._batch(age).batch
        return Sample(halvings, batch, batch, parts)

    def _told(self, stream: str, age: int) -> StreamMetrics | None:
        """What was last told of a stream up to a batch; None if it was never read."""
        for older in range(age, age + MOST_BATCHES_BACK):
            batch = self.ledger.get(older)
            if batch is None and self.ledger.begins_with(older - 1):
                return None
            if batch is None:
                break
            if stream in batch.streams:
                return batch.streams[stream]
        raise CannotCheck(f"how far {stream} was read is no longer recorded")

    def _empty(self, stream: str) -> pa.Table:
        columns = [(name, ARROW_TYPES[kind]) for name, kind in self.catalog[stream].columns]
        return pa.schema([*columns, (BATCH, pa.int64()), (LATE, pa.bool_())]).empty_table()

    def _next(self, sample: Sample) -> list[Batch]:
        found: list[Batch] = []
        read = 0
        for age in range(self._batch(0).batch - sample.batch - 1, -1, -1):
            batch = self._batch(age)
            read += sum(batch.streams[name].read for name in self._streams if name in batch.streams)
            if found and read > MOST_READ:
                break
            found.append(batch)
        return found

    def _extended(self, name: str, sample: Sample, batches: Sequence[Batch]) -> Part:
        part, columns = sample.parts[name], self.columns(name)
        reading = [batch for batch in batches if name in batch.streams]
        stretch = stretch_of(part.position, reading, name)
        if not stretch.parts:
            return part
        came = accepted(
            self.catalog[name],
            stretch,
            _MOST_OF_BATCH,
            lambda event: may_hold(columns, event, sample.halvings),
        )
        table = pa.concat_tables([part.table, _of_keys(came.table, columns, sample.halvings)])
        return replace(part, table=table, position=stretch.bounds[-1])

    def _without_older(self, name: str, part: Part, oldest_us: int | None) -> Part:
        if oldest_us is None:
            return part
        times = part.table.column(self.catalog[name].event_time).cast(pa.int64())
        since = oldest_us if part.complete_from_us is None else max(oldest_us, part.complete_from_us)
        return replace(
            part, table=part.table.filter(pc.greater_equal(times, oldest_us)), complete_from_us=since
        )

    def _fitting(self, sample: Sample) -> Sample:
        """A sample with as many of its keys as may be kept."""
        for name, part in sample.parts.items():
            if not all(self.columns(name)) and part.table.num_rows > MOST_TUPLES:
                raise CannotCheck(
                    f"its windows hold more than {MOST_TUPLES:,} tuples of {name}, and no sample of them can "
                    f"be told among its results: have a key of {name} among its columns"
                )
        while over := [
            name
            for name, part in sample.parts.items()
            if all(self.columns(name)) and part.table.num_rows > MOST_SAMPLED
        ]:
            if sample.halvings == _MOST_HALVINGS:
                raise CannotCheck(
                    f"a single key has more than {MOST_SAMPLED:,} tuples of {over[0]} in its windows"
                )
            halvings = sample.halvings + 1
            parts = {
                name: replace(part, table=_of_keys(part.table, self.columns(name), halvings))
                for name, part in sample.parts.items()
            }
            sample = replace(sample, halvings=halvings, parts=parts)
        return sample


def mark_of(column: str) -> str:
    """The name of a key's mark; no registered stream has a column with blanks."""
    return f"millrace in {column}"


def _of_keys(table: pa.Table, aliases: Sequence[_Columns], halvings: int) -> pa.Table:
    """The tuples that belong to the sample under one alias or more."""
    if not halvings or not all(aliases):
        return table
    of_column = {
        (name, kind): marks(table.column(name), kind, halvings)
        for columns in aliases
        for name, kind in columns
    }
    kept = [reduce(pc.and_, (of_column[column] for column in columns)) for columns in aliases]
    return table.filter(reduce(pc.or_, kept))


def _is_behind(part: StreamMetrics | None, oldest_us: int | None) -> bool:
    """True if all that was read up to a batch is older."""
    if part is None:
        return False
    reached = part.max_event_time
    return reached is None or (oldest_us is not None and microseconds(reached) < oldest_us)


def _lateness_us(stream: Stream) -> int:
    return round(stream.lateness.total_seconds() * 1_000_000)
