"""Our reading of a text means what DuckDB's does: same values, same types, over the same tuples.

`to_duckdb` writes what we understood; DuckDB answers it and the user's own text.
"""

from __future__ import annotations

import math
from datetime import timedelta

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.algebra.render import duckdb_type
from optimizer.sql import format_query, parse_query, to_duckdb
from tests.unit.sql.streams import CATALOG, late, parse, windy

# Where a decimal of DuckDB's is a double of ours the value is close rather than equal.
EXPRESSIONS = r"""
seats + 1
number - seats
seats * number
seats / number
seats // 3
number % 7
-seats
-(-seats)
- -delay
abs(delay)
floor(delay)
ceil(seats)
round(delay)
round(delay, 1)
round(number, -1)
sqrt(abs(delay))
power(seats, 2)
seats ^ 2
exp(delay / 100)
ln(abs(delay) + 1)
sin(delay)
cos(seats)
mod(seats, 2)
flight LIKE 'U%'
flight NOT LIKE '_A%'
flight ILIKE 'ua%'
flight ~~ 'U%'
flight ^@ 'U'
starts_with(flight, origin)
prefix(flight, 'U')
ends_with(flight, '1')
suffix(flight, '1')
contains(flight, 'A1')
lower(flight)
upper(flight)
trim(flight)
substring(flight, 2, 2)
substring(flight FROM 2)
substr(flight, -2, 1)
flight || '-' || seats
concat(flight, origin, 'x')
concat(flight, seats)
length(flight)
coalesce(seats, number)
ifnull(flight, 'none')
nullif(seats, 1)
least(seats, number)
greatest(seats, delay)
greatest("at", day)
CASE WHEN seats > 0 THEN 'p' WHEN seats < 0 THEN 'n' ELSE 'z' END
CASE seats WHEN 1 THEN 2 END
CASE WHEN cancelled THEN seats ELSE delay END
CASE WHEN seats IS NULL THEN NULL WHEN seats = 1 THEN 1.5 ELSE seats END
if(cancelled, 1, 2)
CAST(delay AS int)
seats::double
seats::varchar
"at"::date
day::timestamp
cancelled::int
seats::boolean
"at"::varchar
day::varchar
'5'::int + seats
year("at")
month(day)
day("at")
hour("at")
minute("at")
second("at")
dayofweek("at")
weekday(day)
EXTRACT(year FROM "at")
EXTRACT(epoch FROM "at")
date_part('dow', "at")
epoch("at")
epoch(day)
epoch("at" - day)
date_trunc('hour', "at")
date_trunc('week', "at")
date_trunc('month', day)
day + 1
day - 3
day - day
day - DATE '2012-12-31'
day + seats
3 + day
"at" + INTERVAL 5 MINUTES
"at" - INTERVAL '1 hour 30 minutes'
2 * INTERVAL 1 HOUR + "at"
day + INTERVAL 1 DAY
"at" > '2013-02-01'
"at" BETWEEN '2013-01-01' AND day
"at" = "at"::date
"at" - day < INTERVAL 1 DAY
INTERVAL '1.5 hours' < "at" - day
epoch(INTERVAL 90 MINUTES)
seats BETWEEN 0 AND 5
seats NOT BETWEEN 0 AND 5
seats IN (1, 2, 3)
seats IN (1, NULL)
seats NOT IN (1, 2)
seats IN (number, 1.5)
flight IN ('UA1')
seats IS NULL
flight IS NOT NULL
cancelled IS TRUE
cancelled IS NOT TRUE
cancelled IS FALSE
seats IS DISTINCT FROM number
seats IS NOT DISTINCT FROM number
NOT cancelled
cancelled AND seats > 0
cancelled OR seats > 0
NOT (cancelled AND seats > 0)
NOT (cancelled OR seats > 0 OR delay > 1)
seats = number
seats <> number
seats != 1
seats == 1
(seats > 0) = cancelled
seats IS NULL = true
flight > 'B'
delay = 3.5
seats > 1.5
1 + 2 * 3
(1 + 2) * 3
10 - 3 - 2
100 / 10 / 2
2 - (3 - 4)
seats - (number - seats)
seats - number - seats
delay / (seats / 2)
'x' || 'y'
TIMESTAMP '2013-01-01 00:00:00'
DATE '2013-01-01'
1e3
3000000000
-2147483648
-9223372036854775808
coalesce(NULL, seats)
NULL::int
raw = raw
seats * 0.1
delay * 0.1
.5 + delay
TRUE
'it''s'
seats & number
seats | 4
seats | number & 3
1 << (seats & 7) | 1
number >> 1
~seats
-seats & 3
seats & 1 = 0
1 + seats | 4
(seats & 7) << 1 || 'x'
xor(seats, number)
flight ~ '^UA[0-9]'
flight !~ 'A'
flight ~ 'A' = cancelled
flight SIMILAR TO 'UA.*'
flight NOT SIMILAR TO 'UA'
NOT flight ~ 'A'
regexp_matches(flight, 'ua', 'i')
regexp_replace(flight, '[A-Z]', '#', 'g')
regexp_extract(flight, '([A-Z]+)([0-9]+)', 2)
'[' || seats || ']' ->> '$[0]'
'{"a": ' || seats || '}' ->> '$.a' = '1'
('[' || seats || ']') ->> '$[0]'
json_extract_string('{"a": ' || seats || '}', '$.a')
json_type('[' || seats || ']', '$[0]')
trim(flight, 'U ')
trim(BOTH 'U' FROM flight)
trim(LEADING FROM flight)
trim(TRAILING '1' FROM flight)
position('A' IN flight)
strpos(flight, 'A')
left(flight, 2)
right(flight, -1)
lpad(flight, 8, '.')
repeat(flight, 2)
replace(flight, 'A', '')
split_part(flight, 'A', 2)
concat_ws('-', flight, seats, delay, day, cancelled)
levenshtein(flight, origin)
md5(flight)
round_even(seats, 0)
trunc(delay)
trunc(seats, -1)
log(2, abs(delay) + 1)
log(abs(delay) + 1)
pi() * seats
atan2(delay, seats)
gcd(seats, number)
isnan(delay)
quarter("at")
week(day)
EXTRACT(isodow FROM day)
EXTRACT(doy FROM "at")
date_part('milliseconds', "at")
date_diff('hour', day, "at")
datediff('DAY', day, "at")
date_sub('hour', "at", "at" + INTERVAL 90 MINUTES)
date_add("at", INTERVAL 90 MINUTES)
time_bucket(INTERVAL 5 MINUTES, "at")
time_bucket(INTERVAL 7 DAYS, day)
last_day("at")
dayname(day)
strftime("at", '%d.%m.%Y %H:%M')
strptime(strftime("at", '%d.%m.%Y'), '%d.%m.%Y')
make_date(2013, 1, seats + 10)
make_timestamp(2013, 1, 2, 3, 4, abs(delay) / 3)
make_timestamp_ms(seats * 1000)
epoch_ms("at")
encode(flight)
""".strip().split("\n")  # fmt: skip


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for stream in CATALOG:
        columns = ", ".join(f'"{name}" {duckdb_type(kind)}' for name, kind in stream.columns)
        connection.execute(f'CREATE TABLE "{stream.name}" ({columns})')
    connection.execute("""
        INSERT INTO departures VALUES
        ('2013-01-01 10:11:12.5', 'UA1', 'JFK', 3.5, 1, 2, true, '2013-01-02', 'ab'::blob),
        ('2013-01-01 10:13:00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('2013-01-01 10:20:00', ' ua A1 ', 'EWR', -0.5, -7, 2, false, '2013-01-05', 'x'::blob),
        ('2013-01-01 10:30:00', '', '', 90.0, 3, -9, true, '2012-02-29', ''::blob),
        ('2013-01-01 10:30:00', 'UA1', 'JFK', 120.0, 4, 4, false, '2013-01-01', 'x'::blob)
    """)
    connection.execute("""
        INSERT INTO weather VALUES ('2013-01-01 10:10:00', 'JFK', 25, '2013-01-01'),
        ('2013-01-01 10:20:00', 'JFK', 30, NULL), ('2013-01-01 10:20:00', 'EWR', 90, '2013-01-05'),
        ('2013-01-01 10:30:00', NULL, NULL, NULL)
    """)
    connection.execute("""INSERT INTO "Clicks" VALUES ('2013-01-01 10:20:00', 'JFK', 1)""")
    return connection


