"""Random expressions over random edge values, for some seconds, and what such searches have found before."""

from __future__ import annotations

import math
import os
from decimal import Decimal
from random import Random
from time import monotonic

import duckdb
import polars as pl
import pytest

from jobs.expressions import IMPLEMENTATIONS, compile_expression
from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Call, Column, Expression, Literal
from optimizer.algebra.functions import FUNCTIONS
from optimizer.algebra.functions.declaration import TRUNCATIONS
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import call, cast
from optimizer.sql import parse_query
from tests.oracle.expressions.check import CATALOG, Search
from tests.oracle.expressions.compare import DuckDB, compared, differing, polars_values
from tests.oracle.expressions.generate import ROOTS, expression
from tests.oracle.expressions.values import (
    BINARIES,
    COLUMNS,
    DAYS,
    DOUBLES,
    INTS,
    MOMENTS,
    TEXTS,
    Value,
    series,
)

T = ColumnType


def read(text: str) -> Expression:
    return parse_query(f"SELECT {text} AS y FROM x", "q", CATALOG).outputs[0].expression


def rows(**values: list[Value]) -> pl.DataFrame:
    kinds = dict(COLUMNS)
    return pl.DataFrame({f"x.{name}": series(kinds[name], column) for name, column in values.items()})


def test_random_expressions_equal_duckdb_for_some_seconds() -> None:
    seed = int.from_bytes(os.urandom(4))
    search = Search(seed, size=40, rows=20)
    end = monotonic() + 5
    while monotonic() < end:
        search.batch()

    assert search.counts.expressions
    assert not search.counts.differences, f"seed {seed}: " + "\n".join(map(str, search.counts.differences))


def decimal(text: str | None, precision: int, scale: int) -> Literal:
    return Literal(text, T.decimal(precision, scale))


FOUND = [
    # DuckDB does not look at the digits of a NULL that it knows beforehand.
    Call("trunc", (decimal(None, 38, 38), Literal(-40, T.INT)), T.decimal(38, 0)),
    Call("round", (decimal(None, 5, 5), Literal(-1, T.INT)), T.decimal(5, 0)),
    Call(
        "round_even",
        (
            Call(
                "multiply",
                (Column("x", "decimal7", T.decimal(30, 10)), decimal(None, 18, 0)),
                T.decimal(38, 10),
            ),
            Literal(-40, T.INT),
        ),
        T.decimal(38, 0),
    ),
    Call(
        "round",
        (
            Call(
                "add",
                (
                    Column("x", "decimal7", T.decimal(30, 10)),
                    # More digits than there are.
                    Call("add", (decimal("0.5", 30, 10), decimal("9" * 29, 38, 0)), T.decimal(38, 10)),
                ),
                T.decimal(38, 10),
            ),
            Literal(-40, T.INT),
        ),
        T.decimal(38, 0),
    ),
    # DuckDB knows what constant conditions choose, and that it has no place in the type.
    read("ROUND_EVEN(CASE WHEN TRUE THEN 12366730688 ELSE decimal10 END, -3)"),
    read("TRUNC(CASE WHEN 2 < 1 THEN decimal10 ELSE 12366730688 END, -3)"),
    read("ROUND(CASE WHEN bigint1 = 7 THEN decimal10 WHEN TRUE THEN 12366730688 ELSE decimal10 END, -3)"),
    read("ROUND(CASE WHEN NULL THEN 12366730688 ELSE decimal10 END, -3)"),
    # 0.0 + -0.0 is no -0.0, whatever type the 0 has.
    Call("add", (decimal("0.00", 38, 18), Column("x", "double0", T.DOUBLE)), T.DOUBLE),
    # One that has no place in the type of all is an error, though another is equal.
    Call(
        "in",
        tuple(Column("x", *one) for one in COLUMNS if one[0] in ("int0", "bigint1", "decimal10")),
        T.BOOLEAN,
    ),
    Call("in", tuple(Column("x", *one) for one in COLUMNS if one[0] in ("decimal5", "decimal10")), T.BOOLEAN),
    # But a constant that is in the list is known to be, before a column is read.
    Call(
        "in",
        (
            decimal("0.00000", 5, 5),
            Column("x", "decimal7", T.decimal(30, 10)),
            Literal(0, T.INT),
            decimal("0." + "0" * 37 + "1", 38, 38),
        ),
        T.BOOLEAN,
    ),
    Call(
        "in",
        (
            decimal("0.00001", 5, 5),
            Column("x", "decimal7", T.decimal(30, 10)),
            Literal(0, T.INT),
            decimal("0." + "0" * 37 + "1", 38, 38),
        ),
        T.BOOLEAN,
    ),
]


