"""Random workloads from a seed: the same seed always gives the same case.

The streams have ties in event time, NULLs, duplicates, tuples out of order within the allowed
lateness, some beyond it, some without an event time, and at times no tuple at all. Half of them hold
values from the ends of types and other odd ones, as small workloads do. The queries
have equalities, inequalities, bands, arithmetic, LIKE, predicates over three and more aliases,
filters, self-joins, unbounded and zero windows, in all the ways in which SQL writes them; and where
they are asked for, user functions in predicates, filters and outputs, or conditions on event times in the
place of windows.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import duckdb
import pyarrow as pa

from optimizer.algebra.types import ColumnType
from optimizer.udf.duckdb import register
from optimizer.udf.reader import read_functions
from tests.oracle import functions as called
from tests.oracle.absences import draw_absences
from tests.oracle.groups import draw_groups
from tests.oracle.readers import draw_readers
from tests.oracle.sessions import draw_sessions
from tests.oracle.small.values import ODD
from tests.oracle.tables import as_table, draw_look_up
from tests.oracle.workload import (
    ID,
    TIME,
    GeneratedInput,
    GeneratedQuery,
    GeneratedStream,
    GeneratedWorkload,
)

START = datetime(2024, 2, 28, 23, 55, tzinfo=UTC)
MOST_RESULTS = 30_000
"""Per query; a query with more is drawn again."""

_TYPES = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
}
_WORDS = ("ab", "abc", "b", "bcd", "a_c", "Ab", "ü")
_COLUMNS = (
    (TIME, "timestamp"),
    (ID, "bigint"),
    ("k", "int"),
    ("g", "bigint"),
    ("x", "double"),
    ("s", "string"),
    ("f", "boolean"),
)


def generate(
    seed: int,
    streams: int = 3,
    queries: int = 3,
    tuples: int = 240,
    functions: bool = False,
    timed: bool = False,
    absences: bool = False,
) -> GeneratedWorkload:
    """A random workload.

    Args:
        seed: determines everything.
        streams, queries: how many.
        tuples: about how many each stream has; a tenth of the streams has none.
        functions: every query calls user functions.
        absences: as many queries again have outer, semi or anti joins, two look up a table's versions,
            two have groups, two sessions, and two read results of further ones.
        timed: what bounds the tuples that queries need is mostly conditions on event times.
    """
    chance = random.Random(seed)
    # A chance of its own; and user functions take long for huge texts.
    odd = None if functions else random.Random(f"odd {seed}")
    span_s = chance.choice((60, 200, 600))
    ordered = chance.random() < 0.3
    made = [_stream(chance, odd, f"s{number}", tuples, span_s) for number in range(streams)]
    versions = random.Random(f"tables {seed}")
    if absences:
        made.append(as_table(versions, _stream(versions, None, "t0", tuples, span_s)))
    if ordered:
        made = _with_arrival_order(chance, made)
    made, tables = made[:streams], made[streams:]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
        for stream in made:
            connection.register(stream.name, stream.tuples)
        if functions:
            register(connection, read_functions(called.FILE))
        drawn = [
            _bounded_query(chance, f"q{number}", made, span_s, connection, functions, timed)
            for number in range(queries)
        ]
    if absences:
        drawn += draw_absences(random.Random(f"absences {seed}"), made, span_s, queries)
        drawn += draw_groups(random.Random(f"groups {seed}"), made, 2)
        drawn += draw_sessions(random.Random(f"sessions {seed}"), made, 2)
        drawn += draw_readers(random.Random(f"readers {seed}"), made, 2)
    drawn += [draw_look_up(versions, f"t{n}", made, table) for table in tables for n in range(2)]
    return GeneratedWorkload(seed, (*made, *tables), tuple(drawn), called.FILE if functions else None)


# Streams


def _stream(
    chance: random.Random, odd: random.Random | None, name: str, tuples: int, span_s: int
) -> GeneratedStream:
    odd = odd if odd is not None and odd.random() < 0.5 else None
    lateness_s = chance.choice((0, 0, 5, 30))
    count = 0 if chance.random() < 0.1 else chance.randint(tuples // 2, tuples + tuples // 2)
    keys = chance.choice((4, 12, 40))
    rows: list[tuple[float, dict[str, object]]] = []
    for number in range(count):
        if rows and chance.random() < 0.04:
            rows.append(chance.choice(rows))
            continue
        second = chance.randint(0, span_s)
        # Sorted by event time plus a delay of at most the lateness, every tuple is in time;
        # a few are delayed for longer and may be late, depending on where batches end.
        delay = chance.uniform(0, lateness_s) * (3 if chance.random() < 0.02 else 1)
        row = _row(chance, number, second, keys)
        rows.append((second + delay, row if odd is None else _with_odd_values(odd, row)))
    rows.sort(key=lambda row: row[0])
    schema = pa.schema([(column, _TYPES[kind]) for column, kind in _COLUMNS])
    return GeneratedStream(
        name,
        _COLUMNS,
        pa.Table.from_pylist([row for _, row in rows], schema=schema),
        timedelta(seconds=lateness_s),
        chance.choice((None, None, 1, 2, 3)),
        chance.randint(1, 3),
        # CSV has one text for the empty one and NULL, and none for U+0000.
        "csv" if chance.random() < 0.15 and odd is None else "parquet",
    )


def _row(chance: random.Random, number: int, second: int, keys: int) -> dict[str, object]:
    def maybe(value: object, null: float = 0.08) -> object:
        return None if chance.random() < null else value

    return {
        TIME: maybe(START + timedelta(seconds=second), 0.005),
        ID: number,
        "k": maybe(chance.randint(0, keys - 1)),
        "g": maybe(chance.randint(-keys, keys) * chance.choice((1, 1, 1, 3_000_000_000))),
        "x": maybe(chance.choice((0.0, -0.0, float(chance.randint(0, keys)), chance.uniform(-10, 10)))),
        "s": maybe(chance.choice(_WORDS)),
        "f": maybe(chance.random() < 0.5),
    }


def _with_odd_values(odd: random.Random, row: dict[str, object]) -> dict[str, object]:
    """The row with some values in places of others: NaN, both zeros, ends of types, odd and huge texts."""
    return {
        name: odd.choice(ODD[ColumnType(kind)])
        if name not in (TIME, ID) and odd.random() < 0.1
        else row[name]
        for name, kind in _COLUMNS
    }


def _with_arrival_order(chance: random.Random, streams: Sequence[GeneratedStream]) -> list[GeneratedStream]:
    """Interleaves the streams at random; each keeps its own order."""
    turns = [index for index, stream in enumerate(streams) for _ in range(stream.tuples.num_rows)]
    chance.shuffle(turns)
    numbers: list[list[int]] = [[] for _ in streams]
    for position, index in enumerate(turns):
        numbers[index].append(position)
    return [
        # Streams that drift apart must not lose each other's tuples to eviction, and do not:
        # the topology's watermark is the slowest stream's.
        replace(s, tuples=s.tuples.append_column("_arrival", pa.array(own, pa.int64())))
        for s, own in zip(streams, numbers, strict=True)
    ]


# Queries


def _bounded_query(
    chance: random.Random,
    name: str,
    streams: Sequence[GeneratedStream],
    span_s: int,
    connection: duckdb.DuckDBPyConnection,
    functions: bool,
    timed: bool,
) -> GeneratedQuery:
    """A query whose result is small enough to compare; empty results are drawn again a few times."""
    for attempt in range(60):
        query = _query(chance, name, streams, span_s, functions, timed)
        limited = f"SELECT count(*) FROM ({query.reference()} LIMIT {MOST_RESULTS + 1})"
        row = connection.execute(limited).fetchone()
        assert row is not None
        if row[0] <= MOST_RESULTS and (row[0] > 0 or attempt >= 8):
            return query
    raise AssertionError(f"no query of at most {MOST_RESULTS} results in 60 draws")


def _query(
    chance: random.Random,
    name: str,
    streams: Sequence[GeneratedStream],
    span_s: int,
    functions: bool,
    timed: bool,
) -> GeneratedQuery:
    size = chance.choices((1, 2, 3, 4), (0 if timed else 1, 5, 6, 2))[0]
    inputs = tuple(
        GeneratedInput(
            alias,
            chance.choice(streams).name,
            None if timed and chance.random() < 0.75 else _window(chance, span_s, size),
        )
        for alias in ("a", "b", "c", "d")[:size]
    )
    aliases = [i.alias for i in inputs]
    joins = [*_joins(chance, aliases), *(_in_time(chance, aliases, span_s) if timed else ())]
    filters = [_filter(chance, alias) for alias in aliases if chance.random() < (1.0 if size == 1 else 0.4)]
    calls = _calls(chance, aliases) if functions else []
    predicates = [*joins, *filters, *calls]
    chance.shuffle(predicates)
    outputs = _outputs(chance, aliases)
    if functions and chance.random() < 0.4:
        outputs.append(f"picky({chance.choice(aliases)}.k, {chance.choice(aliases)}.k) AS o{len(outputs)}")
    # What DuckDB would raise is NULL in Millrace.
    text = _text(chance, inputs, predicates, outputs).replace("TRY(", "(")
    return GeneratedQuery(name, inputs, tuple(predicates), tuple(outputs), text)


def _window(chance: random.Random, span_s: int, size: int) -> timedelta | None:
    drawn = chance.random()
    if drawn < 0.1 and size < 4:
        return None
    if drawn < 0.15:
        return timedelta(0)
    return timedelta(seconds=chance.choice((1, 5, 10, 30, span_s // 4, span_s // 2)))


def _in_time(chance: random.Random, aliases: Sequence[str], span_s: int) -> list[str]:
    """Conditions on event times: a chain through all aliases, and perhaps more."""
    chain = chance.sample(list(aliases), len(aliases))
    pairs = [*pairwise(chain), *(chance.sample(chain, 2) for _ in range(chance.choice((0, 0, 1, 2))))]
    return [_between_moments(chance, f"{new}.{TIME}", f"{old}.{TIME}", span_s) for new, old in pairs]


def _between_moments(chance: random.Random, new: str, old: str, span_s: int) -> str:
    one, other = (
        f"INTERVAL '{chance.choice((0, 1, 5, 10, 30, span_s // 4, span_s // 2))}' SECOND" for _ in range(2)
    )
    less = chance.choice(("<", "<="))
    return chance.choice(
        (
            f"{new} BETWEEN {old} - {one} AND {old} + {other}",
            f"{new} BETWEEN {old} + {one} AND {old} + {one} + {other}",
            f"{new} >= {old} AND {new} {less} {old} + {one}",
            f"{old} - {one} {less} {new} AND {old} + {one} > {new}",
            f"{new} {less} {old} + {one} AND {new} + {other} {less} {old}",
            f"{new} - {old} {less} {one} AND {old} - {new} <= {other}",
            f"{new} {less} {old}",
            f"{new} = {old} + {one}" if chance.random() < 0.3 else f"{new} = {old}",
            f"DATE_TRUNC('minute', {new}) = DATE_TRUNC('minute', {old})",
            f"DATE_TRUNC('minute', {old}) {less} DATE_TRUNC('minute', {new} + {one})",
        )
    )


def _joins(chance: random.Random, aliases: Sequence[str]) -> list[str]:
    """Predicates that connect every alias to an earlier one, and perhaps more."""
    found = []
    thetas = 0
    for position in range(1, len(aliases)):
        new, old = aliases[position], chance.choice(aliases[:position])
        if chance.random() < 0.7 or thetas:
            found.append(_equality(chance, new, old))
        else:
            thetas += 1
            found.append(_theta(chance, new, old))
    if len(aliases) >= 2 and chance.random() < 0.4:
        found.append(_theta(chance, *chance.sample(list(aliases), 2)))
    if len(aliases) >= 3 and chance.random() < 0.4:
        found.append(_n_ary(chance, chance.sample(list(aliases), 3)))
    if len(aliases) >= 3 and chance.random() < 0.3:
        found.append(_equality(chance, *chance.sample(list(aliases), 2)))
    return found


def _equality(chance: random.Random, new: str, old: str) -> str:
    return chance.choice(
        (
            f"{new}.k = {old}.k",
            f"{new}.k = {old}.k",
            f"{new}.g = {old}.g",
            f"{new}.k = {old}.g",
            f"{new}.x = {old}.k",
            f"{new}.x = {old}.x",
            f"{new}.s = {old}.s",
            f"{old}.s = {new}.s",
            f"TRY({new}.k + 1) = {old}.k",
        )
    )


def _theta(chance: random.Random, new: str, old: str) -> str:
    return chance.choice(
        (
            f"{new}.x < {old}.x - 5",
            f"{new}.k BETWEEN TRY({old}.k - 1) AND TRY({old}.k + 1)",
            f"ABS({new}.x - {old}.x) <= 0.5",
            f"{new}.{TIME} < {old}.{TIME}",
            f"{new}.{TIME} >= {old}.{TIME} + INTERVAL '3' SECOND",
            f"{new}.g <> {old}.g AND {new}.k = {old}.k",
            f"{new}.s LIKE {old}.s || '%'",
            f"TRY({new}.k + {old}.k) % 5 = 2",
            f"({new}.f OR {old}.x > 8)",
            f"COALESCE({new}.k, -1) = COALESCE({old}.k, -1)",
        )
    )


def _n_ary(chance: random.Random, three: Sequence[str]) -> str:
    p, q, r = three
    return chance.choice(
        (
            f"TRY({p}.k + {q}.k) = {r}.k",
            f"{p}.x + {q}.x > {r}.x",
            f"({p}.f OR {q}.f OR {r}.f)",
            f"{p}.k BETWEEN {q}.k AND {r}.k",
            f"CASE WHEN {p}.f THEN {q}.k ELSE {r}.k END > 1",
        )
    )


def _calls(chance: random.Random, aliases: Sequence[str]) -> list[str]:
    """Conditions that call user functions, on as many aliases as there are to choose from."""
    new, old = chance.choice(aliases), chance.choice(aliases)
    return chance.sample(
        (
            f"similarity({new}.s, {old}.s) > 0.4",
            f"similarity({new}.s, 'abc') <= similarity('abc', {old}.s)",
            f"name_similarity({new}.s, {old}.s) BETWEEN 0.3 AND 0.99",
            f"NOT (name_similarity({new}.s, LOWER({old}.s)) > 0.9)",
            f"picky({new}.k, {old}.k) < 6",
            f"(picky({new}.k, {old}.k) > 2 OR {new}.f)",
            f"COALESCE(picky({new}.k, {old}.g), 1) > 0",
            f"similarity({new}.s || {old}.s, {chance.choice(aliases)}.s) > 0.3",
        ),
        chance.choice((1, 1, 2)),
    )


def _filter(chance: random.Random, alias: str) -> str:
    return chance.choice(
        (
            f"{alias}.x > {chance.randint(-5, 5)}",
            f"{alias}.k IN (0, 1, 2, 5)",
            f"{alias}.s LIKE 'a%'",
            f"{alias}.s IS NOT NULL",
            f"{alias}.g IS NULL",
            f"NOT {alias}.f",
            f"({alias}.f OR {alias}.k > 2)",
            f"{alias}.k <> 1",
            f"LENGTH({alias}.s) >= 2",
            f"{alias}.x BETWEEN -4 AND 6.5",
        )
    )


def _outputs(chance: random.Random, aliases: Sequence[str]) -> list[str]:
    columns = [f"{alias}.{name}" for alias in aliases for name, _ in _COLUMNS]
    chosen = chance.sample(columns, min(len(columns), chance.randint(1, 5)))
    computed = [
        f"TRY({chance.choice(aliases)}.k + {chance.choice(aliases)}.k)",
        f"{chance.choice(aliases)}.x * 2",
        f"UPPER({chance.choice(aliases)}.s)",
        f"COALESCE({chance.choice(aliases)}.s, 'none')",
        f"{chance.choice(aliases)}.k / 2",
        f"{chance.choice(aliases)}.f AND {chance.choice(aliases)}.x > 0",
    ]
    if chance.random() < 0.5:
        chosen.append(chance.choice(computed))
    return [f"{expression} AS o{number}" for number, expression in enumerate(chosen)]


def _text(
    chance: random.Random,
    inputs: Sequence[GeneratedInput],
    predicates: Sequence[str],
    outputs: Sequence[str],
) -> str:
    """One of the ways in which a person may write the query."""
    sources = [_source(chance, i) for i in inputs]
    shuffled = chance.sample(sources, len(sources))
    head = f"SELECT {', '.join(outputs)}\nFROM "
    where = "\n  AND ".join(predicates)
    if len(inputs) == 1 or chance.random() < 0.5:
        return f"{head}{', '.join(shuffled)}" + (f"\nWHERE {where}" if predicates else "")
    # ON may only read aliases that stand before it, so everything goes to the last one.
    joined = " CROSS JOIN ".join(shuffled[:-1]) if len(shuffled) > 2 else shuffled[0]
    return f"{head}{joined} JOIN {shuffled[-1]} ON {where}"


def _source(chance: random.Random, source: GeneratedInput) -> str:
    stream = source.stream if chance.random() < 0.8 else source.stream.upper()
    alias = f" AS {source.alias}" if chance.random() < 0.8 else f" {source.alias}"
    if source.window is None:
        return f"{stream}{alias}"
    seconds = source.window // timedelta(seconds=1)
    if chance.random() < 0.5:
        return f"{stream} [RANGE {seconds} SECONDS]{alias}"
    return f"{stream}('sliding', '{seconds}', 'seconds'){alias}"
