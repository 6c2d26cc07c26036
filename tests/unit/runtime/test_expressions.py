"""Every function, evaluated by Polars and by DuckDB over the same tables."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.expressions import IMPLEMENTATIONS, compile_expression
from jobs.expressions.dtypes import DTYPES
from jobs.expressions.functions import reference
from optimizer.algebra.expression import Call, Column, Expression, Literal
from optimizer.algebra.functions import FUNCTIONS, KINDS
from optimizer.algebra.functions.declaration import TRUNCATIONS
from optimizer.algebra.render import over_columns
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import call, cast

T = ColumnType
SQL_TYPES = {
    T.BIGINT: "BIGINT",
    T.INT: "INTEGER",
    T.DOUBLE: "DOUBLE",
    T.STRING: "VARCHAR",
    T.BOOLEAN: "BOOLEAN",
    T.TIMESTAMP: "TIMESTAMP",
    T.DATE: "DATE",
    T.INTERVAL: "INTERVAL",
    T.BINARY: "BLOB",
    T.UUID: "UUID",
    T.TIME: "TIME",
}
INTS = st.one_of(st.integers(-12, 12), st.sampled_from([-(2**31), 2**31 - 1, 46341, -99995]))
BIGINTS = st.one_of(
    st.integers(-12, 12),
    st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1, 3037000500, -155]),
    st.integers(-(2**63), 2**63 - 1),
)
DOUBLES = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, -2.5, 2.675, 1e16, 1e-5, 1e300, math.inf, -math.inf, math.nan, 2.0**63]),
    st.floats(-1000, 1000),
    st.floats(),
)
TEXTS = st.one_of(
    st.text(alphabet="aAbB%_\\.é😀 ", max_size=6),
    st.sampled_from(
        [
            "",
            " x\t",
            "ß",
            "İ",
            "12",
            "-2.5",
            "1e3",
            "true",
            "2013-01-31",
            "2013-01-31 14:30:00.5",
            "nan",
            "a\nb",
        ]
    ),
)
MOMENTS = st.datetimes(datetime.fromisoformat("1900-01-01"), datetime.fromisoformat("2100-01-01")).map(
    lambda moment: moment.replace(tzinfo=UTC)
)
VALUES: dict[ColumnType, st.SearchStrategy[object]] = {
    T.INT: INTS,
    T.BIGINT: BIGINTS,
    T.DOUBLE: DOUBLES,
    T.STRING: TEXTS,
    T.BOOLEAN: st.booleans(),
    T.TIMESTAMP: MOMENTS,
    T.DATE: st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    T.INTERVAL: st.timedeltas(timedelta(days=-400), timedelta(days=400)),
    T.BINARY: st.binary(max_size=4),
    T.UUID: st.uuids().map(str),
    T.TIME: st.times(),
}
NUMBERS = (T.INT, T.BIGINT, T.DOUBLE)
PATTERNS = ("%", "", "a%", "%b", "%a%", "a_%", "_", "é%", "A%b", "%.%", "a\\%", "%\n%")


@dataclass(frozen=True)
class Case:
    """A call over the columns c0, c1, ... of the given types, and how SQL writes it."""

    name: str
    types: tuple[ColumnType, ...]
    sql: str
    build: Callable[[Sequence[Expression]], Expression]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.types)})"


def plain(name: str, *types: ColumnType, sql: str) -> Case:
    return Case(name, types, sql, lambda columns: call(name, *columns))


def infix(name: str, operator: str, *types: ColumnType) -> Case:
    return plain(name, *types, sql=f"c0 {operator} c1")


CONSTANTS: dict[str, Literal] = {
    "pattern": Literal("a(b)?", T.STRING),
    "options": Literal("i", T.STRING),
    "format": Literal("%Y-%m-%d", T.STRING),
    "path": Literal("$.a", T.STRING),
    "unit": Literal("day", T.STRING),
    "group": Literal(1, T.INT),
    "count": Literal(3, T.INT),
    "width": Literal(300_000_000, T.INTERVAL),
}


def declared(name: str, arguments: int) -> Case:
    """A function by its signature, of columns of the last type that each parameter takes."""
    function = FUNCTIONS[name]
    kinds = [function.parameters[min(n, len(function.parameters) - 1)].kind for n in range(arguments)]
    types = tuple(KINDS[kind].types[-1] for kind in kinds if kind not in CONSTANTS)

    def build(columns: Sequence[Expression]) -> Expression:
        given = iter(columns)
        return call(name, *(CONSTANTS.get(kind) or next(given) for kind in kinds))

    made = build([Column("x", f"c{n}", kind) for n, kind in enumerate(types)])
    assert isinstance(made, Call)
    return Case(name, types, over_columns(made)[0].replace('"@".', ""), build)


def cases() -> list[Case]:
    listed: list[Case] = [
        infix("and", "AND", T.BOOLEAN, T.BOOLEAN),
        infix("or", "OR", T.BOOLEAN, T.BOOLEAN),
        plain("not", T.BOOLEAN, sql="NOT c0"),
        plain("in", T.INT, T.BIGINT, T.DOUBLE, sql="c0 IN (c1, c2)"),
        plain("in", T.STRING, T.STRING, T.STRING, sql="c0 IN (c1, c2)"),
        plain("case", T.BOOLEAN, T.INT, T.BOOLEAN, T.DOUBLE, sql="CASE WHEN c0 THEN c1 WHEN c2 THEN c3 END"),
        plain("case", T.BOOLEAN, T.STRING, T.STRING, sql="CASE WHEN c0 THEN c1 ELSE c2 END"),
        plain("add", T.TIMESTAMP, T.INTERVAL, sql="c0 + c1"),
        plain("subtract", T.TIMESTAMP, T.INTERVAL, sql="c0 - c1"),
        plain("add", T.DATE, T.INTERVAL, sql="c0 + c1"),
        Case(
            "subtract",
            (T.TIMESTAMP, T.TIMESTAMP),
            "epoch(c0 - c1)",
            lambda c: call("epoch", call("subtract", *c)),
        ),
        Case(
            "subtract",
            (T.DATE, T.TIMESTAMP),
            "epoch(c0::TIMESTAMP - c1)",
            lambda c: call("epoch", call("subtract", *c)),
        ),
        Case("negate", (T.INTERVAL,), "epoch(-c0)", lambda c: call("epoch", call("negate", *c))),
        Case(
            "multiply",
            (T.INTERVAL, T.INT),
            "epoch(c0 * (c1 % 13))",
            lambda c: call("epoch", call("multiply", c[0], call("modulo", c[1], Literal(13, T.INT)))),
        ),
        plain("negate", T.INT, sql="-c0"),
        plain("negate", T.BIGINT, sql="-c0"),
        plain("negate", T.DOUBLE, sql="-c0"),
        *(infix("integer_divide", "//", a, b) for a in (T.INT, T.BIGINT) for b in (T.INT, T.BIGINT)),
        *(
            infix(n, o, a, b)
            for n, o in (("add", "+"), ("subtract", "-"), ("multiply", "*"), ("modulo", "%"), ("divide", "/"))
            for a, b in (
                (T.INT, T.INT),
                (T.BIGINT, T.BIGINT),
                (T.INT, T.BIGINT),
                (T.DOUBLE, T.DOUBLE),
                (T.BIGINT, T.DOUBLE),
            )
        ),
        *(plain(n, a, sql=f"{n}(c0)") for n in ("abs", "floor", "ceil", "round") for a in NUMBERS),
        *(
            Case("round", (a,), f"round(c0, {d})", lambda c, d=d: call("round", c[0], Literal(d, T.INT)))
            for a in NUMBERS
            for d in (-20, -2, 0, 1, 3)
        ),
        *(plain(n, T.DOUBLE, sql=f"{n}(c0)") for n in ("sqrt", "exp", "ln", "sin", "cos")),
        plain("power", T.DOUBLE, T.DOUBLE, sql="power(c0, c1)"),
        plain("power", T.INT, T.INT, sql="power(c0, c1)"),
        Case("pi", (T.DOUBLE,), "pi() + c0", lambda c: call("add", call("pi"), c[0])),
        *(
            infix(n, o, a, b)
            for n, o in (("eq", "="), ("ne", "<>"), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))
            for a, b in (
                (T.INT, T.DOUBLE),
                (T.BIGINT, T.DOUBLE),
                (T.INT, T.BIGINT),
                (T.DOUBLE, T.DOUBLE),
                (T.STRING, T.STRING),
                (T.BOOLEAN, T.BOOLEAN),
                (T.TIMESTAMP, T.DATE),
                (T.TIMESTAMP, T.TIMESTAMP),
            )
        ),
        *(plain("is_null", t, sql="c0 IS NULL") for t in SQL_TYPES),
        *(
            plain(n, a, b, sql=f"{n}(c0, c1)")
            for n in ("coalesce", "least", "greatest", "nullif")
            for a, b in (
                (T.INT, T.INT),
                (T.INT, T.DOUBLE),
                (T.DOUBLE, T.DOUBLE),
                (T.STRING, T.STRING),
                (T.DATE, T.DATE),
            )
        ),
        *(plain(n, T.DATE, T.TIMESTAMP, sql=f"{n}(c0, c1)") for n in ("coalesce", "least", "greatest")),
        *(
            Case(
                n,
                (T.STRING,),
                f"c0 {n.upper()} {quoted(p)}",
                lambda c, n=n, p=p: call(n, c[0], Literal(p, T.STRING)),
            )
            for n in ("like", "ilike")
            for p in PATTERNS
        ),
        infix("like", "LIKE", T.STRING, T.STRING),
        infix("ilike", "ILIKE", T.STRING, T.STRING),
        *(plain(n, T.STRING, T.STRING, sql=f"{n}(c0, c1)") for n in ("starts_with", "ends_with", "contains")),
        *(plain(n, T.STRING, sql=f"{n}(c0)") for n in ("lower", "upper", "trim", "length")),
        plain("substring", T.STRING, T.INT, sql="substring(c0, c1)"),
        plain("substring", T.STRING, T.INT, T.INT, sql="substring(c0, c1, c2)"),
        plain("concat", T.STRING, T.STRING, T.INT, sql="c0 || c1 || c2"),
        *(
            plain(n, t, sql=f"{s}(c0)")
            for n, s in (
                ("year", "year"),
                ("month", "month"),
                ("day", "day"),
                ("hour", "hour"),
                ("minute", "minute"),
                ("second", "second"),
                ("day_of_week", "dayofweek"),
                ("epoch", "epoch"),
            )
            for t in (T.TIMESTAMP, T.DATE)
        ),
        *(
            Case(
                "date_trunc",
                (t,),
                f"date_trunc('{u}', c0)",
                lambda c, u=u: call("date_trunc", Literal(u, T.STRING), c[0]),
            )
            for u in TRUNCATIONS
            for t in (T.TIMESTAMP, T.DATE)
        ),
    ]
    castable = (T.INT, T.BIGINT, T.DOUBLE, T.BOOLEAN)
    pairs = [(a, b) for a in castable for b in castable] + [(T.TIMESTAMP, T.DATE), (T.DATE, T.TIMESTAMP)]
    pairs += [(t, T.STRING) for t in (*castable, T.TIMESTAMP, T.DATE)] + [
        (T.STRING, t) for t in (*castable, T.TIMESTAMP, T.DATE)
    ]
    listed += [
        Case("cast", (a,), f"CAST(c0 AS {SQL_TYPES[b]})", lambda c, b=b: cast(c[0], b))
        for a, b in pairs
        if a is not b
    ]
    named = {case.name for case in listed}
    return listed + [
        declared(function.name, arguments)
        for function in FUNCTIONS.values()
        if function.name not in named
        for arguments in sorted(
            {function.least, function.least + 2 if function.most is None else function.most}
        )
    ]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def test_the_implemented_functions_are_those_of_the_table() -> None:
    assert set(IMPLEMENTATIONS) == set(FUNCTIONS)


def test_every_function_is_compared_with_duckdb() -> None:
    assert {case.name for case in cases()} == set(FUNCTIONS)


@pytest.mark.parametrize("case", cases(), ids=str)
@settings(max_examples=5, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_function_means_what_duckdb_means(case: Case, data: st.DataObject) -> None:
    row = st.tuples(*(st.none() | VALUES[t] for t in case.types))
    rows = data.draw(st.lists(row, min_size=1, max_size=30))
    columns = [Column("x", f"c{i}", t) for i, t in enumerate(case.types)]
    expression = case.build(columns)
    frame = pl.DataFrame(
        {f"x.c{i}": pl.Series([r[i] for r in rows], dtype=DTYPES[t]) for i, t in enumerate(case.types)}
    )
    ours = frame.select(compile_expression(expression).alias("y"))["y"]
    assert ours.dtype == DTYPES[expression.type]
    theirs = duckdb_values(case, frame)
    for position, (found, expected) in enumerate(zip(ours.to_list(), theirs, strict=True)):
        assert same(found, expected), f"{case.sql} over {rows[position]}: {found!r}, DuckDB {expected!r}"


CONNECTION = duckdb.connect()
CONNECTION.execute("SET TimeZone = 'UTC'")


def duckdb_values(case: Case, frame: pl.DataFrame) -> list[object]:
    naive = frame.rename({name: name[2:] for name in frame.columns}).with_columns(
        pl.col(pl.Datetime).dt.replace_time_zone(None)
    )
    CONNECTION.register("x", naive.to_arrow())
    typed = ", ".join(f"CAST(c{i} AS {SQL_TYPES[t]}) AS c{i}" for i, t in enumerate(case.types))
    rows = CONNECTION.execute(f"SELECT TRY({case.sql}) FROM (SELECT {typed} FROM x)").fetchall()
    return [value for (value,) in rows]


def same(found: object, expected: object) -> bool:
    if isinstance(found, float) and isinstance(expected, int | float):
        if math.isnan(found) or math.isnan(expected):
            return math.isnan(found) and math.isnan(expected)
        # Mathematical functions may differ in the last places between libraries.
        return math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12)
    if isinstance(found, datetime) and isinstance(expected, datetime):
        return found.replace(tzinfo=None) == expected
    if isinstance(found, int) and isinstance(expected, float):
        # DuckDB's FLOOR and CEIL of an integer are doubles.
        return float(found) == expected
    return found == expected


def test_an_error_of_duckdb_leaves_no_database_that_cannot_be_used() -> None:
    column = pl.Series(["0x10"])
    assert reference.answers("TRY_CAST(c0 AS BIGINT)", T.BIGINT, [column]).to_list() == [16]
    reference._database(os.getpid()).close()
    reference._prepared.cache_clear()
    with pytest.raises(duckdb.Error):
        reference.answers("TRY_CAST(c0 AS BIGINT)", T.BIGINT, [column])
    assert reference.answers("TRY_CAST(c0 AS BIGINT)", T.BIGINT, [column]).to_list() == [16]