@pytest.mark.parametrize("found", FOUND, ids=lambda one: one.function)
def test_what_a_search_of_decimals_found(found: Call) -> None:
    frame = rows(
        double0=[-0.0, 0.0, 1.0, None],
        int0=[0, 0, 1, None],
        bigint1=[-(2**63) + 1, 0, 0, 0],
        decimal5=["3", "0", None, "122705926037073004"],
        decimal7=["1", "0", "-5", None],
        decimal10=["0", "0", "0.5", "0"],
    )
    ours, theirs = polars_values(frame, [found]), DuckDB().values(frame, [found])
    assert ours.equals(theirs, null_equal=True), (ours, theirs)


def test_days_of_constant_intervals_are_seconds_of_their_own() -> None:
    parts = (Literal(31 * 86_400_000_000, T.INTERVAL), Literal(-980_906_014_904, T.INTERVAL))
    seconds = Call("epoch", (Call("add", parts, T.INTERVAL),), T.DOUBLE)
    found = Call("divide", (seconds, Column("x", "bigint0", T.BIGINT)), T.DOUBLE)
    frame = rows(bigint0=[-(2**63) + 1, 7, 1, None])
    ours, theirs = polars_values(frame, [found]), DuckDB().values(frame, [found])
    assert ours.equals(theirs, null_equal=True), (ours, theirs)


def test_the_search_draws_every_function() -> None:
    random, drawn = Random(0), set()
    for _ in range(4000):
        pending = [expression(random.choice(ROOTS), 3, random)]
        while pending:
            node = pending.pop()
            if isinstance(node, Call):
                drawn.add(node.function)
                pending += node.arguments

    assert drawn == set(FUNCTIONS)


def test_a_search_finds_a_wrong_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        IMPLEMENTATIONS,
        "sqrt",
        lambda call, a: a[0].cast(pl.Float64),
    )
    compile_expression.cache_clear()
    search = Search(3, size=60, rows=10)
    while not search.counts.differences and search.counts.expressions < 3000:
        search.batch()
    compile_expression.cache_clear()

    found = search.counts.differences[0]
    assert isinstance(found.expression, Call)
    assert found.expression.function == "sqrt", "shrunk to the call that is wrong"


TRUNCATED = Call(
    "trunc",
    (
        Call(
            "add",
            (Column("x", "decimal10", T.decimal(38, 38)), Column("x", "int0", T.INT)),
            T.decimal(38, 38),
        ),
        Literal(-40, T.INT),
    ),
    T.decimal(38, 0),
)
"""A sum that has no place in its type, cut beyond all digits."""


def test_duckdb_contradicts_itself_about_a_null_that_an_error_made() -> None:
    once = rows(decimal10=["0.5"], int0=[1])
    values = [DuckDB().values(pl.concat([once] * n), [TRUNCATED])["e0"].to_list() for n in (1, 2)]

    assert values == [[None], [Decimal(0)] * 2]
    assert polars_values(once, [TRUNCATED])["e0"].to_list() == [Decimal(0)]


def test_a_search_counts_where_duckdb_contradicts_itself() -> None:
    frame = rows(decimal10=["0.5"], int0=[1])
    search = Search(1)

    assert list(search.against_duckdb(frame, [TRUNCATED], polars_values(frame, [TRUNCATED]))) == []
    assert len(search.counts.contradictions) == 1


