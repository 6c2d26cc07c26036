"""Small queries that read the groups of others: as a stream of results with windows of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from optimizer.algebra.types import ColumnType
from tests.oracle.small.grammar import COLUMNS, DECIMALS, Dice
from tests.oracle.small.values import SECOND_US

if TYPE_CHECKING:
    from tests.oracle.small.workload import SmallQuery

T = ColumnType
INFINITY_US = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Reading:
    """What is done with the results of a query with groups."""

    shape: Literal["join", "exists", "not exists", "groups"]
    stream: str
    key: int
    """The position of the output that is compared."""
    column: str
    """What it is compared with."""
    window_us: int
    """Of the results."""
    other_us: int
    """Of the stream."""

    def text(self, inner: str) -> str:
        """As Millrace reads it: `inner` is the query that is read."""
        results = f"({inner}) [RANGE {self.window_us} MICROSECONDS] AS v"
        other = f"{self.stream} [RANGE {self.other_us} MICROSECONDS] AS w"
        on = f"v.o{self.key} = w.{self.column}"
        if self.shape == "groups":
            bucket = f"TUMBLE(RESULT_TIME(), INTERVAL {self.other_us + 1} MICROSECONDS)"
            return f"SELECT {bucket} AS o0, COUNT(v.o{self.key}) AS o1 FROM ({inner}) AS v GROUP BY 1"
        if self.shape == "join":
            return f"SELECT v.o0 AS o0, w.id AS o1 FROM {results}, {other} WHERE {on}"
        return (
            f"SELECT w.id AS o0 FROM {other} WHERE {self.shape.upper()} (SELECT 1 FROM {results} WHERE {on})"
        )

    def reference(self, inner: str, size_us: int) -> str:
        """As DuckDB answers it: the event time of a group is the end of its bucket."""
        end = f"TRY(o0 + to_microseconds({size_us}))"
        us = f"coalesce(epoch_us({end})::HUGEINT, {INFINITY_US})"
        results = f"(SELECT *, {end} AS ends, {us} AS us FROM ({inner})) AS v"
        if self.shape == "groups":
            bucket = (
                f"TRY(time_bucket(to_microseconds({self.other_us + 1}), "
                "coalesce(v.ends, CAST('infinity' AS TIMESTAMP))))"
            )
            return f"SELECT {bucket} AS o0, count(v.o{self.key}) AS o1 FROM {results} GROUP BY 1"
        on = (
            f'v.o{self.key} = w.{self.column} AND v.us - w."@us" <= {self.other_us} '
            f'AND w."@us" - v.us <= {self.window_us}'
        )
        if self.shape == "join":
            return f"SELECT v.o0 AS o0, w.id AS o1 FROM {results}, {self.stream} AS w WHERE {on}"
        asked = f"{self.shape.upper()} (SELECT 1 FROM {results} WHERE {on})"
        return f"SELECT w.id AS o0 FROM {self.stream} AS w WHERE {asked}"


def with_reader(chance: Dice, query: SmallQuery, streams: Sequence[str]) -> SmallQuery:
    """A query over the groups of another one; one without groups stays as it is."""
    made = query.grouped
    if made is None or query.also is not None or query.reading is not None:
        return query
    keys = [(1 + n, query.outputs[position].kind) for n, position in enumerate(made.keys)]
    able = [(position, kind) for position, kind in keys if kind in (T.INT, T.BIGINT, T.STRING, *DECIMALS)]
    shape = chance.choice(("join", "join", "exists", "not exists", "groups"))
    if not able and shape != "groups":
        return query
    position, kind = chance.choice(able) if able else (0, T.TIMESTAMP)
    column = chance.choice(COLUMNS.get(kind, ("id",)))
    lengths = (0, 1, SECOND_US, 5 * SECOND_US, 60 * SECOND_US, 3600 * SECOND_US)
    reading = Reading(
        shape, chance.choice(streams), position, column, chance.choice(lengths), chance.choice(lengths)
    )
    return replace(query, reading=reading)
