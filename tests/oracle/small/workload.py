"""Small random workloads from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pyarrow as pa

from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from tests.oracle.small.grammar import (
    COLUMNS,
    MOMENTS,
    NUMBERS,
    VALUES,
    Dice,
    Term,
    between,
    column,
    compared,
    constant,
    dice,
    reading,
    shifted,
    term,
)
from tests.oracle.small.values import ARROW, FIRST_US, LAST_US, SECOND_US, START_US, pool
from tests.oracle.small.values import column as arrow_column

T = ColumnType
Row = dict[str, object]
DECLARED = tuple((name, kind) for kind, names in COLUMNS.items() for name in names)
SCHEMA = pa.schema([(name, ARROW[kind]) for name, kind in DECLARED])
DAY_US = 86_400 * SECOND_US
WIDE_US = (2**62, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1, 2**64, 999_999_999 * DAY_US)
"""Windows near what 64 bits hold, and the longest that SQL may say."""


@dataclass(frozen=True, slots=True)
class SmallInput:
    alias: str
    stream: str
    window_us: int | None

    def text(self) -> str:
        if self.window_us is None:
            return f"{self.stream} AS {self.alias}"
        if self.window_us % DAY_US == 0 and self.window_us:
            return f"{self.stream} [RANGE {self.window_us // DAY_US} DAYS] AS {self.alias}"
        return f"{self.stream} [RANGE {self.window_us} MICROSECONDS] AS {self.alias}"


@dataclass(frozen=True, slots=True)
class SmallQuery:
    name: str
    inputs: tuple[SmallInput, ...]
    predicates: tuple[Term, ...]
    outputs: tuple[Term, ...]

    def text(self) -> str:
        """As Millrace reads it."""
        where = " AND ".join(f"({p.text()})" for p in self.predicates)
        joined = any(p.aliases() for p in self.predicates)
        between = " CROSS JOIN " if not joined else ", "
        outputs = ", ".join(f"{o.text()} AS o{n}" for n, o in enumerate(self.outputs))
        return f"SELECT {outputs} FROM {between.join(i.text() for i in self.inputs)}" + (
            f" WHERE {where}" if where else ""
        )

    def reference(self) -> str:
        """As DuckDB answers it. Tables have the event time in microseconds too, as `@us`."""
        conditions = [f"({p.reference()})" for p in self.predicates]
        conditions += [
            f'{newer.alias}."@us" - {older.alias}."@us" <= {older.window_us}::HUGEINT'
            for older in self.inputs
            if older.window_us is not None
            for newer in self.inputs
            if newer is not older
        ]
        outputs = ", ".join(f"{o.reference()} AS o{n}" for n, o in enumerate(self.outputs))
        sources = ", ".join(f"{i.stream} AS {i.alias}" for i in self.inputs)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {outputs} FROM {sources}{where}"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A tuple on its way."""

    stream: str
    row: tuple[tuple[str, object], ...]
    """Column and value; timestamps are microseconds since 1970."""

    @property
    def time_us(self) -> int | None:
        value = dict(self.row)["ts"]
        assert value is None or isinstance(value, int)
        return value


@dataclass(frozen=True, slots=True)
class SmallWorkload:
    streams: tuple[str, ...]
    lateness_us: int | None
    """Of every stream; None is so much that nothing is late."""
    arrivals: tuple[Arrival, ...]
    """Of all streams, in their order."""
    queries: tuple[SmallQuery, ...]

    @property
    def catalog(self) -> Catalog:
        lateness = timedelta.max if self.lateness_us is None else timedelta(microseconds=self.lateness_us)
        return Catalog(tuple(Stream(name, DECLARED, "ts", lateness=lateness) for name in self.streams))

    def describe(self) -> str:
        """The case for a person who looks into it."""
        late = "nothing is late" if self.lateness_us is None else f"lateness {self.lateness_us} us"
        lines = [f"-- streams {', '.join(self.streams)}; {late}"]
        lines += [
            f"-- {query.name}\n{query.text()}\n-- as DuckDB: {query.reference()}" for query in self.queries
        ]
        for arrival in self.arrivals:
            known = {name: value for name, value in arrival.row if value is not None}
            lines.append(f"-- {arrival.stream} {known}")
        return "\n".join(lines)


