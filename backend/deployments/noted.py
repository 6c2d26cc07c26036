"""What is done to a topology, in the audit trail."""

from __future__ import annotations

from django.contrib.auth.models import User

from backend.audit.actions import Subject, record
from backend.audit.changes import Changes
from backend.topologies.models import Topology


def note(account: User, verb: str, topology: Topology, changes: Changes, detail: str = "") -> None:
    """Write an entry, in the transaction of the change."""
    subject = Subject("topology", topology.name, topology.pk)
    record(account, verb, subject, topology=topology.name, detail=detail, changes=changes)