def test_a_contradiction_of_duckdb_excuses_no_other_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    seven = pl.lit(7, pl.Int128).cast(pl.Decimal(38, 0))
    monkeypatch.setitem(IMPLEMENTATIONS, "trunc", lambda call, a: pl.when(a[0].is_null()).then(seven))
    compile_expression.cache_clear()
    search = Search(1_128_304_114, size=400, rows=30)
    found = search.batch()
    compile_expression.cache_clear()

    assert any(isinstance(one.expression, Call) and one.expression.function == "trunc" for one in found)


def test_the_search_tells_zeros_apart_and_not_nans() -> None:
    double = Column("x", "double0", T.DOUBLE)
    zero, negative, nan = (
        polars_values(rows(double0=[v]), [double]) for v in (0.0, -0.0, math.copysign(math.nan, -1))
    )

    assert differing(zero, negative)
    assert not differing(nan, polars_values(rows(double0=[math.nan]), [double]))


NUMBERS = [float(i) for i in range(40)]
TRUE = [True] * 40
FOUND: list[tuple[str, dict[str, list[Value]]]] = [
    # Polars treats what is the same in all rows otherwise.
    ("double0 / 10", {"double0": NUMBERS}),
    ("double0 / CASE WHEN boolean0 THEN 10.0 ELSE 3.0 END", {"double0": NUMBERS, "boolean0": TRUE}),
    ("round(double0 / 7, 1)", {"double0": NUMBERS}),
    ("round(double0, int0)", {"double0": [1.005, 0.285, -2.5, 1.1], "int0": [2, 2, 0, 1]}),
    ("round(double0, -20)", {"double0": [1.7976931348623157e308, -math.inf, 5e20, math.nan]}),
    ("round(double0, -400)", {"double0": [-math.inf, 5e300]}),
    ("epoch(timestamp0)", {"timestamp0": [i * 1_000_003 for i in range(60)]}),
    ("power(double0, 3)", {"double0": [x / 7 for x in NUMBERS]}),
    ("power(double0, 0.5)", {"double0": [x / 7 for x in NUMBERS]}),
    ("double0 + 0.0", {"double0": [-0.0, 0.0]}),
    ("0.0 - double0", {"double0": [-0.0, 0.0]}),
    ("double0 - -0.0", {"double0": [-0.0, 0.0]}),
    # Types in which values compare.
    ("bigint0 IN (bigint1, 0.5)", {"bigint0": [2**53 + 1], "bigint1": [2**53]}),
    ("bigint0 BETWEEN bigint1 AND 1e300", {"bigint0": [2**53], "bigint1": [2**53 + 1]}),
    # Overflow.
    ("int0 % int1", {"int0": [-(2**31), 5], "int1": [-1, 0]}),
    ("bigint0 % bigint1", {"bigint0": [-(2**63), 5], "bigint1": [-1, 0]}),
    (
        "substring(string0, bigint0)",
        {"string0": ["abc"] * 4, "bigint0": [2**32 - 1, 2**32, -(2**32) - 1, 2**63 - 1]},
    ),
    ("substring(string0, bigint0)", {"string0": ["abé"] * 9, "bigint0": [n - 2**32 for n in range(-1, 8)]}),
    ("substring(string0, 1, bigint0)", {"string0": ["abc"] * 3, "bigint0": [2**32, -(2**32) - 1, 2]}),
    # Two values that are the same for all rows.
    ("DATE '2012-02-29' > coalesce(DATE '2012-02-29', date0)", {"date0": [1, 2, 3]}),
    ("'b' > nullif('a', string0)", {"string0": ["x", "y"]}),
    ("5 > bigint0 * bigint1", {"bigint0": [2**62, 2**62], "bigint1": [4, 4]}),
    ("CASE WHEN NULL THEN date0 < timestamp0 END", {"date0": [1, 2], "timestamp0": [1, 2]}),
    ("epoch(timestamp0 - timestamp1)", {"timestamp0": [2_102_553_106_000_000], "timestamp1": [-(2**53) - 1]}),
]


