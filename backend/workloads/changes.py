"""What a directory would change: each stream and query beside what is registered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from django.conf import settings
from django.contrib.auth.models import User

from backend.accounts.queries import may_edit, may_write
from backend.accounts.reading import told
from backend.applied.drift import drift_of, drift_of_stream, spec_document
from backend.applied.models import AppliedQuery, AppliedStream
from backend.catalog.models import Query, QueryVersion
from backend.catalog.queries import readable_queries
from backend.streams.actions import StreamSpec
from backend.streams.models import DAY_MS, Stream
from backend.streams.queries import streams as streams_read
from backend.topologies.models import QueryPin, TopologyQuery
from backend.topologies.query_search import deployment_of
from backend.workloads.differences import Difference
from backend.workloads.directory import Declared, DeclaredQuery, DeclaredStream
from backend.workloads.job_changes import JobChange, job_change
from optimizer.planner.topology_assignment import assign

Action = Literal["create", "change", "delete", "keep"]
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(slots=True)
class StreamChange:
    name: str
    action: Action
    differences: tuple[Difference, ...] = ()
    refused: str | None = None
    """Why it cannot be applied; None if it can."""
    drift: tuple[str, ...] = ()
    record: Stream | None = None
    spec: StreamSpec | None = None
    """As it is to be; None for one that goes, or stays."""


@dataclass(slots=True)
class QueryChange:
    name: str
    action: Action
    declared: DeclaredQuery | None = None
    """None for one that goes."""
    record: Query | None = None
    target: QueryVersion | None = None
    """The version that it is to have; None for one to be written, or one that goes."""
    what: list[str] = field(default_factory=list)
    """What is done, a phrase each."""
    before: QueryVersion | None = None
    """What is answered, or else the newest version."""
    topology_before: str | None = None
    topology_after: str | None = None
    refused: str | None = None
    drift: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """True if a version is written."""
        return self.declared is not None and self.target is None

    @property
    def redeploys(self) -> bool:
        """True if a topology is asked for it anew."""
        if self.topology_after is None:
            return False
        deployed = None if self.record is None else deployment_of(self.record)
        return (
            self.writes
            or deployed is None
            or self.topology_before != self.topology_after
            or (self.target is not None and deployed.version_id != self.target.pk)
        )


@dataclass(frozen=True, slots=True)
class Changes:
    streams: tuple[StreamChange, ...]
    queries: tuple[QueryChange, ...]
    """Those that others read come first; those that go come last."""
    jobs: tuple[JobChange, ...]
    left: tuple[str, ...]
    """What was applied from the directory, is no longer in it, and stays."""

    @property
    def is_empty(self) -> bool:
        return all(one.action == "keep" for one in self._all)

    @property
    def _all(self) -> tuple[StreamChange | QueryChange | JobChange, ...]:
        return (*self.streams, *self.queries, *self.jobs)

    @property
    def refused(self) -> tuple[str, ...]:
        told = (one.refused for one in self._all)
        return tuple(one for one in told if one is not None)


def find_changes(account: User, directory: str, declared: Declared, prune: bool) -> Changes:
    """Compare what a directory says with what there is; nothing is written.

    Args:
        account: who would apply it.
        directory: by its name; what was applied from it before is known by that.
        prune: whether what is no longer in it goes.
    """
    streams = [_stream_change(account, one) for one in declared.streams]
    queries = _query_changes(account, declared)
    coming = {one.topology_after for one in queries if one.topology_after is not None}
    jobs = [job_change(account, one, coming) for one in declared.jobs]
    gone_queries, gone_streams = _gone(account, directory, declared)
    left: list[str] = []
    if prune:
        queries += [_removed_query(account, record, declared) for record in gone_queries]
        streams += [_removed_stream(account, record, gone_queries) for record in gone_streams]
    else:
        left += [f"query {record.name}" for record in gone_queries]
        left += [f"stream {record.name}" for record in gone_streams]
    return Changes(tuple(streams), tuple(queries), tuple(jobs), tuple(left))


def _stream_change(account: User, one: DeclaredStream) -> StreamChange:
    stream = one.stream
    record = streams_read(account).filter(name=stream.name).first()
    spec = StreamSpec(
        name=stream.name,
        columns=stream.columns,
        event_time=stream.event_time,
        description=(record.description if record is not None else "")
        if one.description is None
        else one.description.strip(),
        lateness_ms=stream.lateness // _MILLISECOND,
        late=stream.late,
        parallelism=stream.parallelism,
        tuples_per_second=stream.tuples_per_second,
        source=stream.source,
        max_ahead_ms=DAY_MS if stream.max_ahead is None else stream.max_ahead // _MILLISECOND,
        kind=stream.kind,
        key=stream.key,
        deleted=stream.deleted,
    )
    wanted = spec_document(spec)
    if record is None:
        refused = None
        if not may_write(account):
            refused = f"{account.get_username()} is a viewer and may not register streams"
        elif Query.objects.filter(name=stream.name).exists():
            refused = f"a query is called {stream.name}; streams and queries share their names"
        elif Stream.objects.filter(name=stream.name).exists():
            refused = f"the name {stream.name} is taken"
        differences = tuple(
            Difference(name, None, value) for name, value in wanted.items() if value not in (None, "", [])
        )
        return StreamChange(stream.name, "create", differences, refused, (), None, spec)
    present = spec_document(StreamSpec.of(record))
    differences = tuple(
        Difference(name, present[name], wanted[name]) for name in wanted if present[name] != wanted[name]
    )
    drift = drift_of_stream(record, AppliedStream.objects.filter(stream=record).first())
    if not differences:
        return StreamChange(stream.name, "keep", (), None, drift, record)
    changed = {one.field for one in differences}
    refused = None
    if not may_edit(account, record.owner_id, record.team_id):
        refused = f"{record.owner} owns {record.name}; only its owner, its team or an operator changes it"
    elif changed & {"columns", "event_time", "kind", "key", "deleted", "source"}:
        readers = sorted(set(record.readers.values_list("version__query__name", flat=True)))
        if readers:
            refused = (
                f"{told(account, readers)} read {record.name}: its columns, event time, source and key "
                "cannot change; register another stream"
            )
    return StreamChange(stream.name, "change", differences, refused, drift, record, spec)


def _query_changes(account: User, declared: Declared) -> list[QueryChange]:
    names = [one.name for one in declared.queries]
    related = (
        *("owner__service_account", "team", "current"),
        *("deployment__version", "deployment__topology", "applied__by__service_account"),
    )
    records = {
        record.name: record
        for record in readable_queries(account)
        .filter(name__in=names)
        .select_related(*related)
        .prefetch_related("tags", "current__reads", "deployment__version__reads")
    }
    changes: dict[str, QueryChange] = {}
    for one in declared.queries:
        changes[one.name] = _versioned(account, one, records.get(one.name), changes)
    _place(changes.values())
    for change in changes.values():
        _describe(change)
    return list(changes.values())


def _versioned(
    account: User, one: DeclaredQuery, record: Query | None, before: Mapping[str, QueryChange]
) -> QueryChange:
    """Which version a query is to have, and whether the account may see to it."""
    if record is None:
        refused = None
        if not may_write(account):
            refused = f"{account.get_username()} is a viewer and may not write queries"
        elif Query.objects.filter(name=one.name).exists():
            refused = f"the name {one.name} is taken"
        return QueryChange(one.name, "create", one, what=["is created"], refused=refused)
    deployed = deployment_of(record)
    candidates = [] if deployed is None else [deployed.version]
    candidates += [] if record.current is None or record.current in candidates else [record.current]
    if deployed is None:
        # What others read may be an earlier version than somebody's newest draft.
        candidates += [v for v in record.versions.prefetch_related("reads") if v not in candidates]
    target = next((v for v in candidates if v.sql == one.sql and not _stale(v, one, before)), None)
    change = QueryChange(
        one.name,
        "keep",
        one,
        record,
        target,
        before=candidates[0] if candidates else None,
        topology_before=None if deployed is None else deployed.topology.name,
        drift=drift_of(record, deployed),
    )
    if target is None:
        same = change.before is not None and change.before.sql == one.sql
        views = [read for read in one.reads if read in before and before[read].writes]
        anew = f"reads {', '.join(views)} anew" if views else "reads other versions of its views"
        change.what.append(anew if same else "has another text")
    return change


def _stale(version: QueryVersion, one: DeclaredQuery, before: Mapping[str, QueryChange]) -> bool:
    """Whether a version reads another version of a view than the directory wants."""
    pinned = {view.query_id: view.pk for view in version.reads.all()}
    for read in one.reads:
        change = before.get(read)
        if change is None:
            continue
        if change.target is None or change.record is None:
            return True
        if pinned.get(change.record.pk) != change.target.pk:
            return True
    return False


def _place(changes: Iterable[QueryChange]) -> None:
    """Decide which topology is to answer each query."""
    wanting = [change for change in changes if change.declared is not None]
    pins = dict(QueryPin.objects.values_list("query__name", "topology"))
    streams: dict[str, set[str]] = {}
    running: dict[str, str] = {}
    rows = TopologyQuery.objects.values_list("query__name", "topology__name", "version__inputs__stream__name")
    for name, topology, stream in rows:
        running[name] = topology
        streams.setdefault(name, set()).add(stream)
    for change in wanting:
        assert change.declared is not None
        said = change.declared.settings
        if not said.deploy:
            running.pop(change.name, None)
            streams.pop(change.name, None)
            continue
        streams[change.name] = {source.stream for source in change.declared.query.inputs}
        pin = pins.get(change.name)
        if pin is not None and said.topology not in (None, pin):
            change.refused = (
                f"an operator pinned {change.name} to {pin}; say so in queries/{change.name}.yaml"
            )
        if said.topology is not None:
            running[change.name] = said.topology
    read = {name: frozenset(found) for name, found in streams.items()}
    placed = assign(
        read,
        {name: topology for name, topology in running.items() if name in read},
        {name: topology for name, topology in pins.items() if name in read},
        int(settings.MILLRACE_MOST_QUERIES),
    )
    for change in wanting:
        change.topology_after = placed.get(change.name)


def _describe(change: QueryChange) -> None:
    declared, record = change.declared, change.record
    assert declared is not None
    said, was, becomes = declared.settings, change.topology_before, change.topology_after
    if was is None and becomes is not None:
        change.what.append(f"goes to {becomes}")
    elif was is not None and becomes is None:
        change.what.append(f"leaves {was}")
    elif was != becomes:
        change.what.append(f"moves from {was} to {becomes}")
    elif change.redeploys and not change.writes and change.target is not None:
        change.what.append(f"goes to v{change.target.number}")
    if record is None:
        return
    if said.description is not None and said.description != record.description:
        change.what.append("has another description")
    if said.tags is not None and list(said.tags) != sorted(tag.name for tag in record.tags.all()):
        change.what.append("has other tags")
    if change.what:
        change.action = "change"


def refuse_foreign(account: User, changes: Changes) -> None:
    """Mark the changes of queries that the account may not change."""
    for change in changes.queries:
        record = change.record
        if change.action == "keep" or record is None or change.refused is not None:
            continue
        if not may_edit(account, record.owner_id, record.team_id):
            change.refused = (
                f"{record.owner} owns {record.name}; only its owner, its team or an operator changes it"
            )


def _gone(account: User, directory: str, declared: Declared) -> tuple[list[Query], list[Stream]]:
    """What was last applied from the directory and is no longer in it."""
    names = {one.name for one in declared.queries}
    related = ("owner", "team", "current", "deployment__version", "deployment__topology")
    queries = [
        record
        for record in readable_queries(account).filter(applied__directory=directory).select_related(*related)
        if record.name not in names
    ]
    kept = {one.stream.name for one in declared.streams}
    streams = streams_read(account).filter(applied__directory=directory)
    return _readers_first(queries), [record for record in streams if record.name not in kept]


def _readers_first(records: Sequence[Query]) -> list[Query]:
    """Queries in an order in which none is deleted before those that read it."""
    newest = {record.pk: record.current_id or 0 for record in records}
    return sorted(records, key=lambda record: -newest[record.pk])


def _removed_query(account: User, record: Query, declared: Declared) -> QueryChange:
    deployed = deployment_of(record)
    change = QueryChange(
        record.name,
        "delete",
        None,
        record,
        before=record.current if deployed is None else deployed.version,
        topology_before=None if deployed is None else deployed.topology.name,
        drift=drift_of(record, deployed),
    )
    if deployed is not None:
        change.what.append(f"leaves {deployed.topology.name}")
    change.what.append("is deleted with its versions")
    readers = QueryVersion.objects.filter(reads__query=record).exclude(query=record)
    gone = set(
        AppliedQuery.objects.filter(directory=record.applied.directory).values_list("query_id", flat=True)
    )
    kept = {one.name for one in declared.queries}
    names = sorted(
        {reader.query.name for reader in readers.select_related("query")
         if reader.query_id not in gone or reader.query.name in kept}
    )  # fmt: skip
    if names:
        change.refused = (
            f"{told(account, names)} read {record.name}, some in an earlier version: keep it in the directory"
        )
    return change


def _removed_stream(account: User, record: Stream, gone: Sequence[Query]) -> StreamChange:
    change = StreamChange(record.name, "delete", record=record)
    readers = record.readers.exclude(version__query__in=[one.pk for one in gone])
    names = sorted(set(readers.values_list("version__query__name", flat=True)))
    if names:
        change.refused = f"{told(account, names)} read {record.name}: keep it in streams.yaml"
    elif not may_edit(account, record.owner_id, record.team_id):
        change.refused = (
            f"{record.owner} owns {record.name}; only its owner, its team or an operator deletes it"
        )
    return change
