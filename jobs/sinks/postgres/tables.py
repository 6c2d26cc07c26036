"""Results to tables, each batch in one transaction.

The batch's transaction also writes which batch it was, under the checkpoint's id, to the table
`millrace_batches`. Whoever starts next reads it: batches up to it are in the tables, and those behind it are
not. Two processes that publish for one checkpoint, of which one is taken for dead, wait for each other at
that row, and the second finds its batch there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import adbc_driver_postgresql.dbapi as postgres
import pyarrow as pa

from jobs.sinks.connector import BatchResults, read_results
from jobs.sinks.pattern import PLACEHOLDER, shortened
from jobs.sinks.postgres.columns import BATCH, LONGEST_NAME, column_types, copied, inserted
from jobs.sources.connector import Away

_BATCHES = "millrace_batches"
_STAGED = "millrace_staged"


@contextmanager
def _away() -> Iterator[None]:
    """Errors after which to try again.

    All of them: a server that is full, or that refuses an account, is mended by its operator, and until
    then results wait in the outbox.
    """
    try:
        yield
    except postgres.Error as error:
        raise Away(str(error).strip().splitlines()[0]) from error


class TableSink:
    """Publishes to the tables of a schema.

    Arguments: the database; the schema; the tables' names, with `{query}` for the query's; the checkpoint's
    id.
    """

    def __init__(self, url: str, schema: str, pattern: str, identity: str) -> None:
        self._url = url
        self._schema = schema
        self._pattern = pattern
        self._identity = identity
        self._connection: postgres.Connection | None = None

    def connect(self) -> int:
        with suppress(postgres.Error):
            if self._connection is not None:
                self._connection.close()
        self._connection = None
        with _away():
            connection = postgres.connect(self._url)
            with connection.cursor() as cursor:
                cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {_quoted(self._schema)}")
                cursor.execute(
                    f"CREATE TABLE IF NOT EXISTS {self._named(_BATCHES)} "
                    "(checkpoint text PRIMARY KEY, batch bigint NOT NULL)"
                )
                asked = f"SELECT batch FROM {self._named(_BATCHES)} WHERE checkpoint = $1"
                cursor.execute(asked, (self._identity,))
                found = cursor.fetchone()
            connection.commit()
            self._connection = connection
        return -1 if found is None else int(found[0])

    @_away()
    def publish(self, results: BatchResults) -> None:
        """One transaction: the batch's rows, and that they are there."""
        connection = self._connection
        assert connection is not None, "connected before anything is published"
        try:
            with connection.cursor() as cursor:
                if not self._first(cursor, results.batch):
                    raise Away(f"another process has published batch {results.batch}")
                for query, files in results.by_query().items():
                    self._append(cursor, query, read_results(files), results.batch)
            connection.commit()
        except BaseException:
            with suppress(postgres.Error):
                connection.rollback()
            raise

    def _first(self, cursor: postgres.Cursor, batch: int) -> bool:
        """True if no transaction has published the batch yet.

        Others wait for the end of this one.
        """
        cursor.execute(
            f"INSERT INTO {self._named(_BATCHES)} AS known VALUES ($1, $2) ON CONFLICT (checkpoint) "
            "DO UPDATE SET batch = excluded.batch WHERE known.batch < excluded.batch RETURNING batch",
            (self._identity, batch),
        )
        return cursor.fetchone() is not None

    def _append(self, cursor: postgres.Cursor, query: str, table: pa.Table, batch: int) -> None:
        name = shortened(self._pattern.replace(PLACEHOLDER, query), LONGEST_NAME)
        types = column_types(table.schema)
        self._make_room(cursor, name, types, batch)
        cursor.adbc_ingest(_STAGED, copied(table), mode="create", temporary=True)
        columns = ", ".join(map(_quoted, (*types, BATCH)))
        values = ", ".join([*inserted(table.schema), str(batch)])
        cursor.execute(f"INSERT INTO {self._named(name)} ({columns}) SELECT {values} FROM pg_temp.{_STAGED}")
        cursor.execute(f"DROP TABLE pg_temp.{_STAGED}")

    def _make_room(self, cursor: postgres.Cursor, name: str, types: dict[str, str], batch: int) -> None:
        """Have a table with these columns.

        New columns are added to a table that is there. One in which a column has another type is renamed:
        results of a query's earlier version stay in it.
        """
        cursor.execute(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a "
            "WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped",
            (self._named(name),),
        )
        there = dict(cursor.fetchall())
        wanted = {**types, BATCH: "bigint"}
        if any(there.get(column, kind) != kind for column, kind in wanted.items()):
            before = shortened(f"{name}_before_{batch}", LONGEST_NAME)
            cursor.execute(f"ALTER TABLE {self._named(name)} RENAME TO {_quoted(before)}")
            there = {}
        if not there:
            columns = ", ".join(f"{_quoted(column)} {kind}" for column, kind in wanted.items())
            cursor.execute(f"CREATE TABLE {self._named(name)} ({columns})")
            return
        for column, kind in wanted.items():
            if column not in there:
                cursor.execute(f"ALTER TABLE {self._named(name)} ADD COLUMN {_quoted(column)} {kind}")

    def _named(self, table: str) -> str:
        return f"{_quoted(self._schema)}.{_quoted(table)}"


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