def alike(first: object, second: object) -> bool:
    """Equal, or numbers that differ by rounding only."""
    if (
        first is None
        or second is None
        or isinstance(first, str | bytes | bool)
        or not hasattr(first, "__float__")
    ):
        return first == second
    return math.isclose(float(first), float(str(second)), rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression_has_duckdbs_value_and_type(expression: str, database: duckdb.DuckDBPyConnection) -> None:
    theirs = database.sql(f"SELECT {expression} AS x FROM departures")
    query = parse(f"SELECT {expression} AS x FROM departures")
    ours = database.sql(to_duckdb(query, CATALOG))
    assert str(ours.types[0]) == duckdb_type(query.outputs[0].expression.type)
    if not str(theirs.types[0]).startswith("DECIMAL"):
        assert str(theirs.types[0]) == str(ours.types[0])
    pairs = list(zip(theirs.fetchall(), ours.fetchall(), strict=True))
    assert all(alike(theirs_row[0], ours_row[0]) for theirs_row, ours_row in pairs), pairs


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_unnamed_expression_has_duckdbs_name(expression: str, database: duckdb.DuckDBPyConnection) -> None:
    text = f"SELECT {expression} FROM departures"
    assert [parse(text).outputs[0].name] == database.sql(text).columns


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_formatting_keeps_the_meaning(expression: str) -> None:
    text = f"SELECT {expression} FROM departures"
    assert parse(format_query(text)) == parse(text)


JOINS = {
    "comma": "SELECT d.at, w.wind FROM departures d, weather w WHERE d.origin = w.origin",
    "using": "SELECT * FROM departures d JOIN weather w USING (origin) WHERE wind > 26",
    "using twice": "SELECT * FROM departures d JOIN weather w USING (origin, day)",
    "theta": "SELECT d.at x, w.at y FROM departures d JOIN weather w ON d.delay < w.wind AND d.at > w.at",
    "self": "SELECT a.at, b.at, a.flight FROM departures a, departures b WHERE a.flight = b.flight",
    "three": "SELECT a.at FROM departures a, weather b, clicks c WHERE a.delay + c.seats > b.wind",
    "cross": "SELECT d.flight, c.user FROM departures d CROSS JOIN clicks c",
    "case": 'SELECT "User", TIME FROM clicks',
    "star": "SELECT w.*, * FROM departures d, weather w WHERE d.origin = w.origin",
}


@pytest.mark.parametrize("name", JOINS)
def test_join_has_duckdbs_results(name: str, database: duckdb.DuckDBPyConnection) -> None:
    theirs = database.sql(JOINS[name])
    ours = database.sql(to_duckdb(parse(JOINS[name]), CATALOG))
    assert sorted(map(repr, theirs.fetchall())) == sorted(map(repr, ours.fetchall()))
    assert [name.split("_")[0] for name in ours.columns] == [name.split("_")[0] for name in theirs.columns]


def test_repeated_names_are_those_of_a_table(database: duckdb.DuckDBPyConnection) -> None:
    database.execute(f"CREATE OR REPLACE TABLE repeated AS {JOINS['star']}")
    assert [o.name for o in parse(JOINS["star"]).outputs] == database.sql("FROM repeated").columns


def test_windows_are_pairwise_conditions(database: duckdb.DuckDBPyConnection) -> None:
    text = """
        SELECT d.at AS d, w.at AS w FROM departures [RANGE 10 MINUTES] d, weather [RANGE 172.5 SECONDS] w
        WHERE d.origin = w.origin
    """
    rows = database.sql(to_duckdb(parse(text), CATALOG)).fetchall()
    everything = database.sql(
        "SELECT d.at, w.at FROM departures d, weather w WHERE d.origin = w.origin"
    ).fetchall()
    widths = (timedelta(minutes=10), timedelta(seconds=172.5))
    expected = [
        row
        for row in everything
        if all(max(row) - moment <= width for moment, width in zip(row, widths, strict=True))
    ]
    assert sorted(rows) == sorted(expected)
    assert 0 < len(rows) < len(everything)


def test_views_mean_their_inlined_text(database: duckdb.DuckDBPyConnection) -> None:
    views = {"late": late(), "windy": windy()}
    text = "SELECT l.airport, l.hours, v.wind FROM late l, windy v WHERE l.flight = v.flight"
    ours = database.sql(to_duckdb(parse(text, views), CATALOG)).fetchall()
    theirs = database.sql("""
        SELECT l.origin, l.delay / 60, w.wind FROM departures l, departures d, weather w
        WHERE l.delay > 60 AND d.origin = w.origin AND w.wind > 20 AND l.flight = d.flight
          AND epoch(d.at) - epoch(l.at) <= 1800 AND epoch(w.at) - epoch(l.at) <= 1800
          AND epoch(l.at) - epoch(d.at) <= 600 AND epoch(w.at) - epoch(d.at) <= 600
    """).fetchall()
    assert sorted(ours) == sorted(theirs)
    assert ours


# Random expressions: precedence, negation and three-valued logic in every combination.

numbers = st.sampled_from(["seats", "number", "delay", "1", "2.5", "NULL", "-3"])
sums = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(" ".join),
        inner.map("({})".format),
        inner.map("coalesce({}, 7)".format),
    ),
    max_leaves=6,
)
conditions = st.recursive(
    st.one_of(
        st.tuples(sums, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), sums).map(" ".join),
        st.tuples(sums, st.just("BETWEEN"), numbers, st.just("AND"), numbers).map(" ".join),
        st.tuples(sums, st.sampled_from(["IN (1, 2, NULL)", "NOT IN (2, 4)", "IS NULL", "IS NOT NULL"])).map(
            " ".join
        ),
        st.sampled_from(
            ["cancelled", "flight LIKE 'U%'", "flight NOT ILIKE '%a%'", "TRUE", "FALSE", 'day < "at"']
        ),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(" ".join),
        inner.map("NOT ({})".format),
        inner.map("({})".format),
        st.tuples(inner, inner).map(lambda pair: f"CASE WHEN {pair[0]} THEN {pair[1]} ELSE cancelled END"),
    ),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(conditions)