@pytest.mark.parametrize(("text", "values"), FOUND, ids=[text for text, _ in FOUND])
def test_what_searches_found_stays_mended(text: str, values: dict[str, list[Value]]) -> None:
    assert compared(read(text), rows(**values)) == []


def test_what_is_made_of_a_comparison_with_null_has_a_value_per_row() -> None:
    no_moment, yes = Literal(None, T.TIMESTAMP), Literal(True, T.BOOLEAN)
    for name in ("in", "eq", "ge"):
        unknown = Call(name, (no_moment, Column("x", "timestamp0", T.TIMESTAMP)), T.BOOLEAN)
        assert compared(Call("ge", (yes, unknown), T.BOOLEAN), rows(timestamp0=[1, 2])) == []


@pytest.mark.parametrize("name", ["ge", "eq", "in"])
def test_what_is_made_of_a_comparison_with_a_constant_that_comes_to_null_has_a_value_per_row(
    name: str,
) -> None:
    null = Call("cast", (Literal(None, T.decimal(19, 4)),), T.decimal(12, 2))
    chosen = Call("case", (Literal(True, T.BOOLEAN), null, Literal("0.00", T.decimal(12, 2))), null.type)
    for constant in (null, chosen):
        unknown = Call(name, (Column("x", "int1", T.INT), constant), T.BOOLEAN)
        assert compared(Call("ge", (Literal(False, T.BOOLEAN), unknown), T.BOOLEAN), rows(int1=[1, 2])) == []


@pytest.mark.parametrize("text", ["bigint0 BETWEEN bigint1 AND double0", "bigint0 IN (bigint1, double0)"])
def test_a_double_makes_doubles_of_all_that_are_compared_at_once(text: str) -> None:
    frame = rows(bigint0=[2**53], bigint1=[2**53 + 1], double0=[1e300])
    columns = f"{2**53} AS bigint0, {2**53 + 1} AS bigint1, 1e300::DOUBLE AS double0"
    with duckdb.connect() as connection:
        (theirs,) = connection.sql(f"SELECT {text} FROM (SELECT {columns})").fetchall()

    assert theirs == (True,)
    assert polars_values(frame, [read(text)])["e0"].to_list() == [True]


def test_constants_that_compare_equal_are_different_constants() -> None:
    frame = rows(double0=[1.0, -1.0, 0.0])
    for text in (
        "double0 / 0.0",
        "double0 / -0.0",
        "double0 + 0.0",
        "double0 + -0.0",
        "double0 * 1",
        "double0 * 1.0",
    ):
        assert compared(read(text), frame) == []


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        (
            "CAST(string0 AS TIMESTAMP)",
            {"string0": ["1970-01-01 02:00:00+02", "1970-01-01 00:00:00"]},
            [0, 0],
        ),
        ("CAST(string0 AS DATE)", {"string0": ["1970-01-01 23:00:00-05:00"]}, [0]),
        ("CAST(double0 AS STRING)", {"double0": [math.copysign(math.nan, -1)]}, ["nan"]),
        ("(INTERVAL 1 DAY * int0) IS NULL", {"int0": [2**31 - 1, 2]}, [True, False]),
        (
            "CAST(string0 AS BIGINT)",
            {"string0": ["0x10", "1_000", " 7 ", "1e3", "x"]},
            [16, 1000, 7, 1000, None],
        ),
        ("CAST(string0 AS TIMESTAMP)", {"string0": ["1970-01-01 24:00:00"]}, [86_400_000_000]),
        ("CAST(timestamp0 AS STRING)", {"timestamp0": [2**63 - 1]}, ["infinity"]),
        ("CAST(date0 AS STRING)", {"date0": [2_932_897, -719_163]}, ["10000-01-01", "0001-12-31 (BC)"]),
    ],
)
def test_what_the_documentation_says_of_text_and_limits(
    text: str, values: dict[str, list[Value]], expected: list[object]
) -> None:
    found = polars_values(rows(**values), [read(text)])["e0"].to_list()

    assert found == expected


