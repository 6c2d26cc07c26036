"""DuckDB over given tables: no files, no network, bounded memory and time.

What runs in it is what the optimizer says that a query means (`optimizer.sql.to_duckdb`), never a
person's text.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from optimizer.udf.duckdb import register
from optimizer.udf.registry import FunctionRegistry


class TooLong(Exception):
    """It took more time than it was given."""


class TooLarge(Exception):
    """It needs more memory than it was given."""


@contextmanager
def sandbox(
    tables: Mapping[str, pa.Table], functions: FunctionRegistry, seconds: float, memory: str
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that sees the tables under their names and may call the functions.

    Args:
        seconds: for everything that is done with the connection together.
        memory: as DuckDB writes sizes, such as `256MB`.
    Raises:
        TooLong, TooLarge: from within the block.
    """
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": memory,
        "threads": 1,
        "enable_external_access": False,
        "temp_directory": "",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    with duckdb.connect(":memory:", config=settings) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(name, table)
        register(connection, functions)
        connection.execute("SET lock_configuration = true")
        timer = threading.Timer(seconds, connection.interrupt)
        timer.start()
        try:
            yield connection
        except duckdb.InterruptException as error:
            raise TooLong from error
        except duckdb.OutOfMemoryException as error:
            raise TooLarge from error
        finally:
            timer.cancel()
