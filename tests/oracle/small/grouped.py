"""GROUP BY of small queries: drawn, and written as Millrace and as DuckDB read them.

What a query would put out become keys and arguments of aggregates. DuckDB groups the rows of the query
without groups, whose text is written elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from optimizer.algebra.types import ColumnType
from tests.oracle.small.grammar import Dice, Term, column, reading
from tests.oracle.small.values import SECOND_US

if TYPE_CHECKING:
    from tests.oracle.small.workload import SmallQuery

T = ColumnType
_SIZES_US = (1, SECOND_US, 2 * SECOND_US, 5 * SECOND_US, 60 * SECOND_US, 86_400 * SECOND_US)


@dataclass(frozen=True, slots=True)
class SmallAggregate:
    function: str
    of: tuple[int, ...]
    """Positions among the query's outputs; none for COUNT(*)."""
    distinct: bool = False
    where: int | None = None


@dataclass(frozen=True, slots=True)
class Grouped:
    """How a query groups what it would put out."""

    time: str | None
    """The alias whose event time is in the bucket; None for that of the whole result."""
    size_us: int
    slide_us: int | None
    keys: tuple[int, ...]
    """Positions among the outputs."""
    aggregates: tuple[SmallAggregate, ...]
    having: bool
    """True to leave out groups of one."""
    first: tuple[int, bool, int] | None = None
    """(position among the results, whether the greatest comes first, how many of each bucket are results)."""

    @property
    def distinct(self) -> bool:
        """True for SELECT DISTINCT."""
        return not self.aggregates

    def simpler(self) -> Iterator[Grouped | None]:
        """No groups, or with less in them."""
        yield None
        for n in range(len(self.keys)):
            yield replace(self, keys=(*self.keys[:n], *self.keys[n + 1 :]), first=None)
        for n in range(len(self.aggregates)):
            fewer = (*self.aggregates[:n], *self.aggregates[n + 1 :])
            yield replace(self, aggregates=fewer, first=None)
        if self.having:
            yield replace(self, having=False)
        if self.first:
            yield replace(self, first=None)