@pytest.mark.parametrize("text", ["timestamp0 + INTERVAL 106751992 DAYS", "-(-2147483648)"])
def test_constants_beyond_their_type_are_errors(text: str) -> None:
    with pytest.raises(InputError):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "DATE '0001-01-01' - 1",
        "DATE '0001-01-01' - 719163",
        "DATE '9999-12-31' + 1",
        "TIMESTAMP '0001-01-01 00:00:00' - INTERVAL 1 SECOND",
        "TIMESTAMP '9999-12-31 23:59:59' + INTERVAL 1 SECOND",
        "STRPTIME('-infinity', '%Y')",
        "CAST(STRPTIME('-infinity', '%Y') AS DATE)",
        "STRPTIME('infinity', '%Y')",
    ],
)
def test_constants_beyond_what_python_knows_are_themselves(text: str) -> None:
    """Python's DuckDB shows all that lies before the year 1, or behind 9999, as one moment."""
    with duckdb.connect() as connection:
        ((wanted,),) = connection.execute(f"SELECT CAST({text} AS VARCHAR)").fetchall()
    given = rows(string0=[""])
    assert polars_values(given, [read(f"CAST({text} AS STRING)")])["e0"].to_list() == [wanted]
    assert polars_values(given, [read(f"CAST({text} AS STRING) || string0")])["e0"].to_list() == [wanted]


MOMENT_FUNCTIONS = ("year", "month", "day", "hour", "minute", "second", "day_of_week", "epoch")


@pytest.mark.parametrize("column", ["timestamp0", "date0"])
def test_functions_of_moments_hold_to_the_ends_of_time(column: str) -> None:
    frame = rows(**{column: [*(MOMENTS if column == "timestamp0" else DAYS), None]})
    moment = Column("x", column, dict(COLUMNS)[column])
    for made in (
        *(call(name, moment) for name in MOMENT_FUNCTIONS),
        *(call("date_trunc", Literal(unit, T.STRING), moment) for unit in TRUNCATIONS),
        *(cast(moment, kind) for kind in (T.STRING, T.DATE, T.TIMESTAMP) if kind is not moment.type),
        *(
            call(n, moment, Literal(us, T.INTERVAL))
            for n in ("add", "subtract")
            for us in (0, 1, -1, 86_400_000_000)
        ),
        *(
            call(n, moment, Literal("2013-01-31T00:00:00", T.TIMESTAMP))
            for n in ("subtract", "lt", "eq", "least")
        ),
        call("concat", moment, Literal("", T.STRING)),
    ):
        assert compared(made, frame) == []


@pytest.mark.parametrize(
    "text",
    [
        *("date0 + int0", "date0 - int0", "DATE '1969-12-31' + int0", "date0 - 2147483647", "date0 - date1"),
        *(f"{part}(date0 + int0)" for part in ("YEAR", "MONTH", "DAY", "HOUR", "DAYOFWEEK", "EPOCH")),
    ],
)
def test_days_are_counted_to_the_ends_of_dates_which_timestamps_do_not_reach(text: str) -> None:
    pairs = [
        (day, days) for day in (*DAYS, None) for days in (*INTS, 106_751_992, 2_147_376_895, -(2**31), None)
    ]
    frame = rows(
        date0=[day for day, _ in pairs],
        date1=[DAYS[n % len(DAYS)] for n in range(len(pairs))],
        int0=[days for _, days in pairs],
    )

    assert compared(read(text), frame) == []


