"""Every function's example means to DuckDB what it means here, under each of the function's names."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import duckdb
import pytest

from optimizer.algebra.functions import GROUPS, Function
from tests.functions import example_value

LISTED = [function for group in GROUPS.values() for function in group if function.help]


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    # Names of the field that DuckDB lacks.
    connection.execute("CREATE MACRO tumble(t, size) AS time_bucket(size, t)")
    connection.execute("CREATE MACRO hop(t, slide, size) AS time_bucket(slide, t)")
    connection.execute("CREATE MACRO session(t, gap) AS t")
    return connection


def value(database: duckdb.DuckDBPyConnection, text: str) -> object:
    ((found,),) = database.execute(f"SELECT {text}").fetchall()
    # DuckDB reads 2.5 as a decimal, which is a double here.
    found = float(found) if isinstance(found, Decimal) else found
    return found.replace(tzinfo=None) if isinstance(found, datetime) else found


@pytest.mark.parametrize("function", LISTED, ids=lambda function: function.sql)
def test_an_example_gives_what_duckdb_gives(function: Function, database: duckdb.DuckDBPyConnection) -> None:
    assert value(database, example_value(function)) == value(database, function.example)


@pytest.mark.parametrize(
    ("function", "alias"),
    [(function, alias) for function in LISTED for alias in function.aliases],
    ids=lambda part: part if isinstance(part, str) else part.sql,
)
def test_another_name_means_the_same(
    function: Function, alias: str, database: duckdb.DuckDBPyConnection
) -> None:
    renamed = function.example.replace(function.sql, alias, 1)

    assert renamed != function.example
    assert value(database, renamed) == value(database, function.example)


def test_names_are_of_one_function_each() -> None:
    names = [name for function in LISTED for name in (function.sql.lower(), *function.aliases)]

    assert len(names) == len(set(names))
