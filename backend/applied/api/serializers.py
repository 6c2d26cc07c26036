from __future__ import annotations

from rest_framework import serializers

from backend.accounts.queries import is_service
from backend.applied.drift import applied_job_of, applied_of, drift_of, drift_of_job
from backend.applied.models import AppliedJob, AppliedQuery
from backend.catalog.models import Query
from backend.http.documents import Document
from backend.topologies.models import Topology, TopologyQuery


class AppliedQuerySerializer(Document):
    """That a directory last wanted the query so, and what differs since."""

    directory = serializers.CharField()
    by = serializers.CharField(allow_null=True)
    by_is_service = serializers.BooleanField()
    at = serializers.DateTimeField()
    drift = serializers.ListField(child=serializers.CharField(), help_text="Empty if it is as applied.")


class AppliedJobSerializer(AppliedQuerySerializer):
    """That a directory last wanted the job's settings so, and what differs since."""


def applied(record: Query, deployment: TopologyQuery | None) -> dict[str, object] | None:
    """Null for a query that no directory has."""
    found = applied_of(record)
    return None if found is None else _document(found, drift_of(record, deployment))


def applied_job(record: Topology) -> dict[str, object] | None:
    """Null for a topology whose job no directory speaks of."""
    found = applied_job_of(record)
    return None if found is None else _document(found, drift_of_job(record))


def _document(found: AppliedQuery | AppliedJob, drift: tuple[str, ...]) -> dict[str, object]:
    return {
        "directory": found.directory,
        "by": None if found.by is None else found.by.get_username(),
        "by_is_service": found.by is not None and is_service(found.by),
        "at": found.at,
        "drift": drift,
    }
