"""How what runs differs from what was last applied from a directory."""

from __future__ import annotations

from typing import Any, cast

from backend.applied.models import AppliedJob, AppliedQuery, AppliedStream
from backend.catalog.models import Query
from backend.streams.actions import StreamSpec
from backend.streams.models import Stream
from backend.topologies.models import Topology, TopologyQuery
from optimizer.logical.source import document_of


def applied_of(record: Query) -> AppliedQuery | None:
    """What a directory last wanted of the query; None if none ever did."""
    return cast("AppliedQuery | None", getattr(record, "applied", None))


def drift_of(record: Query, deployment: TopologyQuery | None) -> tuple[str, ...]:
    """What differs from what was applied, a line each; nothing if that never was."""
    applied = applied_of(record)
    if applied is None:
        return ()
    found = []
    if deployment is None:
        if applied.topology:
            found.append(f"no topology answers it; {applied.topology} was to")
    else:
        if not applied.topology:
            found.append(f"{deployment.topology.name} answers it; none was to")
        elif deployment.topology.name != applied.topology:
            found.append(f"{deployment.topology.name} answers it; {applied.topology} was to")
        if deployment.version.number != applied.version:
            found.append(f"v{deployment.version.number} is deployed; v{applied.version} was applied")
    if record.description != applied.description:
        found.append("its description was changed")
    if sorted(tag.name for tag in record.tags.all()) != applied.tags:
        found.append("its tags were changed")
    return tuple(found)


def spec_document(spec: StreamSpec) -> dict[str, Any]:
    """What a directory says of a stream, as JSON."""
    return {
        "columns": [[name, kind.value] for name, kind in spec.columns],
        "event_time": spec.event_time,
        "lateness_ms": spec.lateness_ms,
        "max_ahead_ms": spec.max_ahead_ms,
        "late": spec.late,
        "kind": spec.kind,
        "key": list(spec.key),
        "deleted": spec.deleted,
        "parallelism": spec.parallelism,
        "tuples_per_second": spec.tuples_per_second,
        "source": None if spec.source is None else document_of(spec.source),
        "description": spec.description,
    }


def drift_of_stream(record: Stream, applied: AppliedStream | None) -> tuple[str, ...]:
    """The fields that differ from what was applied; nothing if that never was."""
    if applied is None:
        return ()
    present = spec_document(StreamSpec.of(record))
    return tuple(f"{name} was changed" for name in present if present[name] != applied.description.get(name))


def applied_job_of(record: Topology) -> AppliedJob | None:
    """What a directory last wanted of a topology's job; None if none ever did."""
    return cast("AppliedJob | None", getattr(record, "applied", None))


def drift_of_job(record: Topology) -> tuple[str, ...]:
    """The settings that differ from what was applied; nothing if none ever was."""
    applied = applied_job_of(record)
    if applied is None:
        return ()
    present = record.job_settings.document()
    return tuple(f"{name} was changed" for name, said in applied.said.items() if present.get(name) != said)
