"""GROUP BY of small queries: drawn, and written as Millrace and as DuckDB read them.

What a query would put out become keys and arguments of aggregates. DuckDB groups the rows of the query
without groups, whose text is written elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from optimizer.algebra.aggregates import AGGREGATES
from optimizer.algebra.types import NUMBERS, ColumnType
from tests.oracle.small.grammar import MONEY, RATE, Dice, Term, column, reading
from tests.oracle.small.values import SECOND_US

if TYPE_CHECKING:
    from tests.oracle.small.workload import SmallQuery

T = ColumnType
_GAPS_US = (1, SECOND_US // 2, SECOND_US, 3 * SECOND_US, 60 * SECOND_US, 86_400 * SECOND_US)
_SIZES_US = (1, SECOND_US, 2 * SECOND_US, 5 * SECOND_US, 60 * SECOND_US, 86_400 * SECOND_US)


@dataclass(frozen=True, slots=True)
class SmallAggregate:
    function: str
    of: tuple[int, ...]
    """Positions among the query's outputs; none for COUNT(*)."""
    distinct: bool = False
    where: int | None = None
    constant: float | str | None = None
    """A quantile's fraction, or what stands between texts."""
    order: tuple[tuple[int, bool, bool], ...] = ()
    """(position among the outputs, whether the greatest comes first, whether NULL does)."""

    @property
    def reads(self) -> set[int]:
        """Positions among the outputs."""
        return {*self.of, *(n for n, _, _ in self.order), *(() if self.where is None else (self.where,))}


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
    gap_us: int | None = None
    """Of sessions; `size_us` is then not used."""
    at_most: int | None = None
    """Groups of more combinations are left out, which were in before."""
    running: bool = False
    """True without a bucket; what else says when it begins is then not used."""
    beside: tuple[int, ...] | None = None
    """Positions of keys among the results: QUALIFY leaves so many of what is alike in these and the bucket;
    None for ORDER BY and LIMIT."""

    @property
    def distinct(self) -> bool:
        """True for SELECT DISTINCT."""
        return not self.aggregates

    def simpler(self) -> Iterator[Grouped | None]:
        """No groups, or with less in them."""
        yield None
        for n in range(len(self.keys)):
            if len(self.keys) > 1 or self.aggregates or not self.running:
                yield replace(self, keys=(*self.keys[:n], *self.keys[n + 1 :]), first=None, beside=None)
        for n in range(len(self.aggregates) if self.keys or not self.running else 0):
            fewer = (*self.aggregates[:n], *self.aggregates[n + 1 :])
            # SELECT DISTINCT has no HAVING.
            having, at_most = (self.having, self.at_most) if fewer else (False, None)
            yield replace(self, aggregates=fewer, having=having, at_most=at_most, first=None, beside=None)
        if self.having:
            yield replace(self, having=False)
        if self.at_most is not None:
            yield replace(self, at_most=None)
        if self.beside is not None:
            yield replace(self, beside=None)
        if self.first:
            yield replace(self, first=None, beside=None)


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
    beside = None
    if first is not None and aggregates and chance.random() < 0.4:
        beside = tuple(sorted(chance.sample(range(1, 1 + len(keys)), chance.randint(0, len(keys)))))
    # Beside a LIMIT one bucket is written, not a second one such as DATE_TRUNC('month', a.ts).
    written = any(outputs[n].kind is T.TIMESTAMP and "(" in outputs[n].text() for n in keys)
    if written:
        first = beside = None
    gap_us = chance.choice(_GAPS_US) if not written and chance.random() < 0.25 else None
    if gap_us is not None:
        slide_us = first = beside = None
    made = Grouped(
        time, size_us, slide_us, keys, tuple(aggregates), having, first, gap_us=gap_us, beside=beside
    )
    return replace(query, outputs=tuple(outputs), grouped=made)


def running(chance: Dice, query: SmallQuery) -> SmallQuery:
    """A query of groups without an end."""
    if query.also is not None or query.reading is not None:
        return query
    query = grouped(chance, query) if query.grouped is None else query
    made = query.grouped
    assert made is not None
    aggregates = made.aggregates
    if not made.keys and not aggregates:
        aggregates = (SmallAggregate("count", ()),)
    at_most = chance.choice((1, 2, 4)) if aggregates and chance.random() < 0.25 else None
    endless = Grouped(None, 1, None, made.keys, aggregates, made.having, at_most=at_most, running=True)
    return replace(query, grouped=endless)


