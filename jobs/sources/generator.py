"""Synthetic tuples: any range of them can be made again, from its numbers alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from jobs.sources.descriptor import GeneratedRange
from optimizer.algebra.types import ColumnType
from optimizer.physical.graph import GraphStream
from optimizer.udf.arrow import ARROW_TYPES


def generate(descriptor: GeneratedRange, stream: GraphStream) -> pa.Table:
    """The described tuples: event times at a steady rate, every other column uniform.

    A column takes `descriptor.distinct` values, independent of the other columns and of other
    streams with another seed. Tuple i has the same values in whatever range it is read.
    """
    numbers = np.arange(descriptor.first, descriptor.first + descriptor.rows, dtype=np.uint64)
    times = descriptor.start_us + (numbers.astype(np.float64) * (1e6 / descriptor.tuples_per_second)).astype(
        np.int64
    )
    columns = []
    for position, (name, kind) in enumerate(stream.columns):
        if name == stream.event_time:
            columns.append(pa.array(times).cast(ARROW_TYPES[kind]))
        else:
            values = _mixed(numbers, descriptor.seed * 1_000_003 + position) % np.uint64(descriptor.distinct)
            columns.append(_typed(values.astype(np.int64), kind, times))
    return pa.table(columns, names=[name for name, _ in stream.columns])


def _mixed(numbers: np.ndarray, seed: int) -> np.ndarray:
    """SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a counter-based generator, one output per number."""
    with np.errstate(over="ignore"):
        z = (numbers + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _typed(values: np.ndarray, kind: ColumnType, times: np.ndarray) -> pa.Array:
    match kind:
        case ColumnType.STRING:
            return pa.array(values).cast(pa.string()).cast(ARROW_TYPES[kind])
        case ColumnType.BINARY:
            return pa.array(values).cast(pa.string()).cast(pa.binary()).cast(ARROW_TYPES[kind])
        case ColumnType.BOOLEAN:
            return pa.array(values % 2 == 0)
        case ColumnType.TIMESTAMP:
            return pa.array(times - values * 1_000_000).cast(ARROW_TYPES[kind])
        case ColumnType.DATE:
            return pa.array(values.astype(np.int32)).cast(ARROW_TYPES[kind])
        case _:
            return pa.array(values).cast(ARROW_TYPES[kind])
