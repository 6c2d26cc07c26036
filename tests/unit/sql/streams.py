"""The streams and views that the tests of the SQL front end read."""

from __future__ import annotations

from optimizer.algebra.types import ColumnType as T
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.sql import parse_query

DEPARTURES = Stream(
    "departures",
    (
        ("at", T.TIMESTAMP),
        ("flight", T.STRING),
        ("origin", T.STRING),
        ("delay", T.DOUBLE),
        ("seats", T.INT),
        ("number", T.BIGINT),
        ("cancelled", T.BOOLEAN),
        ("day", T.DATE),
        ("raw", T.BINARY),
    ),
    "at",
)
WEATHER = Stream(
    "weather", (("at", T.TIMESTAMP), ("origin", T.STRING), ("wind", T.DOUBLE), ("day", T.DATE)), "at"
)
CLICKS = Stream("Clicks", (("Time", T.TIMESTAMP), ("User", T.STRING), ("seats", T.INT)), "Time")
PLANES = Stream(
    "planes",
    (
        ("at", T.TIMESTAMP),
        ("flight", T.STRING),
        ("number", T.BIGINT),
        ("seats", T.INT),
        ("scrapped", T.BOOLEAN),
    ),
    "at",
    kind="table",
    key=("flight", "number"),
    deleted="scrapped",
)
CATALOG = Catalog.of([DEPARTURES, WEATHER, CLICKS, PLANES])


def parse(text: str, views: dict[str, Query] | None = None) -> Query:
    """The query of a text over `CATALOG`."""
    return parse_query(text, "q", CATALOG, views or {})


def late() -> Query:
    """A view over one stream."""
    return parse_query(
        "SELECT flight, origin AS airport, delay / 60 AS hours "
        "FROM departures [RANGE 30 MINUTES] WHERE delay > 60",
        "late",
        CATALOG,
    )


def windy() -> Query:
    """A view over two streams."""
    text = """
        SELECT d.flight, w.wind FROM departures [RANGE 10 MINUTES] d, weather w
        WHERE d.origin = w.origin AND w.wind > 20
    """
    return parse_query(text, "windy", CATALOG)
