"""Results that other queries read, with the batches in which they came in.

What a batch finds of a derived stream comes in with the next one, and what waits behind so many derived
streams falls due by older watermarks (docs/design/derived.md, *In a batch*). So the layers are answered one
by one, the innermost first, over some more batches each: a result's batch is then known as a tuple's is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import duckdb

from backend.oracle.expected.due import Marks, least_of, marks_of, results_text, waits_us
from backend.oracle.expected.kept import keep
from backend.oracle.ledger import Ledger
from backend.oracle.span import CannotCheck, Span, moment_of, needed_from
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query, derived_of, registered_inputs


@dataclass(frozen=True, slots=True)
class Layer:
    """A query whose results are read, or the one that is checked."""

    query: Query
    """Its derived streams are tables like others."""
    span: Span
    marks: Marks | None
    """None if none of its results waits."""
    reads: tuple[str, ...]
    """The derived streams among its inputs."""

    def comes_in(self, arrived: int | None, deadline_us: int | None) -> int | None:
        """The batch in which a result comes in; the span's first for all before it.

        None for what comes in behind the span.
        """
        if self.marks is not None and deadline_us is not None:
            found = self.marks.found_in(deadline_us, arrived)
        else:
            found = None if arrived is None else max(arrived, self.span.numbers[0] - 1)
        return None if found is None or found == self.span.numbers[-1] else found + 1


@dataclass(frozen=True, slots=True)
class Layers:
    """A query with all that it reads."""

    inner: tuple[Layer, ...]
    """Of the derived streams, each behind those that it reads."""
    outer: Layer
    catalog: Catalog
    """With the derived streams."""
    wide: Span
    """The batches whose tuples any of the layers looks at."""

    @property
    def waits(self) -> bool:
        """True if any of the results waits."""
        return any(layer.marks is not None for layer in (*self.inner, self.outer))

    @property
    def until_us(self) -> int | None:
        """The least watermark that something waits for; None without one."""
        marks = [layer.marks.last_us for layer in (*self.inner, self.outer) if layer.marks is not None]
        known = [us for us in marks if us is not None]
        return min(known) if known and len(known) == len(marks) else None

    def least_us(self, came_us: int | None) -> int | None:
        """The oldest event time that a result of the span may have; None for any.

        Args:
            came_us: the oldest that arrived in `wide`; None if nothing did.
        """
        return self._least(came_us)[self.outer.query.name]

    def needed(self, came_us: int | None, least_us: int | None) -> dict[str, int | None]:
        """By registered stream the oldest event time of the results' tuples; None for any.

        Args:
            came_us: as of `least_us`.
            least_us: the oldest event time of the results that are asked for.
        """
        oldest = {**self._least(came_us), self.outer.query.name: least_us}
        found: dict[str, int | None] = {}
        for layer in (self.outer, *self.inner[::-1]):
            own = oldest[layer.query.name]
            names = {item.stream for item in layer.query.inputs}
            by_stream = dict.fromkeys(names) if own is None else needed_from(layer.query, self.catalog, own)
            for name, us in by_stream.items():
                if name in oldest:
                    size_us = self._size_us(name)
                    oldest[name] = _older(oldest[name], None if us is None else us - size_us)
                else:
                    found[name] = _older(found[name], us) if name in found else us
        return found

    def _least(self, came_us: int | None) -> dict[str, int | None]:
        found: dict[str, int | None] = {}
        for layer in (*self.inner, self.outer):
            times = [*(found[name] for name in layer.reads), *([] if came_us is None else [came_us])]
            found[layer.query.name] = least_of(layer.query, self.catalog, layer.marks, times)
        return found

    def _size_us(self, name: str) -> int:
        """How much older than its event time a derived result's tuples may be."""
        (query,) = [layer.query for layer in self.inner if layer.query.name == name]
        bucket = None if query.grouping is None else query.grouping.bucket
        return 0 if bucket is None else bucket.size_us + bucket.ahead_us

    def answer(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the derived streams' tables."""
        for layer in self.inner:
            marks = None if layer.marks is None else replace(layer.marks, before_us=None)
            text = results_text(layer.query, self.catalog, marks, 0, {})
            keep(connection, layer.query.name, text, layer.comes_in)


def layers_of(query: Query, catalog: Catalog, ledger: Ledger, span: Span) -> Layers:
    """The layers of a query that reads others.

    Raises `CannotCheck` if what their batches were is no longer recorded.
    """
    full = catalog.beside([query])
    derived = derived_of([query])
    first = {one.stream.name: span.numbers[0] for one in derived}
    made: list[Layer] = []
    for asked in (query, *(one.query for one in derived[::-1])):
        own = span if asked is query else _widened(ledger, span, first[asked.name])
        plain = replace(asked, derived=())
        marks = None if waits_us(plain, full) is None else marks_of(ledger, own, asked.tier)
        reads = tuple(one.stream.name for one in asked.derived)
        made.append(Layer(plain, own, marks, reads))
        since = own.numbers[0] if marks is None else min(own.numbers[0], marks.since)
        for name in reads:
            first[name] = min(first[name], max(0, since - 1))
    wide = _widened(ledger, span, min(first.values()))
    _refuse_new(query, ledger, wide)
    return Layers(tuple(made[:0:-1]), made[0], full, wide)


def refuse_incomplete(query: Query, span: Span, least_us: int | None) -> None:
    """Raise `CannotCheck` where results may be older than the query is complete."""
    for batch in span.batches:
        since = batch.queries[query.name].missing_before
        if since is not None and (least_us is None or moment_of(least_us) < since):
            raise CannotCheck(
                f"its results are complete since {since:%Y-%m-%d %H:%M:%S}, and these may be older"
            )


def _widened(ledger: Ledger, span: Span, first: int) -> Span:
    batches, age = list(span.batches), span.age
    while batches[0].batch > first:
        age += 1
        batch = ledger.get(age)
        if batch is None:
            raise CannotCheck(f"batch {first:,}, whose results it reads, is no longer recorded")
        batches.insert(0, batch)
    return Span(tuple(batches), age)


def _refuse_new(query: Query, ledger: Ledger, wide: Span) -> None:
    """Raise `CannotCheck` if the query has just come.

    Its job knows too few watermarks yet.
    """
    ago = 2 * query.tier + 1
    if wide.numbers[0] < ago:
        return
    batch = ledger.get(wide.age + ago)
    if batch is None or query.name not in batch.queries:
        raise CannotCheck("it came to its topology a few batches ago, or these are no longer recorded")


def base_streams(query: Query) -> list[str]:
    """The registered streams that a query's results are made of, sorted."""
    return sorted({item.stream for item in registered_inputs(query)})


def _older(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else min(one, other)
