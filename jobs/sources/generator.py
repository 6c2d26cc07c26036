"""Synthetic tuples: any range of them can be made again, from its numbers alone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Literal
from uuid import UUID

import numpy as np
import pyarrow as pa

from jobs.sources.connector import Asked, Descriptor, LiveConnector, Numbered, Offsets, Position, Raw, Servers
from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.types import ColumnType
from optimizer.physical.graph import GraphStream
from optimizer.udf.arrow import ARROW_TYPES


@dataclass(frozen=True, slots=True)
class Generated:
    """A stream whose tuples are made up at a steady rate."""

    stream: str
    tuples_per_second: float
    start_us: int
    """Event time of the first tuple, microseconds since 1970; later ones follow real time."""
    seed: int = 1
    distinct: int = 1000


def generated(text: str, now_us: int) -> Generated:
    """The option `STREAM=RATE`: tuples per second from `now_us` on.

    Raises `InputError`.

    >>> generated("clicks=2.5", 0).tuples_per_second
    2.5
    """
    stream, _, rate = text.partition("=")
    try:
        per_second = float(rate)
    except ValueError:
        per_second = 0.0
    if not stream or not 0 < per_second <= 10_000_000:
        place = Place("command line", path="--generate")
        raise InputError("bad-option", place, repr(text), "STREAM=TUPLES_PER_SECOND")
    return Generated(stream, per_second, now_us)


def continued(asked: Sequence[Generated], before: Sequence[Generated]) -> tuple[Generated, ...]:
    """The made-up streams of a run; one that `before` has keeps its first moment.

    Raises `InputError` if its rate was another.

    >>> continued([generated("clicks=2.5", 9)], [generated("clicks=2.5", 4)])[0].start_us
    4
    """
    known = {made.stream: made for made in before}
    for made in asked:
        have = known.get(made.stream, made)
        if have.tuples_per_second != made.tuples_per_second:
            raise InputError(
                "changed-option",
                Place("command line", path="--generate"),
                f"{made.stream}={made.tuples_per_second:g}",
                f"{made.stream}={have.tuples_per_second:g}, as this checkpoint began",
            )
    return tuple(known.get(made.stream, made) for made in asked)


@dataclass(frozen=True, slots=True)
class GeneratedRange(Numbered):
    """Tuples `first` to `first + rows` (exclusive) of a synthetic stream."""

    connector: ClassVar[str] = "generator"

    stream: str
    first: int
    rows: int
    tuples_per_second: float
    start_us: int
    """Event time of tuple 0, microseconds since 1970."""
    seed: int
    distinct: int
    """How many values each column takes."""
    kind: Literal["generated"] = "generated"

    @property
    def place(self) -> str:
        return f"made-up tuples from number {self.first} on"


class GeneratedOffsets(Offsets):
    """Tuples are there as soon as their event time has passed."""

    def ends(
        self, streams: Mapping[str, Generated], positions: Mapping[str, Position], share: int
    ) -> dict[str, Position]:
        ends = {}
        for stream, made in streams.items():
            elapsed_us = time.time() * 1e6 - made.start_us
            due = int(elapsed_us * made.tuples_per_second / 1e6)
            row = int(positions[stream].get("row", 0))
            rows = min(due - row, share)
            if rows > 0:
                ends[stream] = {"row": row + rows}
        return ends

    def newest(self, streams: Mapping[str, Generated]) -> dict[str, Position]:
        """Nothing is ever waited for: more is made up all the time."""
        return {}


class Generator(LiveConnector):
    descriptors = (GeneratedRange,)
    position_key = "row"
    remote = False

    def offsets(self, servers: Servers) -> Offsets:
        return GeneratedOffsets()

    def planned(
        self, stream: str, settings: Generated, before: Position, after: Position
    ) -> Sequence[Descriptor]:
        first = before.get("row", 0)
        rate = (settings.tuples_per_second, settings.start_us, settings.seed, settings.distinct)
        return [GeneratedRange(stream, first, after["row"] - first, *rate)]

    def has_come(self, position: Position, newest: Position) -> bool:
        return True

    def read(self, descriptor: GeneratedRange, asked: Asked) -> Raw:
        whole = generate(descriptor, asked.stream)
        return Raw(whole.select([name for name, _ in asked.columns]), None, None)


CONNECTOR = Generator()

_DAY_US = 86_400_000_000


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
    """SplitMix64: a counter-based generator, one output per number.

    Steele, Lea, Flood, OOPSLA 2014.
    """
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
        case ColumnType.TIME:
            return pa.array(values % _DAY_US).cast(ARROW_TYPES[kind])
        case ColumnType.UUID:
            return pa.array([str(UUID(int=value)) for value in values.tolist()], ARROW_TYPES[kind])
        case ColumnType.BOOLEAN:
            return pa.array(values % 2 == 0)
        case ColumnType.TIMESTAMP:
            return pa.array(times - values * 1_000_000).cast(ARROW_TYPES[kind])
        case ColumnType.DATE:
            return pa.array(values.astype(np.int32)).cast(ARROW_TYPES[kind])
        case kind if kind.is_decimal:
            # Whole numbers as units, as many as there is room for.
            units = [
                Decimal(unit).scaleb(-kind.scale)
                for unit in (values % 10 ** min(kind.precision, 18)).tolist()
            ]
            return pa.array(units, ARROW_TYPES[kind])
        case _:
            return pa.array(values).cast(ARROW_TYPES[kind])
