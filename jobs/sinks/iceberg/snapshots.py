"""Results to Iceberg tables, each batch as one snapshot of a query's table.

The commit that adds the snapshot also sets a property of the table, by checkpoint, to the batch's number.
So a process that starts knows of every table which batches it has, and a kill between writing a file and
committing leaves a file that no snapshot names. A commit that another writer was ahead of is tried again on
the newest state of the table: two processes of one checkpoint, one of them taken for dead, add none twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError
from pyiceberg.table import Table

from jobs.sinks.connector import BatchResults, read_results
from jobs.sinks.pattern import PLACEHOLDER, digest, shortened
from jobs.sources.connector import Away

_LONGEST_NAME = 120
_EXPIRE_EVERY_S = 600.0
_NOTHING = -1
_BATCH = "_batch"
"""The column of running groups' changes that says in which order they came."""
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, days since 1970."""
_DAY_US = 86_400_000_000
_CALENDAR = {
    "timestamp": (_FIRST_DAY * _DAY_US, (_LAST_DAY + 1) * _DAY_US - 1),
    "date32": (_FIRST_DAY, _LAST_DAY),
}


@contextmanager
def _away() -> Iterator[None]:
    """Errors after which to try again.

    All of them: what a catalog and a store of files raise depends on their kind, and until their operator has
    mended them results wait in the outbox.
    """
    try:
        yield
    except Away:
        raise
    except Exception as error:
        raise Away(f"{type(error).__name__}: {error}".splitlines()[0]) from error


class SnapshotSink:
    """Publishes to the tables of a namespace.

    Arguments: the catalog's name in pyiceberg's configuration; the namespace; the tables' names, with
    `{query}` for the query's; the checkpoint's id; after how many hours old snapshots are forgotten, None for
    never.
    """

    def __init__(
        self, catalog: str, namespace: str, pattern: str, identity: str, retention_hours: float | None
    ) -> None:
        self._name = catalog
        self._namespace = namespace
        self._pattern = pattern
        self._property = f"millrace.{identity}.batch"
        self._identity = identity
        self._retention = None if retention_hours is None else timedelta(hours=retention_hours)
        self._catalog: Catalog | None = None
        self._expired: dict[str, float] = {}

    @_away()
    def connect(self) -> int:
        """Each table knows what it has: of all together nothing is known."""
        self._catalog = load_catalog(self._name)
        self._catalog.create_namespace_if_not_exists(self._namespace)
        return _NOTHING

    @_away()
    def publish(self, results: BatchResults) -> None:
        """One snapshot per query; a query whose table has the batch is left alone."""
        for query, files in results.by_query().items():
            self._append(query, files, results)

    def _append(self, query: str, files: list[Path], results: BatchResults) -> None:
        named = self._named(query)
        there = self._table(named)
        if there is not None and int(there.properties.get(self._property, _NOTHING)) >= results.batch:
            return
        found = read_results(files)
        keyed = results.tables.get(query)
        if keyed is not None:
            # Which change of a group is the last one. An output of this name does not hide that.
            found = found.rename_columns([f"{c}_" if c == _BATCH else c for c in found.column_names])
            found = found.append_column(_BATCH, pa.repeat(pa.scalar(results.batch, pa.int64()), len(found)))
        rows = as_iceberg(found)
        table = self._fitting(named, there, rows.schema, results.batch)
        since, until = results.complete_since_us.get(query), results.verified_until_us.get(query)
        said = {
            "millrace.checkpoint": self._identity,
            "millrace.batch": str(results.batch),
            "millrace.query": query,
            **({} if since is None else {"millrace.complete-since-us": str(since)}),
            **({} if until is None else {"millrace.verified-until-us": str(until)}),
            **({} if keyed is None else {"millrace.begin": str(keyed.begin)}),
        }
        with table.transaction() as transaction:
            with transaction.update_schema() as change:
                change.union_by_name(rows.schema)
            # Their least and greatest values would be written as Python's moments, which end with year 9999.
            unbounded = {f"write.metadata.metrics.column.{name}": "counts" for name in beyond_calendar(rows)}
            transaction.set_properties({self._property: str(results.batch), **unbounded})
            transaction.append(rows, snapshot_properties=said)
        self._expire(named, table)

    def _fitting(self, named: str, there: Table | None, schema: pa.Schema, batch: int) -> Table:
        """A table that takes these columns.

        One in which a column has another type is renamed: results of a query's earlier version stay in it.
        """
        assert self._catalog is not None
        if there is not None:
            kinds = {field.name: field.type for field in there.schema().as_arrow()}
            if all(kinds.get(field.name, field.type) == field.type for field in schema):
                return there
            self._catalog.rename_table(named, f"{named}_before_{batch}")
        try:
            return self._catalog.create_table(named, schema)
        except TableAlreadyExistsError as error:
            raise Away(str(error)) from error

    def _table(self, named: str) -> Table | None:
        assert self._catalog is not None, "connected before anything is published"
        try:
            return self._catalog.load_table(named)
        except NoSuchTableError:
            return None

    def _named(self, query: str) -> str:
        name = self._pattern.replace(PLACEHOLDER, query)
        if "." in name:
            # Catalogs read dots as levels of namespaces. The digest tells `a.b` from `a_b`.
            name = f"{name.replace('.', '_')}_{digest(name)}"
        return f"{self._namespace}.{shortened(name, _LONGEST_NAME)}"

    def _expire(self, named: str, table: Table) -> None:
        """Forget old snapshots of a table; rows stay."""
        now = time.monotonic()
        if self._retention is None or now - self._expired.get(named, 0.0) < _EXPIRE_EVERY_S:
            return
        self._expired[named] = now
        table.maintenance.expire_snapshots().older_than(datetime.now(UTC) - self._retention).commit()


def as_iceberg(table: pa.Table) -> pa.Table:
    """Results in types that Iceberg has: intervals become whole microseconds.

    >>> as_iceberg(pa.table({"wait": pa.array([5], pa.duration("us"))})).schema.field("wait").type
    DataType(int64)
    """
    return pa.table(
        {name: table.column(name).cast(_type(table.field(name).type)) for name in table.column_names}
    )


def beyond_calendar(table: pa.Table) -> list[str]:
    """Columns with a moment or day outside the years 1 to 9999.

    >>> days = pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32())
    >>> beyond_calendar(pa.table({"day": days, "n": [1, 2]}))
    ['day']
    """
    found = []
    for field, column in zip(table.schema, table.columns, strict=True):
        bounds = _CALENDAR.get(str(field.type).partition("[")[0])
        if bounds is not None:
            numbers = column.cast(pa.int32() if pa.types.is_date32(field.type) else pa.int64())
            ends = pc.min_max(numbers).as_py()
            if ends["min"] is not None and not bounds[0] <= ends["min"] <= ends["max"] <= bounds[1]:
                found.append(field.name)
    return found


def _type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary(kind) or pa.types.is_binary_view(kind):
        return pa.large_binary()
    return kind
