"""Changing the stream registry, and ingesting events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from backend.accounts.models import Team
from backend.accounts.queries import is_operator, refuse_others, refuse_viewers, teams_of
from backend.accounts.quotas import Resource, claim
from backend.accounts.reading import reads_team, told
from backend.audit.actions import Subject
from backend.audit.actions import record as note
from backend.audit.changes import changed
from backend.bounded.caller import calling
from backend.bounded.pool import ASKING_SECONDS, ask
from backend.bounded.worker import OutOfTime
from backend.errors import Conflict, Forbidden, InputErrors, Unavailable
from backend.redis import connection
from backend.streams.models import DAY_MS, Stream, StreamColumn, StreamSource
from backend.streams.queries import to_domain
from backend.streams.signals import name_wanted
from backend.streams.values import normalize, refuse_ahead
from jobs.protocol import stream_key
from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.identifiers import nearest
from optimizer.algebra.settings import BadSetting
from optimizer.algebra.types import ColumnType
from optimizer.logical import stream as domain
from optimizer.logical.source import SourceSettings, check_columns, document_of


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """A stream as its author describes it, before it is checked."""

    name: str
    columns: tuple[tuple[str, ColumnType], ...]
    event_time: str
    description: str = ""
    lateness_ms: int = 0
    late: domain.LatePolicy = "drop"
    parallelism: int | None = None
    tuples_per_second: float | None = None
    source: SourceSettings | None = None
    max_ahead_ms: int = DAY_MS
    kind: domain.StreamKind = "stream"
    key: tuple[str, ...] = ()
    deleted: str | None = None

    @staticmethod
    def of(record: Stream) -> StreamSpec:
        """As the stream is described now."""
        present = to_domain(record)
        plain = _plain(record) | {"key": present.key}
        return StreamSpec(name=record.name, columns=present.columns, source=present.source, **plain)

    def check(self) -> None:
        """Raises `InputErrors` with the path of everything that cannot be."""
        faults: list[InputError] = []
        source = f"stream {self.name}"
        seen: set[str] = set()
        for position, (name, _) in enumerate(self.columns):
            if name.casefold() in seen:
                place = Place(source, path=f"columns.{position}.name")
                faults.append(InputError("duplicate-column", place, f"column {name} again", "another name"))
            seen.add(name.casefold())
        timestamps = [name for name, kind in self.columns if kind is ColumnType.TIMESTAMP]
        if self.event_time not in timestamps:
            faults.append(
                InputError(
                    "bad-event-time",
                    Place(source, path="event_time"),
                    self.event_time or "nothing",
                    f"one of the timestamp columns: {', '.join(timestamps) or 'there is none yet'}",
                    nearest(self.event_time, timestamps),
                )
            )
        faults += self._source_faults(source)
        faults += self._table_faults(source)
        if faults:
            raise InputErrors(faults)
        domain.Stream(
            name=self.name,
            columns=self.columns,
            event_time=self.event_time,
            lateness=timedelta(milliseconds=self.lateness_ms),
            late=self.late,
            parallelism=self.parallelism,
            tuples_per_second=self.tuples_per_second,
            source=self.source,
            max_ahead=timedelta(milliseconds=self.max_ahead_ms),
            kind=self.kind,
            key=self.key,
            deleted=self.deleted,
        )

    def _table_faults(self, stream: str) -> list[InputError]:
        lateness = timedelta(milliseconds=self.lateness_ms)
        try:
            domain.check_table(
                self.kind, self.key, self.deleted, self.columns, self.event_time, lateness, self.late
            )
        except BadSetting as error:
            path = "lateness_ms" if error.key == "lateness" else error.key
            place = Place(stream, path=path)
            return [InputError("bad-table", place, error.found, error.expected, error.hint)]
        return []

    def _source_faults(self, stream: str) -> list[InputError]:
        faults = []
        parts = {} if self.source is None else self.source.parts()
        for name, part in parts.items():
            missing = part.missing()
            if missing is not None:
                faults.append(InputError(f"no-{name}", Place(stream, path=name), part.place, missing))
            try:
                check_columns(part, self.columns)
            except BadSetting as error:
                faults.append(_source_fault(stream, name, error))
        return faults


def _source_fault(stream: str, connector: str, error: BadSetting) -> InputError:
    place = Place(stream, path=f"{connector}.{error.key}")
    return InputError(f"bad-{error.key}", place, error.found, error.expected, error.hint)


def check_stream(account: User, spec: StreamSpec, record: Stream | None = None) -> None:
    """Check a description, and whether a new source, as it is now, can be read so.

    In no transaction: a folder or a registry may be slow to answer.

    Args:
        account: asks.
        spec: the stream as it is to be.
        record: the stream as it is; None for a new one.
    Raises:
        InputErrors: something is wrong with it.
        Unavailable: its source does not answer.
        TooManyAtOnce, Busy, TooMuchWork: see `Pool.run`.
    """
    spec.check()
    if record is not None and StreamSpec.of(record).source == spec.source:
        return
    parts = {} if spec.source is None else spec.source.parts()
    for connector, part in parts.items():
        try:
            ask(calling(account), part.look, spec.columns)
        except BadSetting as error:
            raise InputErrors([_source_fault(f"stream {spec.name}", connector, error)]) from error
        except OutOfTime as error:
            raise Unavailable(
                "source-away", f"{part.place} does not answer within {ASKING_SECONDS:g} s"
            ) from error


_PLAIN = (
    "description",
    "event_time",
    "lateness_ms",
    "max_ahead_ms",
    "late",
    "kind",
    "key",
    "deleted",
    "parallelism",
    "tuples_per_second",
)
"""What a description and its record call alike and keep alike."""


def _plain(described: StreamSpec | Stream) -> dict[str, Any]:
    return {name: getattr(described, name) for name in _PLAIN}


def _described(spec: StreamSpec) -> dict[str, object]:
    """A description as the audit trail compares it."""
    source = None if spec.source is None else document_of(spec.source)
    columns = {name: kind.value for name, kind in spec.columns}
    return {"columns": columns, **_plain(spec), "key": list(spec.key), "source": source}


def create_stream(owner: User, spec: StreamSpec, team: str | None = None) -> Stream:
    """Register a stream, which a team's authors may change too.

    Raises `InputErrors`, `Unavailable` while its source does not answer, or `Conflict` when a stream or query
    has the name.
    """
    refuse_viewers(owner, "register streams")
    check_stream(owner, spec)
    return store_stream(owner, spec, team)


def store_stream(owner: User, spec: StreamSpec, team: str | None = None) -> Stream:
    """As `create_stream`, for a description that was checked."""
    refuse_viewers(owner, "register streams")
    name_wanted.send(sender=Stream, name=spec.name, account=owner)
    try:
        with transaction.atomic():
            claim(owner, Resource.STREAMS)
            given = None if team is None else team_to_give(owner, team)
            record = Stream.objects.create(name=spec.name, owner=owner, team=given, **_plain(spec))
            _write_columns(record, spec)
            _write_source(record, spec.source)
            changes = changed(_described(StreamSpec("", (), "")), _described(spec))
            note(owner, "create", Subject.of("stream", record), changes=changes)
    except IntegrityError as error:
        raise Conflict("name-taken", f"there is a stream {spec.name} already") from error
    return record


def change_stream(account: User, record: Stream, spec: StreamSpec) -> Stream:
    """Make the stream as `spec` says; its columns only while no query reads it.

    Raises `InputErrors`, `Unavailable` while a new source does not answer, or `Conflict`.
    """
    refuse_others(account, record)
    check_stream(account, spec, record)
    return store_change(account, record, spec)


def store_change(account: User, record: Stream, spec: StreamSpec) -> Stream:
    """As `change_stream`, for a description that was checked."""
    refuse_others(account, record)
    present = StreamSpec.of(record)
    with transaction.atomic():
        if (spec.columns, spec.event_time) != (present.columns, present.event_time):
            _refuse_if_used(account, record, "its columns cannot change")
            record.columns.all().delete()
            _write_columns(record, spec)
        if (spec.kind, spec.key, spec.deleted) != (present.kind, present.key, present.deleted):
            _refuse_if_used(account, record, "whether it is a table, and of what, cannot change")
        for name, value in _plain(spec).items():
            setattr(record, name, value)
        if spec.source != present.source:
            _refuse_if_used(account, record, "where its tuples come from cannot change")
            _write_source(record, spec.source)
        record.save()
        if changes := changed(_described(present), _described(spec)):
            note(account, "change", Subject.of("stream", record), changes=changes)
    return record


def give_stream(account: User, record: Stream, team: str | None) -> None:
    """Let a team's authors change the stream too; None takes it from its team.

    Raises `Forbidden` unless the account may change the stream and is in the team, or operates.
    """
    refuse_others(account, record)
    before = None if record.team is None else record.team.name
    with transaction.atomic():
        record.team = None if team is None else team_to_give(account, team)
        record.save(update_fields=["team", "updated_at"])
        if changes := changed({"team": before}, {"team": team}):
            note(account, "give", Subject.of("stream", record), changes=changes)


def team_to_give(account: User, name: str) -> Team:
    """The team of this name, if the account may hand something to it."""
    team = Team.objects.filter(name=name).first()
    if team is None or not reads_team(account, team, account.pk):
        raise Conflict("no-such-team", f"there is no team {name}")
    if not is_operator(account) and name not in teams_of(account):
        raise Forbidden("not-your-team", f"{account.get_username()} is not in {name}")
    return team


def delete_stream(account: User, record: Stream) -> None:
    """Forget a stream that no query reads, and drop what lies in Redis for it."""
    refuse_others(account, record)
    name = record.name
    with transaction.atomic():
        _refuse_if_used(account, record, "it cannot be deleted")
        note(account, "delete", Subject.of("stream", record))
        record.delete()
        transaction.on_commit(lambda: _forget(name))


def _forget(name: str) -> None:
    """Delete a stream's tuples from Redis."""
    connection().delete(stream_key(name))


