from __future__ import annotations

from rest_framework import serializers

from backend.accounts.queries import is_service
from backend.applied.drift import applied_of, drift_of
from backend.catalog.models import Query
from backend.http.documents import Document
from backend.topologies.models import TopologyQuery


class AppliedQuerySerializer(Document):
    """That a directory last wanted the query so, and what differs since."""

    directory = serializers.CharField()
    by = serializers.CharField(allow_null=True)
    by_is_service = serializers.BooleanField()
    at = serializers.DateTimeField()
    drift = serializers.ListField(child=serializers.CharField(), help_text="Empty if it is as applied.")


def applied(record: Query, deployment: TopologyQuery | None) -> dict[str, object] | None:
    """Null for a query that no directory has."""
    found = applied_of(record)
    if found is None:
        return None
    return {
        "directory": found.directory,
        "by": None if found.by is None else found.by.get_username(),
        "by_is_service": found.by is not None and is_service(found.by),
        "at": found.at,
        "drift": drift_of(record, deployment),
    }