def grouped(chance: Dice, query: SmallQuery) -> SmallQuery:
    """A query of groups of what one puts out."""
    optional = any(i.joined not in ("", "INNER") for i in query.inputs)
    time = None if optional or chance.random() < 0.4 else chance.choice([i.alias for i in query.inputs])
    size_us = chance.choice(_SIZES_US)
    slide_us = size_us // chance.choice((2, 3, 5)) if size_us % 30 == 0 and chance.random() < 0.25 else None
    if slide_us is not None:
        size_us = slide_us * (size_us // slide_us)
    outputs = list(query.outputs)
    if chance.random() < 0.4:
        outputs.append(reading(chance, T.BOOLEAN, [outputs[0].alias or query.inputs[0].alias], 1))
    positions = range(len(outputs))
    able = [n for n in positions if outputs[n].aliases()]  # A number by itself is that of an output.
    keys = tuple(sorted(chance.sample(able, min(len(able), chance.choice((0, 1, 1, min(2, len(outputs))))))))
    conditions = [n for n in positions if outputs[n].kind is T.BOOLEAN]
    aggregates = [_aggregate(chance, outputs, conditions) for _ in range(chance.choice((0, 1, 2, 3, 4)))]
    if not aggregates and slide_us is not None:
        aggregates = [SmallAggregate("count", ())]
    having = bool(aggregates) and chance.random() < 0.2
    first = None
    if keys and chance.random() < 0.3:
        position = chance.randrange(1 + len(keys) + len(aggregates))
        first = position, chance.random() < 0.5, chance.choice((1, 1, 2, 3))
    # Beside a LIMIT one bucket is written, not a second one such as DATE_TRUNC('month', a.ts).
    if any(outputs[n].kind is T.TIMESTAMP and "(" in outputs[n].text() for n in keys):
        first = None
    made = Grouped(time, size_us, slide_us, keys, tuple(aggregates), having, first)
    return replace(query, outputs=tuple(outputs), grouped=made)


def _aggregate(chance: Dice, outputs: Sequence[Term], conditions: Sequence[int]) -> SmallAggregate:
    where = chance.choice(conditions) if conditions and chance.random() < 0.3 else None
    if chance.random() < 0.25:
        return SmallAggregate("count", (), False, where)
    of = chance.randrange(len(outputs))
    kind = outputs[of].kind
    functions = ["count", "min", "max", "arg_min", "arg_max"]
    if kind in (T.INT, T.BIGINT):
        functions += ["sum", "avg", "sum", "avg"]
    if kind is T.BOOLEAN:
        functions += ["bool_and", "bool_or"]
    function = chance.choice(functions)
    if function.startswith("arg_"):
        return SmallAggregate(function, (of, chance.randrange(len(outputs))), False, where)
    return SmallAggregate(function, (of,), chance.random() < 0.3, where)


def text(query: SmallQuery, plain: str) -> str:
    """As Millrace reads it: `plain` is the query without groups."""
    made = query.grouped
    assert made is not None
    outputs = [o.text() for o in query.outputs]
    moment = "RESULT_TIME()" if made.time is None else f"{made.time}.ts"
    bucket = f"TUMBLE({moment}, {_interval(made.size_us)})"
    if made.slide_us is not None:
        bucket = f"HOP({moment}, {_interval(made.slide_us)}, {_interval(made.size_us)})"
    keys = [bucket, *(outputs[n] for n in made.keys)]

    def written(one: SmallAggregate) -> str:
        inside = ", ".join(outputs[n] for n in one.of) or "*"
        where = "" if one.where is None else f" FILTER (WHERE {outputs[one.where]})"
        return f"{one.function.upper()}({'DISTINCT ' if one.distinct else ''}{inside}){where}"

    told = ", ".join(f"{o} AS o{n}" for n, o in enumerate([*keys, *map(written, made.aggregates)]))
    start = len("SELECT " + ", ".join(f"{o} AS o{n}" for n, o in enumerate(outputs)))
    behind = plain[start:]
    first = ""
    if made.first is not None:
        position, descending, most = made.first
        first = f" ORDER BY o{position}{' DESC' if descending else ''} LIMIT {most}"
    if made.distinct:
        return f"SELECT DISTINCT {told}{behind}{first}"
    having = " HAVING COUNT(*) > 1" if made.having else ""
    return f"SELECT {told}{behind} GROUP BY {', '.join(keys)}{having}{first}"


def inner(query: SmallQuery) -> SmallQuery:
    """The query without groups, whose outputs end in the event times that its buckets are of."""
    made = query.grouped
    assert made is not None
    named = [i.alias for i in query.inputs if i.joined not in ("EXISTS", "NOT EXISTS", "IN", "NOT IN")]
    times = [column(alias, "ts", T.TIMESTAMP) for alias in ([made.time] if made.time else named)]
    # Of partners of one event time an as-of join takes the greatest by what is read of it.
    used = {n for one in made.aggregates for n in (*one.of, one.where)} | {*made.keys}
    first = column(query.inputs[0].alias, "id", T.BIGINT)
    outputs = tuple(o if n in used else first for n, o in enumerate(query.outputs))
    return replace(query, outputs=(*outputs, *times), grouped=None)


def reference(query: SmallQuery, plain: str) -> str:
    """As DuckDB answers it: `plain` is the text of `inner`."""
    made = query.grouped
    assert made is not None
    columns = [
        f"CASE WHEN o{n} = 0 THEN 0.0 ELSE o{n} END AS o{n}" if o.kind is T.DOUBLE else f"o{n}"
        for n, o in enumerate(query.outputs)
    ]
    first = len(query.outputs)
    times = [f"o{first + n}" for n in range(len(inner(query).outputs) - first)]
    moment = times[0] if len(times) == 1 else f"greatest({', '.join(times)})"
    step = made.size_us if made.slide_us is None else made.slide_us
    bucket = f"TRY(time_bucket(to_microseconds({step}), {moment}))"
    slides = ""
    if made.slide_us is not None:
        bucket = f"TRY({bucket} - to_microseconds(n * {made.slide_us}))"
        slides = f", range({made.size_us // made.slide_us}) AS slides(n)"
    rows = f"SELECT {bucket} AS bucket, {', '.join(columns)} FROM ({plain}){slides}"
    keys = ["bucket", *(f"o{n}" for n in made.keys)]
    told = ", ".join(
        f"{o} AS o{n}"
        for n, o in enumerate([*keys, *(_theirs(one, query.outputs) for one in made.aggregates)])
    )
    positions = ", ".join(str(n) for n in range(1, len(keys) + 1))
    having = " HAVING count(*) > 1" if made.having else ""
    groups = f"SELECT {told} FROM (SELECT * FROM ({rows})) GROUP BY {positions}{having}"
    if made.first is None:
        return groups
    position, descending, most = made.first
    by = [f"o{position} {'DESC' if descending else 'ASC'} NULLS LAST"]
    by += [f"o{n} NULLS LAST" for n in range(len(keys))]
    ranked = f"row_number() OVER (PARTITION BY o0 ORDER BY {', '.join(by)})"
    return f"SELECT * FROM ({groups}) QUALIFY {ranked} <= {most}"


def _theirs(one: SmallAggregate, outputs: Sequence[Term]) -> str:
    where = "" if one.where is None else f" FILTER (WHERE o{one.where})"
    if one.function.startswith("arg_"):
        # Of several that are least or greatest DuckDB takes any.
        value, by = (f"o{n}" for n in one.of)
        asked = [
            f"{value} IS NOT NULL",
            f"{by} IS NOT NULL",
            *([f"o{one.where}"] if one.where is not None else []),
        ]
        pair = f"{{'by': {by}, 'value': {value}}}"
        return f"({one.function[4:]}({pair}) FILTER (WHERE {' AND '.join(asked)})).value"
    inside = ", ".join(f"o{n}" for n in one.of) or "*"
    called = f"{one.function}({'DISTINCT ' if one.distinct else ''}{inside}){where}"
    if one.function == "sum":
        return f"TRY_CAST({called} AS BIGINT)"
    return called


def _interval(length_us: int) -> str:
    return f"INTERVAL {length_us} MICROSECONDS"
