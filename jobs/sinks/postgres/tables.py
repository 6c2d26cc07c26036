"""Results to tables, each batch in one transaction.

The batch's transaction also writes which batch it was, under the checkpoint's id, to the table
`millrace_batches`. Whoever starts next reads it: batches up to it are in the tables, and those behind it are
not. Two processes that publish for one checkpoint, of which one is taken for dead, wait for each other at
that row, and the second finds its batch there.

Results of running groups change a table: `millrace_tables` says of which groups its rows are, and when these
began anew, or another checkpoint publishes them, all rows go first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import adbc_driver_postgresql.dbapi as postgres
import pyarrow as pa

from jobs.sinks.connector import BatchResults, KeyedTable, read_results
from jobs.sinks.keys import key_digests
from jobs.sinks.pattern import PLACEHOLDER, shortened
from jobs.sinks.postgres.columns import BATCH, KEY, LONGEST_NAME, column_types, copied, inserted
from jobs.sources.connector import Away
from optimizer.physical.groups import DELETED

_BATCHES = "millrace_batches"
_TABLES = "millrace_tables"
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
                    keyed = results.tables.get(query)
                    self._append(cursor, query, read_results(files), results.batch, keyed)
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

    def _append(
        self, cursor: postgres.Cursor, query: str, table: pa.Table, batch: int, keyed: KeyedTable | None
    ) -> None:
        name = shortened(self._pattern.replace(PLACEHOLDER, query), LONGEST_NAME)
        schema = table.schema
        if keyed is not None:
            schema = schema.remove(schema.get_field_index(DELETED))
        types = column_types(schema)
        own = {BATCH: "bigint"} if keyed is None else {BATCH: "bigint", KEY: "bytea"}
        self._make_room(cursor, name, types, own, batch)
        staged = copied(table)
        columns = ", ".join(map(_quoted, (*types, *own)))
        values = ", ".join([*inserted(schema), str(batch)])
        if keyed is not None:
            self._begin(cursor, name, keyed)
            staged = staged.append_column(KEY, key_digests(table, keyed.key))
            values += f", {KEY}"
        cursor.adbc_ingest(_STAGED, staged, mode="create", temporary=True)
        insert = (
            f"INSERT INTO {self._named(name)} AS there ({columns}) SELECT {values} FROM pg_temp.{_STAGED}"
        )
        if keyed is not None:
            gone = f"c{len(schema)}"
            cursor.execute(
                f"DELETE FROM {self._named(name)} AS there USING pg_temp.{_STAGED} AS gone "
                f"WHERE there.{KEY} = gone.{KEY} AND gone.{gone}"
            )
            taken = ", ".join(f"{column} = excluded.{column}" for column in map(_quoted, (*types, BATCH)))
            insert += f" WHERE NOT {gone} ON CONFLICT ({KEY}) DO UPDATE SET {taken}"
        cursor.execute(insert)
        cursor.execute(f"DROP TABLE pg_temp.{_STAGED}")

    def _begin(self, cursor: postgres.Cursor, name: str, keyed: KeyedTable) -> None:
        """Remove the rows of other groups than those that are published."""
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {self._named(_TABLES)} "
            "(name text PRIMARY KEY, checkpoint text NOT NULL, begin_batch bigint NOT NULL)"
        )
        cursor.execute(
            f"INSERT INTO {self._named(_TABLES)} AS known VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE "
            "SET checkpoint = excluded.checkpoint, begin_batch = excluded.begin_batch "
            "WHERE (known.checkpoint, known.begin_batch) <> (excluded.checkpoint, excluded.begin_batch) "
            "RETURNING name",
            (name, self._identity, keyed.begin),
        )
        if cursor.fetchone() is not None:
            cursor.execute(f"DELETE FROM {self._named(name)}")

    def _make_room(
        self, cursor: postgres.Cursor, name: str, types: dict[str, str], own: dict[str, str], batch: int
    ) -> None:
        """Have a table with these columns, and our own.

        New columns are added to a table that is there. One in which a column has another type is renamed:
        results of a query's earlier version stay in it. So is one whose rows had no keys, or had.
        """
        cursor.execute(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a "
            "WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped",
            (self._named(name),),
        )
        there = dict(cursor.fetchall())
        wanted = {**types, **own}
        other = bool(there) and (KEY in there) != (KEY in own)
        if other or any(there.get(column, kind) != kind for column, kind in wanted.items()):
            before = shortened(f"{name}_before_{batch}", LONGEST_NAME)
            cursor.execute(f"ALTER TABLE {self._named(name)} RENAME TO {_quoted(before)}")
            there = {}
        if not there:
            columns = ", ".join(f"{_quoted(column)} {kind}" for column, kind in wanted.items())
            columns += f", PRIMARY KEY ({KEY})" if KEY in own else ""
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
