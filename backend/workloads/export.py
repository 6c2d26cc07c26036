"""Write what runs as a directory's files."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import yaml
from django.contrib.auth.models import AnonymousUser, User

from backend.catalog.models import Query, QueryVersion
from backend.catalog.queries import readable_queries
from backend.streams.models import DAY_MS, Stream
from backend.streams.queries import to_domain
from backend.topologies.models import Topology
from backend.topologies.query_search import deployment_of
from backend.topologies.sight import sight_of
from backend.workloads.directory import STREAMS
from backend.workloads.job_files import FOLDER, job_text
from optimizer.logical.durations import duration_text
from optimizer.logical.source import document_of, settings_schema
from optimizer.workload.query_settings import QuerySettings

_MICROSECOND = timedelta(microseconds=1)


def files_of_what_runs(account: User | AnonymousUser, topology: str | None = None) -> dict[str, str]:
    """What runs and the account reads, as a directory: texts by path.

    Deployed queries, what they read as views, their streams, and how the jobs work that answer them.

    Args:
        topology: only its queries; those of all topologies if it is None.
    """
    deployed = (
        readable_queries(account)
        .filter(deployment__isnull=False)
        .select_related("deployment__topology", "deployment__version")
    )
    if topology is not None:
        deployed = deployed.filter(deployment__topology__name=topology)
    versions: dict[str, tuple[Query, QueryVersion]] = {}
    for record in deployed.prefetch_related("tags").order_by("name"):
        one = deployment_of(record)
        assert one is not None
        versions[record.name] = (record, one.version)
    _add_views(versions)
    files: dict[str, str] = {}
    names: set[str] = set()
    for name, (record, version) in sorted(versions.items()):
        files[f"queries/{name}.sql"] = version.sql
        files[f"queries/{name}.yaml"] = _settings(record).to_yaml()
        names |= set(version.inputs.values_list("stream__name", flat=True))
    if names:
        records = Stream.objects.filter(name__in=names).select_related("source").prefetch_related("columns")
        files[STREAMS] = streams_text(records)
    answering = Topology.objects.filter(deployed__query__name__in=list(versions)).distinct()
    for found in answering:
        text = job_text(found.job_settings)
        if text and sight_of(account, found).is_whole:
            files[f"{FOLDER}/{found.name}.yaml"] = text
    return files


def _add_views(versions: dict[str, tuple[Query, QueryVersion]]) -> None:
    """Add views that nothing answers, in the newest version that is read."""
    pending = [version for _, version in versions.values()]
    found: dict[str, tuple[Query, QueryVersion]] = {}
    while pending:
        for view in pending.pop().reads.select_related("query"):
            known = found.get(view.query.name)
            if view.query.name not in versions and (known is None or known[1].number < view.number):
                found[view.query.name] = (view.query, view)
                pending.append(view)
    versions.update(found)


def _settings(record: Query) -> QuerySettings:
    deployment = deployment_of(record)
    return QuerySettings(
        topology=None if deployment is None else deployment.topology.name,
        description=record.description or None,
        tags=tuple(sorted(tag.name for tag in record.tags.all())) or None,
        deploy=deployment is not None,
    )


def streams_text(records: Iterable[Stream]) -> str:
    """A streams.yaml with these streams, by name."""
    streams = {record.name: _stream(record) for record in sorted(records, key=lambda record: record.name)}
    text: str = yaml.dump(
        {"streams": streams}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110
    )
    return text


def _stream(record: Stream) -> dict[str, Any]:
    """What differs from the defaults, and what has none."""
    stream = to_domain(record)
    document: dict[str, Any] = {}
    if record.description:
        document["description"] = record.description
    document["event_time"] = stream.event_time
    if stream.is_table:
        document |= {"kind": stream.kind, "key": list(stream.key)}
        if stream.deleted is not None:
            document["deleted"] = stream.deleted
    if record.lateness_ms:
        document["lateness"] = _duration(stream.lateness)
    if stream.late != "drop":
        document["late"] = stream.late
    if record.max_ahead_ms != DAY_MS and stream.max_ahead is not None:
        document["max_ahead"] = _duration(stream.max_ahead)
    if stream.parallelism is not None:
        document["parallelism"] = stream.parallelism
    if stream.tuples_per_second is not None:
        document["rate"] = stream.tuples_per_second
    given = {} if stream.source is None else document_of(stream.source)
    for connector, settings in given.items():
        fields = settings_schema(connector)["properties"]
        document[connector] = {
            name: value for name, value in settings.items() if value != fields[name].get("default")
        }
    document["columns"] = {name: kind.value for name, kind in stream.columns}
    return document


def _duration(length: timedelta) -> str:
    return duration_text(length // _MICROSECOND).lower()


class _Dumper(yaml.SafeDumper):
    """Keeps texts of several lines as such."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