def table_of(rows: Sequence[Arrival]) -> pa.Table:
    """Tuples of one stream as they reach the runtime."""
    values = [dict(arrival.row) for arrival in rows]
    arrays = [arrow_column([row[name] for row in values], kind) for name, kind in DECLARED]
    return pa.table(arrays, schema=SCHEMA)


def generate(seed: int, plain: bool = False) -> SmallWorkload:
    """The workload of a seed; with `plain`, of few functions and event times inside of years that people
    write."""
    chance = dice(f"small {seed}", plain)
    streams = tuple(f"s{n}" for n in range(chance.choice((1, 2, 2, 3, 3, 4))))
    pools, times = _values(chance, plain)
    lateness_us = None if chance.random() < 0.7 else chance.choice((0, 2 * SECOND_US, 10 * SECOND_US))
    arrivals = _arrivals(chance, streams, pools, times, lateness_us)
    queries = tuple(_query(chance, f"q{n}", streams) for n in range(chance.choice((1, 1, 2, 3))))
    return SmallWorkload(streams, lateness_us, arrivals, queries)


def dealt_again(workload: SmallWorkload, seed: str, plain: bool = False) -> SmallWorkload:
    """The same queries over other tuples: a plan takes as long as two runs, and is the same one."""
    chance = dice(seed, plain)
    arrivals = _arrivals(chance, workload.streams, *_values(chance, plain), workload.lateness_us)
    return replace(workload, arrivals=arrivals)


Pools = dict[ColumnType, list[object]]


def _values(chance: Dice, plain: bool) -> tuple[Pools, list[int]]:
    pools = {kind: pool(chance, kind, chance.choice((2, 3, 4, 6))) for kind in VALUES}
    return pools, _times(chance, plain)


def _arrivals(
    chance: Dice, streams: Sequence[str], pools: Pools, times: list[int], lateness_us: int | None
) -> tuple[Arrival, ...]:
    arrivals: list[tuple[int, Arrival]] = []
    most = chance.choice((4, 8, 8, 12, 20))
    missing = chance.choice((0.02, 0.08, 0.08, 0.3))
    for stream in streams:
        for number in range(0 if chance.random() < 0.05 else chance.randint(1, most)):
            row = _row(chance, pools, times, number, missing)
            time = row["ts"]
            due = (time if isinstance(time, int) else START_US) + chance.choice((0, 0, 1, 2, 30)) * SECOND_US
            arrivals.append((due, Arrival(stream, tuple(row.items()))))
            if chance.random() < 0.05:
                arrivals.append(arrivals[-1])
    arrivals.sort(key=lambda arrival: arrival[0])
    if lateness_us is None and chance.random() < 0.5:
        chance.shuffle(arrivals)
    return tuple(arrival for _, arrival in arrivals)


