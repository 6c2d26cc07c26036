"""Statistics measured on samples of the streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod, sqrt

import duckdb
import polars as pl

from optimizer.algebra.expression import Expression, columns_of, inputs_of, rename_inputs
from optimizer.algebra.render import quote, to_duckdb_sql
from optimizer.logical.canonical_inputs import stream_of
from optimizer.sql import null_where_it_errs
from optimizer.statistics.interval import Interval

_CONFIDENCE = 1.96
"""Standard errors to either side: about 95 %."""


@dataclass(frozen=True)
class SampleStatistics:
    """Selectivities counted on one frame per stream.

    Dissertation section 7.2.1, sampling.

    A filter is evaluated on its stream's sample, a join predicate on the product of the samples
    of its inputs: exact for the samples whatever the predicate. Streams of any rate may be
    sampled at any factor, since only shares are counted. A predicate that nothing in the
    sample fulfils gets half a hit, so that no plan is thought to be free. Predicates over
    three or more inputs are unknown here, and those over columns that were not sampled.
    """

    frames: Mapping[str, pl.DataFrame]
    """A sample by stream, with the stream's column names."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Tuples per second by stream, where the sampler measured them."""
    rows_per_stream: int = 2000
    """At most so many rows of each sample are joined; products stay below its square."""

    def rate(self, stream: str) -> Interval | None:
        value = self.rates.get(stream)
        return None if value is None else Interval.exactly(value)

    def top_share(self, stream: str, column: str) -> float | None:
        """The share of the sample's most frequent value, NULL among them.

        One of its tuples is left out: in a sample without any repetition nothing is known to repeat.
        """
        frame = self.frames.get(stream)
        if frame is None or frame.height < 2 or column not in frame.columns:
            return None
        most = frame[column].value_counts()["count"].max()
        assert isinstance(most, int)
        return (most - 1) / (frame.height - 1)

    def selectivity(self, predicate: Expression) -> Interval | None:
        inputs = sorted(inputs_of(predicate))
        samples = {name: self._sample(name) for name in inputs}
        known = {
            (name, column) for name, frame in samples.items() if frame is not None for column in frame.columns
        }
        if not 1 <= len(inputs) <= 2 or any((c.input, c.name) not in known for c in columns_of(predicate)):
            return None
        hits, pairs, least = self._count(predicate, inputs)
        expected = max(hits, 0.5) / pairs
        # Pairs that share a tuple are not independent: the smaller sample bounds the evidence.
        error = _CONFIDENCE * sqrt(expected * (1 - min(1.0, expected)) / least)
        return Interval(max(0.0, expected - error), expected, min(1.0, expected + error))

    def _sample(self, name: str) -> pl.DataFrame | None:
        frame = self.frames.get(stream_of(name))
        return None if frame is None or frame.is_empty() else frame.head(self.rows_per_stream)

    @cached_property
    def _samples(self) -> duckdb.DuckDBPyConnection:
        """A database with the samples: making one takes longer than most counts."""
        connection = duckdb.connect()
        for stream in self.frames:
            if (frame := self._sample(stream)) is not None:
                connection.register(self._table(stream), frame.to_arrow())
        return connection

    def _table(self, stream: str) -> str:
        return f"stream{sorted(self.frames).index(stream)}"

    def _count(self, predicate: Expression, inputs: list[str]) -> tuple[int, int, int]:
        names = {name: f"sample{position}" for position, name in enumerate(inputs)}
        sizes = [len(frame) for name in inputs if (frame := self._sample(name)) is not None]
        # As in queries: what raises is not true.
        condition = to_duckdb_sql(rename_inputs(predicate, names), null_where_it_errs)
        tables = ", ".join(f"{self._table(stream_of(name))} AS {quote(names[name])}" for name in inputs)
        row = self._samples.execute(f"SELECT count(*) FROM {tables} WHERE {condition}").fetchone()
        assert row is not None
        return int(row[0]), prod(sizes), min(self.rows_per_stream, *sizes)