def _aggregate(chance: Dice, outputs: Sequence[Term], conditions: Sequence[int]) -> SmallAggregate:
    where = chance.choice(conditions) if conditions and chance.random() < 0.3 else None
    if chance.random() < 0.25:
        return SmallAggregate("count", (), False, where)
    of = chance.randrange(len(outputs))
    kind = outputs[of].kind
    functions = ["count", "min", "max", "arg_min", "arg_max"]
    if kind in (T.INT, T.BIGINT):
        functions += ["sum", "avg", "sum", "avg"]
    if kind in (MONEY, RATE):
        # DuckDB has no room for sums of 38 digits.
        functions += ["sum", "sum", "avg"] if kind is MONEY else ["sum", "avg"]
    if kind is T.BOOLEAN:
        functions += ["bool_and", "bool_or"]
    if kind in (T.INT, T.BIGINT):
        functions += ["bit_and", "bit_or", "bit_xor"]
    if kind in NUMBERS or (kind.is_decimal and kind.precision <= 18):
        functions += ["quantile_cont", "median"]
    if kind not in (T.BOOLEAN, T.BINARY):
        functions += ["quantile_disc", "mode"]
    if kind is T.STRING:
        functions += ["string_agg"] * 3
    if kind is T.BOOLEAN:
        functions += ["count_if"]
    functions += ["any_value", "first", "last"]
    function = chance.choice(functions)
    if function.startswith("arg_"):
        return SmallAggregate(function, (of, chance.randrange(len(outputs))), False, where)
    distinct = AGGREGATES[function].distinct and chance.random() < 0.3
    order: tuple[tuple[int, bool, bool], ...] = ()
    must = AGGREGATES[function].order == "must"
    if must or (AGGREGATES[function].order == "may" and chance.random() < 0.7):
        by = [of] if distinct else chance.choices(range(len(outputs)), k=chance.choice((1, 1, 2)))
        order = tuple((n, chance.random() < 0.5, chance.random() < 0.5) for n in by)
    constant: float | str | None = None
    if function.startswith("quantile"):
        constant = chance.choice((0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0, chance.random()))
    if function == "string_agg":
        constant = chance.choice((",", "", "'", "ä|"))
    return SmallAggregate(function, (of,), distinct, where, constant, order)


def text(query: SmallQuery, plain: str) -> str:
    """As Millrace reads it: `plain` is the query without groups."""
    made = query.grouped
    assert made is not None
    outputs = [o.text() for o in query.outputs]
    moment = "RESULT_TIME()" if made.time is None else f"{made.time}.ts"
    bucket = f"TUMBLE({moment}, {_interval(made.size_us)})"
    if made.slide_us is not None:
        bucket = f"HOP({moment}, {_interval(made.slide_us)}, {_interval(made.size_us)})"
    if made.gap_us is not None:
        bucket = f"SESSION({moment}, {_interval(made.gap_us)})"
    keys = [*([] if made.running else [bucket]), *(outputs[n] for n in made.keys)]

    def written(one: SmallAggregate) -> str:
        inside = _inside(one, outputs)
        where = "" if one.where is None else f" FILTER (WHERE {outputs[one.where]})"
        return f"{one.function.upper()}({'DISTINCT ' if one.distinct else ''}{inside}){where}"

    told = ", ".join(f"{o} AS o{n}" for n, o in enumerate([*keys, *map(written, made.aggregates)]))
    start = len("SELECT " + ", ".join(f"{o} AS o{n}" for n, o in enumerate(outputs)))
    behind = plain[start:]
    first = ""
    if made.first is not None:
        position, descending, most = made.first
        order = f"ORDER BY o{position}{' DESC' if descending else ''}"
        first = f" {order} LIMIT {most}"
        if made.beside is not None:
            alike = ", ".join(f"o{n}" for n in (0, *made.beside))
            first = f" QUALIFY ROW_NUMBER() OVER (PARTITION BY {alike} {order}) <= {most}"
    if made.distinct:
        return f"SELECT DISTINCT {told}{behind}{first}"
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {told}{behind}{by}{_having(made)}{first}"


def _having(made: Grouped) -> str:
    """As both read it."""
    conditions = ["COUNT(*) > 1"] if made.having else []
    conditions += [] if made.at_most is None else [f"COUNT(*) <= {made.at_most}"]
    return f" HAVING {' AND '.join(conditions)}" if conditions else ""