def test_random_condition_has_duckdbs_value(condition: str) -> None:
    text = f"SELECT number, {condition} AS x FROM departures"
    rows = _shared().sql(to_duckdb(parse_query(text, "q", CATALOG), CATALOG)).fetchall()
    assert rows == _shared().sql(text).fetchall()
    assert parse(format_query(text)) == parse(text)


_DATABASE: list[duckdb.DuckDBPyConnection] = []


def _shared() -> duckdb.DuckDBPyConnection:
    """The same tuples for all examples, which may not share a fixture of pytest's."""
    if not _DATABASE:
        _DATABASE.append(duckdb.connect())
        columns = ", ".join(f'"{n}" {duckdb_type(k)}' for n, k in CATALOG["departures"].columns)
        _DATABASE[0].execute(f"CREATE TABLE departures ({columns})")
        _DATABASE[0].execute("""
            INSERT INTO departures SELECT TIMESTAMP '2013-01-01' + to_hours(n),
            ['UA1', NULL, 'xaU', 'U'][n % 4 + 1], 'JFK', [NULL, 1.0, 2.5, -3.0, 7.0][n % 5 + 1],
            [1, 2, NULL][n % 3 + 1], [2, NULL, 7, -3][n % 4 + 1],
            [true, false, NULL][n % 3 + 1], DATE '2013-01-01' + (n % 2)::int, ''::blob FROM range(0, 60) t(n)
        """)
    return _DATABASE[0]
