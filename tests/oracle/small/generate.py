"""Small random workloads from a seed, most of whose queries have results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from optimizer.algebra.types import ColumnType
from tests.oracle.small.as_of import AS_OF, with_as_of
from tests.oracle.small.derived import with_reader
from tests.oracle.small.grammar import (
    AMOUNTS,
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
from tests.oracle.small.grouped import grouped, running
from tests.oracle.small.joined import around, joined
from tests.oracle.small.judging import Reference
from tests.oracle.small.timed import in_time
from tests.oracle.small.values import FIRST_US, LAST_US, SECOND_US, START_US, pool
from tests.oracle.small.versions import ALIAS, NAME, draw_table, with_look_up
from tests.oracle.small.workload import DAY_US, DECLARED, Arrival, SmallInput, SmallQuery, SmallWorkload

T = ColumnType
Row = dict[str, object]
WIDE_US = (2**62, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1, 2**64, 999_999_999 * DAY_US)
"""Windows near what 64 bits hold, and the longest that SQL may say."""
_TRIES = 6
"""Of something with results."""


def generate(seed: int, plain: bool = False) -> SmallWorkload:
    """The workload of a seed.

    With `plain`, it is of few functions, of event times inside of years that people write, and of windows
    alone; else a third of the workloads has queries whose conditions say how long tuples are needed, as many
    have outer, semi and anti joins, a quarter has as-of joins, and a fifth a table.
    """
    chance = dice(f"small {seed}", plain)
    timed = None if plain or (own := dice(f"timed {seed}", plain)).random() < 0.65 else own
    streams = tuple(f"s{n}" for n in range(chance.choice((1, 2, 2, 3, 3, 4))))
    pools, times = _values(chance, plain)
    lateness_us = None if chance.random() < 0.7 else chance.choice((0, 2 * SECOND_US, 10 * SECOND_US))
    if timed is not None and timed.random() < 0.5:
        lateness_us = timed.choice((0, 2 * SECOND_US))
    arrivals = _arrivals(chance, streams, pools, times, lateness_us)
    has_results = _asked(streams, arrivals)
    queries = tuple(_query(chance, f"q{n}", streams, has_results) for n in range(chance.choice((1, 1, 2, 3))))
    if timed is not None:
        queries = tuple(in_time(timed, query) for query in queries)
    if not plain and (outer := dice(f"outer {seed}", plain)).random() < 0.3:
        queries = tuple(joined(outer, query) for query in queries)
    if not plain and (newest := dice(f"as of {seed}", plain)).random() < 0.25:
        queries = tuple(with_as_of(newest, query) for query in queries)
    if not plain and (nesting := dice(f"nested {seed}", plain)).random() < 0.2:
        queries = tuple(map(_nested, queries))
        if len(queries) > 1 and nesting.random() < 0.7:
            first, second, *others = map(_of_ids, queries)
            queries = (replace(first, also=second), second, *others)
    elif not plain and (groups := dice(f"groups {seed}", plain)).random() < 0.35:
        queries = tuple(grouped(groups, query) for query in queries)
        if (readers := dice(f"readers {seed}", plain)).random() < 0.5:
            queries = tuple(with_reader(readers, query, streams) for query in queries)
    if not plain and (endless := dice(f"running {seed}", plain)).random() < 0.25:
        queries = tuple(running(endless, query) for query in queries)
    workload = SmallWorkload(streams, lateness_us, arrivals, queries)
    if not plain and (versions := dice(f"versions {seed}", plain)).random() < 0.2:
        return _with_table(versions, workload, pools, times)
    return workload


def _with_table(chance: Dice, workload: SmallWorkload, pools: Pools, times: list[int]) -> SmallWorkload:
    """The workload with a table, which some of its queries look up."""
    table = draw_table(chance)
    last = SmallInput(ALIAS, NAME, None, chance.choice(AS_OF), table=table)
    arrivals = list(workload.arrivals)
    for arrival in _arrivals(chance, (NAME,), pools, times, None):
        arrivals.insert(chance.randint(0, len(arrivals)), arrival)
    queries = tuple(
        with_look_up(chance, query, [i.alias for i in around(query)], table, last)
        if query.grouped is None and query.also is None and chance.random() < 0.7
        else query
        for query in workload.queries
    )
    if not any(last in query.inputs for query in queries):
        return workload
    streams = (*workload.streams, NAME)
    return replace(workload, streams=streams, arrivals=tuple(arrivals), queries=queries, table=table)


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
    missing = chance.choice((0.02, 0.08, 0.15, 0.35))
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
        # Some a microsecond beside where windows end.
        beside = chance.choice(((0,), (0, 0, 1), (0, 0, -1)))
        return [
            START_US + s * SECOND_US // 2 + chance.choice(beside) for s in range(chance.choice((4, 10, 40)))
        ]
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


def _nested(query: SmallQuery) -> SmallQuery:
    return replace(query, inputs=tuple(replace(i, nested=n % 2 == 0) for n, i in enumerate(query.inputs)))


def _of_ids(query: SmallQuery) -> SmallQuery:
    """The query with outputs that all others have too."""
    return replace(query, outputs=(column(query.inputs[0].alias, "id", T.BIGINT),))


HasResults = Callable[[SmallQuery], bool]


def _asked(streams: Sequence[str], arrivals: Sequence[Arrival]) -> HasResults:
    """Tells of queries whether they have results, as long as nothing is late."""
    reference = Reference()
    reference.load(
        {name: [a for a in arrivals if a.stream == name and a.time_us is not None] for name in streams}
    )
    return reference.has_results


@dataclass
class _Where:
    """The conditions of a query that is being drawn.

    Drawn blindly they would leave two of three queries without results, and joins of three inputs mostly.
    """

    inputs: Sequence[SmallInput]
    has_results: HasResults | None
    """None to draw blindly."""
    predicates: list[Term] = field(default_factory=list)

    def add(self, draw: Callable[[], Term], inputs: int) -> None:
        """Draw a condition over some of the first inputs, at best one that leaves results."""
        drawn = draw()
        for _ in range(_TRIES):
            if self.has_results is None or self.has_results(self._with(drawn, inputs)):
                break
            drawn = draw()
        self.predicates.append(drawn)

    def _with(self, drawn: Term, inputs: int) -> SmallQuery:
        some = tuple(self.inputs[:inputs])
        ids = tuple(column(i.alias, "id", T.BIGINT) for i in some)
        return SmallQuery("drawn", some, tuple(p for p in (*self.predicates, drawn) if p.aliases()), ids)


def _query(chance: Dice, name: str, streams: Sequence[str], has_results: HasResults) -> SmallQuery:
    size = chance.choices((1, 2, 3, 4), (2, 6, 5, 1))[0]
    aliases = ("a", "g", "c", "e")[:size]  # no column is called so
    common = _window(chance)
    inputs = tuple(
        SmallInput(alias, chance.choice(streams), common if chance.random() < 0.6 else _window(chance))
        for alias in aliases
    )
    where = _Where(inputs, has_results if chance.random() < 0.7 else None)
    for position in range(1, size):
        new, old = aliases[position], chance.choice(aliases[:position])
        where.add(partial(_join, chance, new, old), position + 1)
    if size > 1 and chance.random() < 0.35:
        where.add(partial(_join, chance, *chance.sample(aliases, 2)), size)
    if size > 2 and chance.random() < 0.3:
        where.add(partial(reading, chance, T.BOOLEAN, chance.sample(aliases, 3), 3), size)
    for alias in aliases:
        if chance.random() < (0.8 if size == 1 else 0.25):
            where.add(partial(reading, chance, T.BOOLEAN, (alias,), 2), size)
    outputs = [column(alias, "id", T.BIGINT) for alias in aliases]
    for _ in range(chance.randint(0, 3)):
        kind = chance.choice(VALUES)
        if chance.random() < 0.4:
            outputs.append(column(chance.choice(aliases), chance.choice(COLUMNS[kind]), kind))
        else:
            outputs.append(term(chance, kind, aliases, chance.choice((1, 2))))
    return SmallQuery(name, inputs, tuple(p for p in where.predicates if p.aliases()), tuple(outputs))


def _window(chance: Dice) -> int | None:
    drawn = chance.random()
    if drawn < 0.2:
        return None
    if drawn < 0.3:
        return 0
    if drawn < 0.42:
        return chance.choice(WIDE_US)
    return chance.choice((1, SECOND_US - 1, SECOND_US, 2 * SECOND_US, 5 * SECOND_US, 20 * SECOND_US, DAY_US))


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
    family = next((f for f in (AMOUNTS, MOMENTS) if kind in f), (kind,))
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
