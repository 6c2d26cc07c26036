"""Reading the audit trail of one thing."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from backend.audit.models import AuditEntry


def entries_of_topology(name: str, made_at: datetime) -> QuerySet[AuditEntry]:
    """What concerns a topology, newest first; nothing of an earlier one with its name."""
    found = AuditEntry.objects.filter(topology=name, at__gte=made_at)
    return found.select_related("account__service_account")
