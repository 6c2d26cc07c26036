"""Results to tables, each batch in one transaction.

The batch's transaction also writes which batch it was, under the checkpoint's id, to the table
`millrace_batches`. Whoever starts next reads it: batches up to it are in the tables, and those behind it are
not. Two processes that publish for one checkpoint, of which one is taken for dead, wait for each other at
that row, and the second finds its batch there.

Results of running groups change a table: `millrace_tables` says of which groups its rows are, behind which
batch, and whether they are all. When groups begin anew, or another checkpoint publishes them, all rows go
first. A job that starts writes a table anew that missed changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import adbc_driver_postgresql.dbapi as postgres
import pyarrow as pa

from jobs.sinks.connector import BatchResults, KeyedTable, TableChanges, read_results
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


@dataclass(frozen=True, slots=True)
class _Known:
    """What a table of running groups has."""

    of: tuple[str, int]
    """The checkpoint, and the first batch of the groups."""
    batch: int
    """The last one that it has changes of."""
    changes: int
    """Of the groups by then."""
    whole: bool
    """True if it has all of these."""


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
        with self._transaction() as cursor:
            if not self._first(cursor, results.batch):
                raise Away(f"another process has published batch {results.batch}")
            for query, files in results.by_query().items():
                keyed, rows = results.tables.get(query), read_results(files)
                if keyed is None:
                    self._append(cursor, query, rows, results.batch)
                else:
                    before = keyed.changes - len(rows)
                    self._change(cursor, query, results.batch, TableChanges((rows,), keyed, before))
            for query in results.begun().keys() - results.by_query().keys():
                nothing = TableChanges((), results.tables[query], 0)
                self._change(cursor, query, results.batch, nothing)

    @_away()
    def restore(self, batch: int, tables: Mapping[str, TableChanges]) -> None:
        """One transaction: tables that are not here as they are behind the batch."""
        with self._transaction() as cursor:
            # Whoever publishes for this checkpoint waits for the end of this transaction.
            cursor.execute(
                f"INSERT INTO {self._named(_BATCHES)} AS known VALUES ($1, -1) ON CONFLICT (checkpoint) "
                "DO UPDATE SET batch = known.batch",
                (self._identity,),
            )
            for query, changes in sorted(tables.items()):
                self._change(cursor, query, batch, changes)

    @contextmanager
    def _transaction(self) -> Iterator[postgres.Cursor]:
        connection = self._connection
        assert connection is not None, "connected before anything is published"
        try:
            with connection.cursor() as cursor:
                yield cursor
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
        """Add results that stay."""
        name, types = self._table(query), column_types(table.schema)
        self._make_room(cursor, name, types, {BATCH: "bigint"}, batch)
        cursor.adbc_ingest(_STAGED, copied(table), mode="create", temporary=True)
        self._insert(cursor, name, (*types, BATCH), (*inserted(table.schema), str(batch)))
        cursor.execute(f"DROP TABLE pg_temp.{_STAGED}")

    def _change(self, cursor: postgres.Cursor, query: str, batch: int, changes: TableChanges) -> None:
        """Change the rows of running groups, unless they are so already."""
        name, keyed = self._table(query), changes.keyed
        known = self._known(cursor, name)
        there = self._columns(cursor, name)
        same = known is not None and known.of == (self._identity, keyed.begin) and KEY in there
        if known is not None and same:
            has_all = changes.is_all and known.whole and known.changes == keyed.changes
            if has_all or batch < known.batch or (batch == known.batch and not changes.is_all):
                return
        if KEY in there and (changes.is_all or not same):
            cursor.execute(f"DELETE FROM {self._named(name)}")
        whole = changes.is_all or changes.before == 0
        if known is not None and same:
            whole = whole or (known.whole and known.changes == changes.before)
        for part in changes.parts:
            self._upsert(cursor, name, part, batch, keyed)
        self._know(cursor, name, _Known((self._identity, keyed.begin), batch, keyed.changes, whole))

    def _upsert(
        self, cursor: postgres.Cursor, name: str, table: pa.Table, batch: int, keyed: KeyedTable
    ) -> None:
        schema = table.schema.remove(table.schema.get_field_index(DELETED))
        types, gone = column_types(schema), f"c{len(schema)}"
        self._make_room(cursor, name, types, {BATCH: "bigint", KEY: "bytea"}, batch)
        staged = copied(table.select([*schema.names, DELETED]))
        staged = staged.append_column(KEY, key_digests(table, keyed.key))
        cursor.adbc_ingest(_STAGED, staged, mode="create", temporary=True)
        cursor.execute(
            f"DELETE FROM {self._named(name)} AS there USING pg_temp.{_STAGED} AS gone "
            f"WHERE there.{KEY} = gone.{KEY} AND gone.{gone}"
        )
        taken = ", ".join(f"{column} = excluded.{column}" for column in map(_quoted, (*types, BATCH)))
        behind = f" WHERE NOT {gone} ON CONFLICT ({KEY}) DO UPDATE SET {taken}"
        self._insert(cursor, name, (*types, BATCH, KEY), (*inserted(schema), str(batch), KEY), behind)
        cursor.execute(f"DROP TABLE pg_temp.{_STAGED}")

    def _insert(
        self,
        cursor: postgres.Cursor,
        name: str,
        columns: Sequence[str],
        values: Sequence[str],
        behind: str = "",
    ) -> None:
        cursor.execute(
            f"INSERT INTO {self._named(name)} ({', '.join(map(_quoted, columns))}) "
            f"SELECT {', '.join(values)} FROM pg_temp.{_STAGED}{behind}"
        )

    def _known(self, cursor: postgres.Cursor, name: str) -> _Known | None:
        """What a table of running groups is said to have."""
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {self._named(_TABLES)} (name text PRIMARY KEY, checkpoint text NOT "
            "NULL, begin_batch bigint NOT NULL, batch bigint NOT NULL, changes bigint NOT NULL, "
            "whole boolean NOT NULL)"
        )
        cursor.execute(
            f"SELECT checkpoint, begin_batch, batch, changes, whole FROM {self._named(_TABLES)} "
            "WHERE name = $1",
            (name,),
        )
        found = cursor.fetchone()
        return None if found is None else _Known((found[0], found[1]), *found[2:])

    def _know(self, cursor: postgres.Cursor, name: str, known: _Known) -> None:
        cursor.execute(
            f"INSERT INTO {self._named(_TABLES)} VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) "
            "DO UPDATE SET checkpoint = excluded.checkpoint, begin_batch = excluded.begin_batch, "
            "batch = excluded.batch, changes = excluded.changes, whole = excluded.whole",
            (name, *known.of, known.batch, known.changes, known.whole),
        )

    def _table(self, query: str) -> str:
        return shortened(self._pattern.replace(PLACEHOLDER, query), LONGEST_NAME)

    def _columns(self, cursor: postgres.Cursor, name: str) -> dict[str, str]:
        """The types of a table's columns; none if there is no table."""
        cursor.execute(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a "
            "WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped",
            (self._named(name),),
        )
        return dict(cursor.fetchall())

    def _make_room(
        self, cursor: postgres.Cursor, name: str, types: dict[str, str], own: dict[str, str], batch: int
    ) -> None:
        """Have a table with these columns, and our own.

        New columns are added to a table that is there. One in which a column has another type is renamed:
        results of a query's earlier version stay in it. So is one whose rows had no keys, or had.
        """
        there = self._columns(cursor, name)
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
