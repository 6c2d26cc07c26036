"""Queries as AJoin's experiments draw them (section 7, data generation): variations of a pattern.

A pattern is a chain of joins over all streams of its group. A query with n % similarity has some of these
streams, next to each other in the chain, and some of their join attributes in common with it; its
other streams and attributes are random.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from optimizer.sql import to_duckdb
from optimizer.workload import Workload, load_workload

ATTRIBUTES = 6
VALUES = 500
"""Every attribute is uniform over so many."""
WINDOWS_S = (1, 2, 3)
START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
FILES = 10
_OPERATORS = ("<", "<=", ">", ">=")
_SELECTED = (0.3, 0.7)
"""A selection lets through between these shares of the tuples, half of them on average as in the paper."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A query."""

    sql: str
    selectivities: tuple[tuple[str, float], ...]
    """Its conditions, and of how many tuples or pairs each is true."""


@dataclass(frozen=True, slots=True)
class Template:
    """What queries are drawn from.

    >>> template = Template(ways=3, similarity=0.5, groups=1)
    >>> template.streams
    ('s0', 's1', 's2', 's3', 's4', 's5')
    >>> len({drawn.sql for drawn in template.draw(20)})
    20
    """

    ways: int
    """Streams of a query."""
    similarity: float
    """Equation 3: common streams times common join attributes over the square of `ways`."""
    groups: int = 1
    """Patterns; each has streams of its own, twice as many as a query."""
    seed: int = 1

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(f"s{number}" for number in range(2 * self.ways * self.groups))

    def draw(self, count: int) -> tuple[Drawn, ...]:
        """`count` queries; those of a smaller count come first."""
        drawn = random.Random(self.seed)
        patterns = [self._pattern(drawn, group) for group in range(self.groups)]
        return tuple(self._query(drawn, patterns[number % self.groups]) for number in range(count))

    def common(self, streams: int) -> int | None:
        """How many of so many common streams keep their join attributes; None if it would need more streams.

        >>> Template(ways=3, similarity=1.0).common(3), Template(ways=3, similarity=1.0).common(2)
        (3, None)
        """
        attributes = round(self.similarity * self.ways**2 / streams)
        return attributes if attributes <= streams else None

    def _pattern(self, drawn: random.Random, group: int) -> _Chain:
        first = 2 * self.ways * group
        numbers = range(first, first + self.ways)
        return tuple(_Link(f"s{number}", _attribute(drawn), _attribute(drawn)) for number in numbers)

    def _query(self, drawn: random.Random, pattern: _Chain) -> Drawn:
        streams = drawn.randint(1, self.ways)
        while (attributes := self.common(streams)) is None:
            streams += 1
        at = drawn.randint(0, self.ways - streams)
        kept = set(drawn.sample(range(at, at + streams), attributes))
        others = [f"s{int(pattern[0].stream[1:]) + self.ways + n}" for n in range(self.ways)]
        foreign = iter(drawn.sample(others, self.ways - streams))
        chain = tuple(
            link
            if place in kept
            else _Link(
                link.stream if at <= place < at + streams else next(foreign),
                _attribute(drawn),
                _attribute(drawn),
            )
            for place, link in enumerate(pattern)
        )
        return _written(drawn, chain)


@dataclass(frozen=True, slots=True)
class _Link:
    stream: str
    left: str
    """Attribute by which it is joined with the stream before it in the chain."""
    right: str


_Chain = tuple[_Link, ...]


def write_workload(
    folder: Path, streams: Sequence[str], queries: Sequence[Drawn], rate: int, *, told: bool = True
) -> Workload:
    """Writes FOLDER/streams.yaml and FOLDER/queries/*.sql; selectivities, as they are true of `table`'s
    tuples, only if they are to be `told`."""
    (folder / "queries").mkdir(parents=True)
    columns = ", ".join(f"a{number}: bigint" for number in range(ATTRIBUTES))
    lines = ["streams:"]
    for stream in streams:
        lines += [f"  {stream}:", "    event_time: ts", f"    rate: {rate}"]
        lines += [f"    columns: {{ts: timestamp, id: bigint, {columns}}}"]
    lines += ["selectivities:"] if told else []
    known = dict(pair for query in queries for pair in query.selectivities) if told else {}
    lines += [f'  - {{predicate: "{text}", value: {value!r}}}' for text, value in known.items()]
    (folder / "streams.yaml").write_text("\n".join([*lines, ""]))
    for number, query in enumerate(queries):
        (folder / "queries" / f"q{number:03d}.sql").write_text(query.sql)
    return load_workload(folder)


def table(stream: str, first: int, rows: int, rate: int) -> pa.Table:
    """Tuples `first` to `first + rows` of a stream at an even pace; the same ones for the same numbers."""
    numbers = np.random.default_rng((int(stream[1:]), first))
    ids = np.arange(first, first + rows, dtype=np.int64)
    values = numbers.integers(0, VALUES, (ATTRIBUTES, rows), dtype=np.int64)
    return pa.table(
        {
            "ts": pa.array(START_US + ids * 1_000_000 // rate).cast(pa.timestamp("us", "UTC")),
            "id": ids,
            **{f"a{number}": values[number] for number in range(ATTRIBUTES)},
        }
    )


def write_data(folder: Path, streams: Sequence[str], rows: int, rate: int) -> None:
    """Writes FOLDER/STREAM/*.parquet, `rows` tuples of each stream."""
    size = -(-rows // FILES)
    for stream in streams:
        (folder / stream).mkdir(parents=True)
        for number in range(FILES):
            part = table(stream, number * size, size, rate)
            pq.write_table(part, folder / stream / f"part-{number:02d}.parquet")


def count_results(data: Path, streams: Sequence[str], known: Workload) -> int:
    """DuckDB's number of results of all queries together."""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET TimeZone = 'UTC'")
        for stream in streams:
            source = f"read_parquet('{data / stream}/*.parquet')"
            connection.execute(f"CREATE TABLE {stream} AS SELECT * FROM {source}")
        counted = (f"SELECT count(*) FROM ({to_duckdb(query, known.catalog)})" for query in known.queries)
        return sum(int((connection.execute(text).fetchone() or (0,))[0]) for text in counted)


def _attribute(drawn: random.Random) -> str:
    return f"a{drawn.randrange(ATTRIBUTES)}"


def _written(drawn: random.Random, chain: _Chain) -> Drawn:
    window = drawn.choice(WINDOWS_S)
    selections = {}
    for link in chain:
        operator, share = drawn.choice(_OPERATORS), drawn.uniform(*_SELECTED)
        lower, equal = operator.startswith("<"), operator.endswith("=")
        value = round(VALUES * (share if lower else 1 - share))
        true = (value if lower else VALUES - 1 - value) + equal
        selections[f"{link.stream}.{_attribute(drawn)} {operator} {value}"] = true / VALUES
    joins = {
        f"{before.stream}.{before.right} = {after.stream}.{after.left}": 1 / VALUES
        for before, after in pairwise(chain)
    }
    conditions = joins | selections
    sql = (
        f"SELECT {', '.join(f'{link.stream}.id AS {link.stream}_id' for link in chain)}\n"
        f"FROM {', '.join(f'{link.stream} [RANGE {window} SECONDS]' for link in chain)}\n"
        f"WHERE {' AND '.join(conditions)}\n"
    )
    return Drawn(sql, tuple(conditions.items()))