def _refuse_if_used(account: User, record: Stream, consequence: str) -> None:
    readers = sorted(set(record.readers.values_list("version__query__name", flat=True)))
    if readers:
        raise Conflict("stream-in-use", f"{told(account, readers)} read {record.name}: {consequence}")


def _write_columns(record: Stream, spec: StreamSpec) -> None:
    StreamColumn.objects.bulk_create(
        StreamColumn(stream=record, position=position, name=name, type=kind.value)
        for position, (name, kind) in enumerate(spec.columns)
    )


def _write_source(record: Stream, source: SourceSettings | None) -> None:
    StreamSource.objects.filter(stream=record).delete()
    if source is not None:
        documents = document_of(source)
        settings = documents.pop(source.connector)
        StreamSource.objects.create(
            stream=record, connector=source.connector, settings=settings, then=documents
        )


def refuse_connected(stream: domain.Stream) -> None:
    """Raise `Conflict` if what is sent to the stream here would not be read."""
    if stream.source is not None and not stream.source.takes_tuples:
        text = f"{stream.name} is read from {stream.source.place}: send tuples there"
        raise Conflict("topic-stream", text)


def ingest(
    account: User, record: Stream, events: Sequence[object], single: bool, now: datetime
) -> str | None:
    """Append the events to the stream, all or none.

    Returns the last Redis id, None without events.

    The stream's oldest entries go when there are more than MILLRACE_STREAM_ENTRIES: a topology reads
    within seconds, and Redis' memory is bounded.

    Raises `Forbidden` for an account that may not write to the stream, and `InputError` whose path names
    the event (its index unless `single`) and the column.
    """
    refuse_viewers(account, "ingest")
    refuse_others(account, record)
    stream = to_domain(record)
    refuse_connected(stream)
    rows = []
    for index, event in enumerate(events):
        path = "" if single else str(index)
        rows.append(normalize(event, stream, path))
        refuse_ahead(rows[-1], stream, now, path)
    if not rows:
        return None
    pipeline = connection().pipeline(transaction=True)
    key, kept = stream_key(stream.name), int(settings.MILLRACE_STREAM_ENTRIES)
    for row in rows:
        text = json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        pipeline.xadd(key, {"json": text}, maxlen=kept, approximate=True)
    return cast(str, pipeline.execute()[-1])
