"""Apply a directory: everything that it changes, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from backend.applied.drift import spec_document
from backend.applied.models import AppliedJob, AppliedQuery, AppliedStream
from backend.audit.origin import Through, coming, origin
from backend.bounded.caller import Caller
from backend.catalog.actions import delete_query, describe_query, store_query, store_version
from backend.catalog.language import Draft
from backend.catalog.models import Query, QueryVersion
from backend.deployments.actions import place_version, undeploy_query
from backend.deployments.job_settings import set_job
from backend.errors import Conflict, Forbidden
from backend.streams.actions import StreamSpec, check_stream, delete_stream, store_change, store_stream
from backend.streams.models import Stream
from backend.topologies.models import Topology, TopologyQuery
from backend.topologies.query_search import deployment_of
from backend.workloads.changes import Changes, QueryChange, StreamChange
from backend.workloads.directory import Declared
from backend.workloads.planning import judged, read_files

_TOLD = 5
"""Reasons of a refusal that are told."""


@dataclass(frozen=True, slots=True)
class Awaited:
    """A topology that is planned anew, and the revision to wait for."""

    topology: str
    revision: int


@dataclass(frozen=True, slots=True)
class Applied:
    done: tuple[str, ...]
    """What was done, a line each, in order; nothing if there was nothing to do."""
    awaited: tuple[Awaited, ...]


def apply_directory(
    account: User, caller: Caller, directory: str, files: Mapping[str, str], prune: bool
) -> Applied:
    """Make everything as the directory says, in one transaction.

    A second time it finds nothing to do. Topologies are planned anew behind the commit, in the order of their
    requests, as for any deployment.

    Raises:
        InputErrors: a file is wrong, or a source cannot be read so; nothing was done.
        Unavailable: a source does not answer; nothing was done.
        Forbidden: the account may not do all of it, or a query would cost too much; nothing was done.
        Conflict: somebody changed something meanwhile, or topologies would be too many; nothing was done.
    """
    declared = read_files(account, caller, files)
    before = _state(declared)
    changes, refused = judged(account, caller, directory, declared, prune)
    if refused:
        more = f"; and {len(refused) - _TOLD} more" if len(refused) > _TOLD else ""
        raise Forbidden("not-applied", "; ".join(refused[:_TOLD]) + more)
    for stream in changes.streams:
        if stream.spec is not None:
            check_stream(account, stream.spec, stream.record)
    done: list[str] = []
    by = origin()
    with coming(Through.DIRECTORY, f"{directory} ({by.told})", account), transaction.atomic():
        _lock(changes)
        if _state(declared) != before:
            raise Conflict(
                "changed-meanwhile", "somebody changed what this would change; nothing was applied: try again"
            )
        for stream in changes.streams:
            done += _apply_stream(account, stream)
        written: dict[str, QueryVersion] = {}
        for change in changes.queries:
            if change.declared is not None:
                written[change.name] = _write(account, change, declared, written, done)
        topologies: set[str] = set()
        for change in changes.queries:
            topologies |= _deploy(account, change, written, done)
        for change in changes.queries:
            if change.action == "delete" and change.record is not None:
                delete_query(account, Query.objects.get(pk=change.record.pk))
                done.append(f"query {change.name} is deleted")
        for stream in changes.streams:
            if stream.action == "delete" and stream.record is not None:
                delete_stream(account, stream.record)
                done.append(f"stream {stream.name} is deleted")
        _remember(account, directory, declared, written)
        for job in changes.jobs:
            if job.wanted is not None:
                set_job(account, Topology.objects.get(name=job.topology), job.wanted)
                fields = ", ".join(one.field for one in job.differences)
                done.append(f"job of {job.topology} is set, from its next start on: {fields}")
        asked = Topology.objects.filter(name__in=topologies, deployed__isnull=False).distinct()
        awaited = tuple(Awaited(one.name, one.revision) for one in asked.order_by("name"))
    return Applied(tuple(done), awaited)


def _state(declared: Declared) -> tuple[object, ...]:
    """What was compared with the directory, to see whether it is still so."""
    names = [one.name for one in declared.queries]
    queries = Query.objects.filter(name__in=names).order_by("name")
    streams = Stream.objects.filter(name__in=[one.stream.name for one in declared.streams]).order_by("name")
    deployed = TopologyQuery.objects.filter(query__name__in=names).order_by("query__name")
    jobs = Topology.objects.filter(name__in=[one.topology for one in declared.jobs]).order_by("name")
    return (
        tuple(queries.values_list("name", "current_id", "updated_at")),
        tuple(streams.values_list("name", "updated_at")),
        tuple(deployed.values_list("query__name", "version_id", "topology__name")),
        tuple(jobs.values_list("name", "job")),
    )


def _lock(changes: Changes) -> None:
    """Let of several that apply at once each wait for the one before it."""
    keys = [one.record.pk for one in changes.queries if one.record is not None]
    list(Query.objects.select_for_update(of=("self",)).filter(pk__in=keys).order_by("pk").values_list("pk"))


def _apply_stream(account: User, change: StreamChange) -> Iterable[str]:
    if change.action == "create" and change.spec is not None:
        store_stream(account, change.spec)
        return [f"stream {change.name} is registered"]
    if change.action == "change" and change.spec is not None and change.record is not None:
        store_change(account, change.record, change.spec)
        fields = ", ".join(one.field for one in change.differences)
        return [f"stream {change.name} is changed: {fields}"]
    return []


def _write(
    account: User,
    change: QueryChange,
    declared: Declared,
    written: Mapping[str, QueryVersion],
    done: list[str],
) -> QueryVersion:
    """The version that the query has from now on."""
    one, record = change.declared, change.record
    assert one is not None
    said = one.settings
    if change.target is not None and record is not None:
        _redescribe(account, change, record)
        return change.target
    reads = tuple(written[name] if name in written else _current(name) for name in one.reads)
    draft = Draft(one.query, (), reads, declared.catalog, ())
    if record is None:
        made = store_query(account, one.name, one.sql, draft, said.description or "", said.tags or ())
        done.append(f"query {one.name} is created")
        assert made.current is not None
        return made.current
    _redescribe(account, change, record)
    version = store_version(account, record, one.sql, draft)
    done.append(f"query {one.name} has v{version.number}")
    return version


def _redescribe(account: User, change: QueryChange, record: Query) -> None:
    assert change.declared is not None
    said = change.declared.settings
    if change.action == "change" and (said.description is not None or said.tags is not None):
        describe_query(account, record, said.description, said.tags)


def _current(name: str) -> QueryVersion:
    version = Query.objects.select_related("current").get(name=name).current
    assert version is not None
    return version


def _deploy(
    account: User, change: QueryChange, written: Mapping[str, QueryVersion], done: list[str]
) -> set[str]:
    """Have the query answered where it is to be; the topologies that are asked."""
    if change.action == "keep":
        return set()
    asked: set[str] = set()
    leaves = change.topology_before is not None and change.topology_before != change.topology_after
    record = Query.objects.get(name=change.name)
    if leaves:
        asked.add(undeploy_query(account, record).topology)
        done.append(f"{change.topology_before} no longer answers {change.name}")
        record = Query.objects.get(pk=record.pk)
    if change.redeploys and change.topology_after is not None:
        version = written[change.name]
        placed = place_version(account, record, version, change.topology_after)
        asked.add(placed.topology)
        done.append(f"{placed.topology} answers {change.name} v{version.number}")
    return asked


def _remember(account: User, directory: str, declared: Declared, written: Mapping[str, QueryVersion]) -> None:
    """Keep what was applied, for drift and for pruning."""
    applied = {"directory": directory, "by": account, "at": timezone.now()}
    records = Query.objects.filter(name__in=list(written)).select_related("deployment__topology")
    present = {record.name: record for record in records.prefetch_related("tags")}
    for one in declared.queries:
        record = present[one.name]
        deployment = deployment_of(record)
        AppliedQuery.objects.update_or_create(
            query=record,
            defaults={
                **applied,
                "sql": one.sql,
                "version": written[one.name].number,
                "topology": "" if deployment is None else deployment.topology.name,
                "description": record.description,
                "tags": sorted(tag.name for tag in record.tags.all()),
            },
        )
    for stream in Stream.objects.filter(name__in=[one.stream.name for one in declared.streams]):
        AppliedStream.objects.update_or_create(
            stream=stream, defaults={**applied, "description": spec_document(StreamSpec.of(stream))}
        )
    said = {one.topology: one.said for one in declared.jobs}
    # A job that the directory no longer speaks of stays as it is, and cannot drift.
    AppliedJob.objects.filter(directory=directory).exclude(topology__name__in=list(said)).delete()
    for topology in Topology.objects.filter(name__in=list(said)):
        AppliedJob.objects.update_or_create(
            topology=topology, defaults={**applied, "said": dict(said[topology.name])}
        )
