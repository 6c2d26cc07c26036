"""Results with the batch that found each, kept as a table of DuckDB."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pyarrow as pa

from backend.oracle.accepted import BATCH, LATE
from backend.oracle.expected.due import BESIDE, DEADLINE
from backend.oracle.span import CannotCheck
from optimizer.algebra.render import quote

MOST_KEPT = 100_000
"""Results of which each gets its batch in this process."""
_RAW, _NUMBERS = "millrace raw", "millrace numbers"
_LAST_US = 2**63 - 1


def keep(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    text: str,
    found_in: Callable[[int | None, int | None], int | None],
) -> None:
    """Make a table of results, with BATCH and LATE as a stream's tuples have them.

    Args:
        connection: to DuckDB.
        name: of the table.
        text: SQL as `results_text` gives it.
        found_in: the batch of a result by that of its last tuple and its deadline; None if it is to come.
    Raises:
        CannotCheck: they are too many, or depend on when late tuples came.
    """
    until = f"CASE WHEN {quote(DEADLINE)} IS NOT NULL THEN least({quote(DEADLINE)}, {_LAST_US})::BIGINT END"
    replaced = f"SELECT * REPLACE ({until} AS {quote(DEADLINE)}) FROM (\n{text}\n)"
    connection.execute(f"CREATE TEMP TABLE {quote(_RAW)} AS {replaced}")
    asked = ", ".join(quote(column) for column in (BATCH, LATE, DEADLINE))
    rows = connection.execute(f"SELECT rowid, {asked} FROM {quote(_RAW)} LIMIT {MOST_KEPT + 1}").fetchall()
    if len(rows) > MOST_KEPT:
        raise CannotCheck(f"more than {MOST_KEPT:,} combinations make its results")
    if any(late for _, _, late, _ in rows):
        raise CannotCheck("its results follow from when tuples came that were late")
    numbers = [(row, found) for row, came, _, due in rows if (found := found_in(came, due)) is not None]
    table = {"row": [row for row, _ in numbers], "found": [found for _, found in numbers]}
    connection.register(_NUMBERS, pa.table(table, pa.schema([("row", pa.int64()), ("found", pa.int64())])))
    beside = ", ".join(map(quote, BESIDE))
    connection.execute(
        f"CREATE TEMP TABLE {quote(name)} AS SELECT raw.* EXCLUDE ({beside}), found AS {quote(BATCH)}, "
        f"FALSE AS {quote(LATE)} FROM {quote(_RAW)} AS raw JOIN {quote(_NUMBERS)} ON raw.rowid = row"
    )
    connection.unregister(_NUMBERS)
    connection.execute(f"DROP TABLE {quote(_RAW)}")