def inner(query: SmallQuery) -> SmallQuery:
    """The query without groups, whose outputs end in the event times that its buckets are of."""
    made = query.grouped
    assert made is not None
    named = [i.alias for i in query.inputs if i.joined not in ("EXISTS", "NOT EXISTS", "IN", "NOT IN")]
    times = [column(alias, "ts", T.TIMESTAMP) for alias in ([made.time] if made.time else named)]
    # Of partners of one event time an as-of join takes the greatest by what is read of it.
    used = {n for one in made.aggregates for n in one.reads} | {*made.keys}
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
    if made.gap_us is not None:
        bucket = moment
    rows = f"SELECT {bucket} AS bucket, {', '.join(columns)} FROM ({plain}){slides}"
    keys = [*([] if made.running else ["bucket"]), *(f"o{n}" for n in made.keys)]
    if made.gap_us is not None:
        rows = _islands(rows, [f"o{n}" for n in made.keys], made.gap_us)
    told = ", ".join(
        f"{o} AS o{n}"
        for n, o in enumerate([*keys, *(_theirs(one, query.outputs) for one in made.aggregates)])
    )
    positions = ", ".join(str(n) for n in range(1, len(keys) + 1))
    by = f" GROUP BY {positions}" if keys else ""
    groups = f"SELECT {told} FROM (SELECT * FROM ({rows})){by}{_having(made)}"
    if made.first is None:
        return groups
    position, descending, most = made.first
    by = [f"o{position} {'DESC' if descending else 'ASC'} NULLS LAST"]
    by += [f"o{n} NULLS LAST" for n in range(len(keys))]
    alike = ", ".join(f"o{n}" for n in (0, *(made.beside or ())))
    ranked = f"row_number() OVER (PARTITION BY {alike} ORDER BY {', '.join(by)})"
    return f"SELECT * FROM ({groups}) QUALIFY {ranked} <= {most}"


def _islands(rows: str, keys: Sequence[str], gap_us: int) -> str:
    """Rows whose bucket is the beginning of the island that it is in: numbered by the gaps before it."""
    partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
    window = f"({partition}ORDER BY bucket)"
    gap = f"epoch_us(bucket)::HUGEINT - epoch_us(lag(bucket) OVER {window}) > {gap_us}"
    marked = f"SELECT *, CAST({gap} AS INT) AS gap FROM ({rows})"
    numbered = f"SELECT *, coalesce(sum(gap) OVER {window}, 0) AS island FROM ({marked})"
    alike = ", ".join(["island", *keys])
    begins = f"min(bucket) OVER (PARTITION BY {alike}) AS bucket"
    return f"SELECT * EXCLUDE (gap, island) REPLACE ({begins}) FROM ({numbered})"


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
    if one.function == "any_value" and not one.order:
        one = replace(one, function="min")
    inside = _inside(one, [f"o{n}" for n in range(len(outputs))], theirs=True)
    called = f"{one.function}({'DISTINCT ' if one.distinct else ''}{inside}){where}"
    if one.function == "count_if" or (one.function == "sum" and not outputs[one.of[0]].kind.is_decimal):
        return f"TRY_CAST({called} AS BIGINT)"
    return called


def _inside(one: SmallAggregate, outputs: Sequence[str], theirs: bool = False) -> str:
    """What stands in the brackets; for DuckDB, which takes any of equal ones, with all of the order."""
    inside = ", ".join(outputs[n] for n in one.of) or "*"
    if one.constant is not None:
        inside += (
            f", {_quoted(one.constant)}{'::DOUBLE' if isinstance(one.constant, float) and theirs else ''}"
        )
    order = [
        f"{outputs[n]}{' DESC' if descending else ''} NULLS {'FIRST' if nulls_first else 'LAST'}"
        for n, descending, nulls_first in one.order
    ]
    if theirs and one.function in ("string_agg", "first", "last", "mode", "any_value"):
        order += [] if one.distinct and order else [outputs[n] for n in one.of]
    return f"{inside} ORDER BY {', '.join(order)}" if order else inside


def _quoted(constant: float | str) -> str:
    return repr(constant) if isinstance(constant, float) else "'" + constant.replace("'", "''") + "'"


def _interval(length_us: int) -> str:
    return f"INTERVAL {length_us} MICROSECONDS"