def _times(chance: Dice, plain: bool) -> list[int]:
    drawn = chance.random() * (0.75 if plain else 1.0)
    if drawn < 0.75:
        return [START_US + s * SECOND_US // 2 for s in range(chance.choice((4, 10, 40)))]
    if drawn < 0.9:
        # The ends of time, and what is between them.
        near = (0, 1, 2, SECOND_US, 3 * SECOND_US, DAY_US)
        return [FIRST_US + n for n in near] + [LAST_US - n for n in near] + [0, -1, START_US]
    end = chance.choice((FIRST_US, LAST_US - 20 * SECOND_US))
    return [end + s * SECOND_US for s in range(20)]


def _row(chance: Dice, pools: Pools, times: list[int], number: int, missing: float) -> Row:
    row: Row = {}
    for name, kind in DECLARED:
        if name == "ts":
            row[name] = None if chance.random() < 0.01 else chance.choice(times)
        elif name == "id":
            row[name] = number
        else:
            row[name] = None if chance.random() < missing else chance.choice(pools[kind])
    return row


# Queries


def _query(chance: Dice, name: str, streams: Sequence[str]) -> SmallQuery:
    size = chance.choices((1, 2, 3, 4), (2, 6, 5, 1))[0]
    aliases = ("a", "b", "c", "e")[:size]
    common = _window(chance)
    inputs = tuple(
        SmallInput(alias, chance.choice(streams), common if chance.random() < 0.6 else _window(chance))
        for alias in aliases
    )
    predicates = []
    for position in range(1, size):
        predicates.append(_join(chance, aliases[position], chance.choice(aliases[:position])))
    if size > 1 and chance.random() < 0.35:
        predicates.append(_join(chance, *chance.sample(aliases, 2)))
    if size > 2 and chance.random() < 0.3:
        predicates.append(reading(chance, T.BOOLEAN, chance.sample(aliases, 3), 3))
    for alias in aliases:
        if chance.random() < (0.8 if size == 1 else 0.25):
            predicates.append(reading(chance, T.BOOLEAN, (alias,), 2))
    outputs = [column(alias, "id", T.BIGINT) for alias in aliases]
    for _ in range(chance.randint(0, 3)):
        kind = chance.choice(VALUES)
        if chance.random() < 0.4:
            outputs.append(column(chance.choice(aliases), chance.choice(COLUMNS[kind]), kind))
        else:
            outputs.append(term(chance, kind, aliases, chance.choice((1, 2))))
    return SmallQuery(name, inputs, tuple(p for p in predicates if p.aliases()), tuple(outputs))


def _window(chance: Dice) -> int | None:
    drawn = chance.random()
    if drawn < 0.2:
        return None
    if drawn < 0.3:
        return 0
    if drawn < 0.42:
        return chance.choice(WIDE_US)
    return chance.choice((1, SECOND_US, 2 * SECOND_US, 5 * SECOND_US, 20 * SECOND_US, DAY_US))


def _join(chance: Dice, new: str, old: str) -> Term:
    """A condition over two inputs."""
    drawn = chance.random()
    if drawn < 0.35:
        kind = chance.choice(VALUES)
        return compared("=", *(column(alias, chance.choice(COLUMNS[kind]), kind) for alias in (new, old)))
    if drawn < 0.55:
        first, second = _comparable(chance)
        depths = chance.choice(((1, 0), (2, 0), (1, 1), (0, 0)))
        return compared(
            "=", reading(chance, first, (new,), depths[0]), reading(chance, second, (old,), depths[1])
        )
    if drawn < 0.72:
        return _band(chance, new, old)
    if drawn < 0.92:
        first, second = _comparable(chance)
        operator = chance.choice(("<", "<=", ">", ">=", "<>"))
        depth = chance.choice((0, 0, 1))
        return compared(
            operator, reading(chance, first, (new,), depth), reading(chance, second, (old,), depth)
        )
    return reading(chance, T.BOOLEAN, (new, old), 3)


def _comparable(chance: Dice) -> tuple[ColumnType, ColumnType]:
    kind = chance.choice(VALUES)
    family = next((f for f in (NUMBERS, MOMENTS) if kind in f), (kind,))
    return kind, chance.choice(family)


def _band(chance: Dice, new: str, old: str) -> Term:
    family = chance.choice((NUMBERS, NUMBERS, MOMENTS))
    if family is NUMBERS:
        kinds = chance.choice(NUMBERS), chance.choice(NUMBERS)
        step_kind = chance.choice((T.INT, kinds[1]))
    else:
        kinds = chance.choice(MOMENTS), chance.choice(MOMENTS)
        step_kind = T.INTERVAL
    value, other = (
        column(alias, chance.choice(COLUMNS[kind]), kind)
        for alias, kind in zip((new, old), kinds, strict=True)
    )
    low, high = (constant(chance, step_kind) for _ in range(2))
    drawn = chance.random()
    if drawn < 0.5:
        return between(value, shifted(other, "-", low), shifted(other, "+", high))
    operator = chance.choice(("<", "<=", ">", ">="))
    if drawn < 0.75 and family is NUMBERS:
        difference = Term(
            shifted(value, "-", other).kind, "ABS({0} - {1})", "TRY(ABS({0} - {1}))", (value, other)
        )
        return compared(operator, difference, constant(chance, chance.choice(NUMBERS)))
    return compared(operator, value, shifted(other, chance.choice("+-"), low))
