"""The shapes of join that Millrace is measured with beside its peers.

Event times are even, 5,000 tuples per second and stream. Keys are uniform over so many values that a
tuple meets about one tuple of each neighbour per window, whatever the other conditions let through, so
that all shapes have results in proportion to their tuples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

RATE = 5_000
"""Tuples per second of event time and stream."""
WINDOW_S = 60
KEYS = RATE * WINDOW_S
"""Values of a key that has to select by itself."""
VALUES = 1_000
"""Values of a column that is compared and not looked up."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream: `id`, an event time `ts`, and integer columns, uniform and independent."""

    name: str
    columns: tuple[tuple[str, int], ...]
    """Name and number of values; a column has values from 0 to one less."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition that is no equality, as SQL that all engines understand alike."""

    sql: str
    selectivity: float
    """The share of pairs of tuples for which it is true."""


@dataclass(frozen=True, slots=True)
class Join:
    """How one more stream joins those named before it."""

    stream: Stream
    equalities: tuple[tuple[str, str], ...]
    """Pairs of columns, of a stream before and of this one: `("r.b", "s.b")`."""
    comparisons: tuple[Comparison, ...] = ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """Everything but the window."""
        return (*(f"{old} = {new}" for old, new in self.equalities), *(c.sql for c in self.comparisons))


@dataclass(frozen=True, slots=True)
class Shape:
    """A query, its streams and how much of them is read.

    Tuples are counted at scale 1, over all streams.
    """

    name: str
    first: Stream
    joins: tuple[Join, ...]
    tuples: int
    batches: tuple[int, ...]
    """Millrace is measured with the data cut into so many batches."""
    spark_tuples: int
    """What Spark's own joins are given: the beginning of the streams, at most `tuples`."""
    flink_tuples: int
    """Likewise."""
    common_key: bool = False
    """All streams are joined on one key: what Flink's multi-way join operator is made for."""
    rate: int = RATE
    """Tuples per second of event time and stream."""
    window_s: int = WINDOW_S

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.first, *(join.stream for join in self.joins))

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(condition for join in self.joins for condition in join.conditions)

    @property
    def selectivities(self) -> Mapping[str, float]:
        """By condition: what the planner is told, exactly what is true of the data."""
        values = {f"{s.name}.{column}": many for s in self.streams for column, many in s.columns}
        known: dict[str, float] = {}
        for join in self.joins:
            known |= {f"{old} = {new}": 1 / max(values[old], values[new]) for old, new in join.equalities}
            known |= {comparison.sql: comparison.selectivity for comparison in join.comparisons}
        return known

    def close(self, one: str, other: str, microseconds: str) -> str:
        """The window of two streams; `microseconds` is what a stream's event time is called, `{}` for it."""
        left, right = microseconds.format(one), microseconds.format(other)
        return f"abs({left} - {right}) <= {self.window_s * 1_000_000}"


def resized(shape: Shape, rate: int, window_s: int, seconds: int) -> Shape:
    """A shape of equalities at another rate and window.

    A tuple still meets one tuple of a neighbour per window.

    Args:
        shape: without comparisons.
        rate: tuples per second of event time and stream.
        window_s: in seconds.
        seconds: of event time.
    """

    def sized(stream: Stream) -> Stream:
        return Stream(stream.name, tuple((name, rate * window_s) for name, _ in stream.columns))

    return replace(
        shape,
        first=sized(shape.first),
        joins=tuple(Join(sized(join.stream), join.equalities) for join in shape.joins),
        tuples=rate * seconds * len(shape.streams),
        rate=rate,
        window_s=window_s,
    )


def flat(condition: str) -> str:
    """A condition over columns of one joined table, whose columns are named STREAM_COLUMN.

    >>> flat("abs(r.v - s.v) <= 52")
    'abs(r_v - s_v) <= 52'
    """
    return condition.replace(".", "_")


_BAND = 52
"""abs(x - y) <= 52 is true for a share of 0.1022 of the pairs of two uniform columns of 1,000 values."""
_LESS = (VALUES - 1) / (2 * VALUES)


def _stream(name: str, *columns: str, keys: int = KEYS, values: str = "") -> Stream:
    compared = tuple((column, VALUES) for column in values)
    return Stream(name, (*((column, keys) for column in columns), *compared))


def _band(one: str, other: str) -> Comparison:
    among = VALUES + 2 * sum(VALUES - apart for apart in range(1, _BAND + 1))
    return Comparison(f"abs({one} - {other}) <= {_BAND}", among / VALUES**2)


_T = Join(_stream("t", "c"), (("s.c", "t.c"),))
_TENTH, _HALF = KEYS // 10, KEYS // 2

SHAPES = {
    shape.name: shape
    for shape in (
        Shape(
            "linear3",
            _stream("r", "b"),
            (Join(_stream("s", "b", "c"), (("r.b", "s.b"),)), _T),
            tuples=3_000_000,
            batches=(20, 10, 4),
            spark_tuples=1_500_000,
            flink_tuples=2_250_000,
        ),
        Shape(
            "linear4",
            _stream("r", "b"),
            (
                Join(_stream("s", "b", "c"), (("r.b", "s.b"),)),
                Join(_stream("t", "c", "d"), (("s.c", "t.c"),)),
                Join(_stream("u", "d"), (("t.d", "u.d"),)),
            ),
            tuples=4_000_000,
            batches=(13, 5),
            spark_tuples=2_000_000,
            flink_tuples=2_400_000,
        ),
        Shape(
            "star4",
            _stream("r", "a", "b", "c"),
            (
                Join(_stream("s", "a"), (("r.a", "s.a"),)),
                Join(_stream("t", "b"), (("r.b", "t.b"),)),
                Join(_stream("u", "c"), (("r.c", "u.c"),)),
            ),
            tuples=4_000_000,
            batches=(13, 5),
            spark_tuples=2_000_000,
            flink_tuples=2_400_000,
        ),
        Shape(
            "clique3",
            _stream("r", "k"),
            (
                Join(_stream("s", "k"), (("r.k", "s.k"),)),
                Join(_stream("t", "k"), (("r.k", "t.k"), ("s.k", "t.k"))),
            ),
            tuples=3_000_000,
            batches=(10, 4),
            spark_tuples=1_500_000,
            flink_tuples=2_250_000,
            common_key=True,
        ),
        Shape(
            "band",
            _stream("r", "b", keys=_TENTH, values="v"),
            (
                Join(
                    _stream("s", "b", "c", keys=_TENTH, values="vw"),
                    (("r.b", "s.b"),),
                    (_band("r.v", "s.v"),),
                ),
                Join(_stream("t", "c", keys=_TENTH, values="w"), (("s.c", "t.c"),), (_band("s.w", "t.w"),)),
            ),
            tuples=1_800_000,
            batches=(6, 3),
            spark_tuples=1_350_000,
            flink_tuples=1_350_000,
        ),
        Shape(
            "inequality",
            _stream("r", "b", keys=_HALF, values="v"),
            (
                Join(
                    _stream("s", "b", "c", keys=_HALF, values="vw"),
                    (("r.b", "s.b"),),
                    (Comparison("r.v < s.v", _LESS),),
                ),
                Join(
                    _stream("t", "c", keys=_HALF, values="w"),
                    (("s.c", "t.c"),),
                    (Comparison("s.w < t.w", _LESS),),
                ),
            ),
            tuples=1_800_000,
            batches=(6, 3),
            spark_tuples=1_350_000,
            flink_tuples=1_350_000,
        ),
    )
}