@pytest.mark.parametrize(
    ("column", "values", "added"),
    [
        *(("date0", DAYS, Literal(days, T.INT)) for days in INTS),
        *(("timestamp0", MOMENTS, Literal(us, T.INTERVAL)) for us in (0, 1, -1, 86_400_000_000)),
    ],
)
def test_a_plan_may_add_from_either_side(column: str, values: list[Value], added: Literal) -> None:
    moment = Column("x", column, dict(COLUMNS)[column])
    frame = rows(**{column: [*values, None]})

    for arguments in ((moment, added), (added, moment)):
        assert compared(Call("add", arguments, moment.type), frame) == []


@pytest.mark.parametrize("ticks", [-(2**63), -(2**63) + 2, -9_223_372_022_400_000_001])
def test_times_before_the_first_have_no_parts_and_raise_nothing(ticks: int) -> None:
    frame = rows(timestamp0=[ticks])
    for text in (
        *(f"{name.replace('_', '')}(timestamp0)" for name in MOMENT_FUNCTIONS if name != "day_of_week"),
        *(f"date_trunc('{unit}', timestamp0)" for unit in TRUNCATIONS),
        *("CAST(timestamp0 AS STRING)", "CAST(timestamp0 AS DATE)", "timestamp0 + INTERVAL 1 DAY"),
    ):
        assert polars_values(frame, [read(text)])["e0"].to_list() == [None], text


@pytest.mark.parametrize("kind", [T.INT, T.BIGINT, T.DOUBLE, T.BOOLEAN, T.TIMESTAMP, T.DATE, T.BINARY])
def test_every_text_is_read_as_duckdb_reads_it(kind: ColumnType) -> None:
    texts = Column("x", "string0", T.STRING)

    # All together, and each alone: ordinary texts take another way than unusual ones.
    assert compared(cast(texts, kind), rows(string0=[*TEXTS, None])) == []


@pytest.mark.parametrize(("name", "values"), [("double0", DOUBLES), ("binary0", BINARIES)])
def test_every_value_is_written_as_duckdb_writes_it(name: str, values: list[Value]) -> None:
    assert (
        compared(cast(Column("x", name, dict(COLUMNS)[name]), T.STRING), rows(**{name: [*values, None]}))
        == []
    )


@pytest.mark.parametrize("function", ["lower", "upper", "ilike", "trim", "length"])
def test_every_character_is_as_in_duckdb(function: str) -> None:
    characters = [f"a{chr(c)}" for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
    text = Column("x", "string0", T.STRING)
    made = call("ilike", text, Literal("a_", T.STRING)) if function == "ilike" else call(function, text)
    frame = rows(string0=list(characters))

    assert differing(polars_values(frame, [made]), DuckDB().values(frame, [made])) == []


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("_" * 10_878, "é" * 10_878, True),
        ("_" * 10_878, "é" * 10_877, False),
        ("%" + "a_" * 5_000 + "%", "ab" * 100_000, True),
        ("%a" * 200 + "b", "a" * 100_000, False),
        ("%" + "_a" * 400 + "b%", "a" * 100_000, False),
        ("%" * 50_000, "x", True),
        ("x" * 90_000, "x" * 90_000, True),
    ],
)
@pytest.mark.parametrize("constant", [True, False])
def test_any_pattern_meets_any_text_in_bounded_time(
    pattern: str, text: str, expected: bool, constant: bool
) -> None:
    frame = rows(string0=[text, None], string1=[pattern, pattern])
    other = Literal(pattern, T.STRING) if constant else Column("x", "string1", T.STRING)
    began = monotonic()

    found = polars_values(frame, [call("like", Column("x", "string0", T.STRING), other)])

    assert found["e0"].to_list() == [expected, None]
    assert monotonic() - began < 20


@pytest.mark.parametrize(
    "term", ["bigint0", "timestamp0 - timestamp0", "date0 - date0", "nullif(bigint0, 1)"]
)
def test_long_chains_take_time_in_proportion(term: str) -> None:
    frame = rows(bigint0=[1, 2], timestamp0=[3, 4], date0=[5, 6])
    chain = "+".join([term] * 20)
    began = monotonic()

    assert polars_values(frame, [read(f"({chain}) IS NULL")]).height == 2
    assert monotonic() - began < 5
