"""The demo's queries over two weeks of real flights, against DuckDB."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from backend.demo import flights
from backend.demo.export import export
from backend.demo.feed import Schedule
from tests.oracle.reference import answer, difference
from tests.oracle.replay import Run, replay

DEMO = Path(flights.__file__).parent
HOUR = timedelta(hours=1)
# What each file's FROM clause says, written a second time: alias -> (stream, window).
INPUTS = {
    "delay_grows": {"early": ("departures", 12 * HOUR), "late": ("departures", 12 * HOUR)},
    "delayed_in_strong_wind": {"d": ("departures", HOUR), "w": ("weather", HOUR)},
    "diverging_wind": {"x": ("weather", HOUR / 2), "y": ("weather", HOUR / 2)},
    "late_in_late_out": {"a": ("arrivals", 3 * HOUR), "d": ("departures", 3 * HOUR)},
    "made_up_in_wind": {
        "a": ("arrivals", 8 * HOUR),
        "d": ("departures", 8 * HOUR),
        "w": ("weather", 9 * HOUR),
    },
    "poor_visibility_to_late_arrival": {
        "a": ("arrivals", 8 * HOUR),
        "d": ("departures", 8 * HOUR),
        "w": ("weather", 9 * HOUR),
    },
    "pressure_drop_and_delay": {
        "before": ("weather", 4 * HOUR),
        "after": ("weather", HOUR),
        "d": ("departures", HOUR),
    },
    "rivals_on_a_route": {"x": ("departures", HOUR / 4), "y": ("departures", HOUR / 4)},
}
WRITTEN = {
    "stayed_away": (
        'SELECT a."at", a.tail, a.flight, a.dest FROM arrivals a WHERE NOT EXISTS (SELECT 1 '
        'FROM departures d WHERE d.tail = a.tail AND d."at" >= a."at" '
        'AND d."at" - a."at" <= INTERVAL 12 HOUR)'
    ),
    "late_with_gusts": (
        'SELECT d."at", d.flight, d.origin, d.delay, w.wind_gust FROM departures d LEFT JOIN weather w '
        "ON w.airport = d.origin AND w.wind_gust IS NOT NULL "
        """AND w."at" <= d."at" AND w."at" > d."at" - INTERVAL 1 HOUR WHERE d.delay > 60"""
    ),
    "delays_by_hour": (
        """SELECT date_trunc('hour', "at"), origin, count(*), sum(CASE WHEN delay > 15 THEN 1 ELSE 0 END), """
        "avg(delay), max(delay) FROM departures GROUP BY 1, 2"
    ),
}
"""What those mean that are no inner joins. Delays are whole minutes, so sums of them are exact."""
JOINED = "d.origin = w.airport AND a.flight = d.flight AND a.tail = d.tail AND "
"""The ON conditions of the one query that is written with JOIN."""


def reference(name: str) -> str:
    if name in WRITTEN:
        return WRITTEN[name]
    text = (DEMO / "queries" / f"{name}.sql").read_text()
    select = text[text.index("SELECT") : text.index("FROM")]
    where = text[text.index("WHERE") + len("WHERE") :]
    inputs = INPUTS[name]
    windows = [
        f'epoch("{newer}"."at") - epoch("{older}"."at") <= {window.total_seconds()}'
        for newer in inputs
        for older, (_, window) in inputs.items()
        if newer != older
    ]
    tables = ", ".join(f'{stream} AS "{alias}"' for alias, (stream, _) in inputs.items())
    joined = JOINED if " ON " in text else ""
    return f"{select} FROM {tables} WHERE {joined}{where} AND {' AND '.join(windows)}"


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    export(folder / "data", days=14)
    replay(DEMO, folder / "data", folder / "out", Run(batch_rows=4000))
    return folder


def test_every_query_has_a_reference() -> None:
    assert {*INPUTS, *WRITTEN} == {file.stem for file in (DEMO / "queries").glob("*.sql")}


@pytest.mark.parametrize("name", sorted({*INPUTS, *WRITTEN}))
def test_demo_answers_equal_duckdb(name: str, replayed: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for stream in flights.STREAMS:
            files = replayed / "data" / stream / "*.parquet"
            connection.execute(f"CREATE VIEW {stream} AS SELECT * FROM read_parquet('{files}')")
        expected = answer(connection.sql(reference(name)))
        found = connection.sql(f"SELECT * FROM read_parquet('{replayed}/out/results/{name}/*.parquet')")
        actual = answer(found)
    differs = difference(expected, actual)
    assert differs is None, differs
    assert expected or name == "diverging_wind"


def test_flights_spend_a_sane_time_on_the_ground() -> None:
    """Departure and arrival moments fit the air time, whatever the time zones in between."""
    with duckdb.connect() as connection:
        connection.register("a", flights.table("arrivals"))
        connection.register("d", flights.table("departures"))
        row = connection.execute(
            'SELECT count(*), min(ground), max(ground) FROM (SELECT epoch(a."at" - d."at") / 60 - a.air_time '
            "AS ground FROM a JOIN d ON a.flight = d.flight AND a.origin = d.origin AND a.dest = d.dest "
            'AND a.tail = d.tail AND a."at" > d."at" AND a."at" < d."at" + INTERVAL 20 HOUR '
            "AND a.delay IS NOT NULL QUALIFY row_number() OVER "
            '(PARTITION BY a.flight, a.origin, a."at" ORDER BY d."at" DESC) = 1)'
        ).fetchone()
    assert row is not None
    count, least, most = row
    assert count > 320_000
    assert least > 0
    assert most < 240


def test_laps_continue_event_time() -> None:
    schedule = Schedule.of("weather")
    lap_s = flights.LAP.total_seconds()
    first = list(schedule.between(0.0, 2 * 3600.0))
    second = list(schedule.between(lap_s, lap_s + 2 * 3600.0))
    assert len(first) == len(second) == 3
    assert '"2013-01-01T06:00:00Z"' in first[0]
    assert '"2014-01-01T06:00:00Z"' in second[0]
    once = Counter(schedule.between(0.0, 100 * 3600.0))
    in_parts = Counter(t for h in range(100) for t in schedule.between(h * 3600.0, (h + 1) * 3600.0))
    assert once == in_parts


def test_the_new_year_starts_with_last_years_arrivals() -> None:
    lap_s = flights.LAP.total_seconds()
    arrivals = Schedule.of("arrivals")
    assert not list(arrivals.between(0.0, 3600.0))
    assert all('"at": "2014-01-01T05' in t for t in arrivals.between(lap_s, lap_s + 3600.0))
    assert list(arrivals.between(lap_s, lap_s + 3600.0))
