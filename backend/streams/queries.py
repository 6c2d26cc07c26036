"""Reading the stream registry and what lies in the streams."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

import pyarrow as pa
import redis.exceptions
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Count, QuerySet

from backend.accounts.reading import readable
from backend.errors import Unavailable
from backend.redis import binary_connection, connection, read_binary_entries
from backend.streams.models import SelectivityEstimate, Stream
from backend.streams.values import shown
from jobs.protocol import stream_key
from optimizer.algebra.types import ColumnType
from optimizer.logical import stream as domain
from optimizer.logical.catalog import Catalog
from optimizer.logical.source import SourceSettings, read_settings
from optimizer.logical.source import source_of as source_from
from optimizer.udf.reader import allowed_functions


def streams(account: User | AnonymousUser) -> QuerySet[Stream]:
    """The streams that the account reads, with columns and `query_count`.

    These are the queries with a version on it that belong to somebody whose queries the account reads.
    """
    return (
        Stream.objects.filter(readable(account))
        .select_related("owner__service_account", "team", "source")
        .prefetch_related("columns")
        .annotate(
            query_count=Count(
                "readers__version__query",
                filter=readable(account, "readers__version__query__"),
                distinct=True,
            )
        )
    )


def to_domain(record: Stream) -> domain.Stream:
    return domain.Stream(
        name=record.name,
        columns=tuple((column.name, ColumnType(column.type)) for column in record.columns.all()),
        event_time=record.event_time,
        lateness=timedelta(milliseconds=record.lateness_ms),
        late=cast(domain.LatePolicy, record.late),
        parallelism=record.parallelism,
        tuples_per_second=record.tuples_per_second,
        source=source_of(record),
        max_ahead=timedelta(milliseconds=record.max_ahead_ms),
        kind=cast(domain.StreamKind, record.kind),
        key=tuple(record.key),
        deleted=record.deleted,
    )


def source_of(record: Stream) -> SourceSettings | None:
    """What brings the stream's tuples; None if producers send them to Millrace."""
    kept = getattr(record, "source", None)
    if kept is None:
        return None
    documents = {kept.connector: kept.settings, **kept.then}
    return source_from({name: read_settings(name, settings) for name, settings in documents.items()})


def load_catalog() -> Catalog:
    """All registered streams and functions that settings allow, for the optimizer."""
    return _catalog(Stream.objects.all())


def readable_catalog(account: User | AnonymousUser) -> Catalog:
    """The same of the streams that the account reads: to it there are no others."""
    return _catalog(Stream.objects.filter(readable(account)))


def _catalog(found: QuerySet[Stream]) -> Catalog:
    records = found.select_related("source").prefetch_related("columns")
    return Catalog.of((to_domain(record) for record in records), allowed_functions())


def selectivities() -> tuple[tuple[str, float], ...]:
    """Known selectivities, by predicate over stream names, in a fixed order."""
    return tuple(SelectivityEstimate.objects.values_list("predicate", "value"))


def entry_counts(names: list[str]) -> dict[str, int | None]:
    """Entries that lie in Redis, by stream; None when Redis is out of reach."""
    try:
        pipeline = connection().pipeline(transaction=False)
        for name in names:
            pipeline.xlen(stream_key(name))
        return dict(zip(names, pipeline.execute(), strict=True))
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, Unavailable):
        return dict.fromkeys(names)


@dataclass(frozen=True, slots=True)
class Sample:
    columns: tuple[tuple[str, str], ...]
    rows: tuple[dict[str, object], ...]
    """Newest first; values as JSON."""


def sample(record: Stream, limit: int) -> Sample:
    """A stream's newest tuples, but those that neither this nor the job can decode."""
    stream = to_domain(record)
    rows: list[dict[str, object]] = []
    newest = binary_connection().xrevrange(stream_key(stream.name), count=limit)
    for _, fields in read_binary_entries(newest):
        for row in reversed(_decode(fields, limit)):
            rows.append({name: shown(row.get(name)) for name, _ in stream.columns})
        if len(rows) >= limit:
            break
    return Sample(tuple((name, kind.value) for name, kind in stream.columns), tuple(rows[:limit]))


def _decode(fields: dict[bytes, bytes], limit: int) -> list[dict[str, object]]:
    """The tuples of one entry, at most the last `limit`; none if they cannot be read."""
    if b"json" in fields:
        try:
            row = json.loads(fields[b"json"])
        except ValueError:
            return []
        return [row] if isinstance(row, dict) else []
    if b"arrow" in fields:
        try:
            with pa.ipc.open_stream(fields[b"arrow"]) as reader:
                table = reader.read_all()
            table.validate(full=True)
            return cast(list[dict[str, object]], table.slice(max(0, table.num_rows - limit)).to_pylist())
        except (pa.ArrowInvalid, OSError, ValueError, OverflowError):
            # The last two: a moment that Python's calendar does not have.
            return []
    return []
