"""Writing the audit trail, and deleting what is older than is kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Count

from backend.audit.changes import Changes
from backend.audit.models import AuditEntry
from backend.audit.origin import origin

MOST_PER_ACCOUNT = 100_000
"""Nobody fills the database by changing something a thousand times an hour, or drives out what others did."""


class _Team(Protocol):
    @property
    def name(self) -> str: ...


class _OfTeam(Protocol):
    """A record with a name that a team may have."""

    @property
    def pk(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def team(self) -> _Team | None: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """What is changed.

    >>> Subject("topology", "flights").kind
    'topology'
    """

    kind: str
    name: str
    key: object = ""
    """Its primary key."""
    team: str = ""
    """The name of the team that has it."""

    @staticmethod
    def of(kind: str, record: _OfTeam) -> Subject:
        """A stream, a query or another record that a team may have."""
        return Subject(kind, record.name, record.pk, "" if record.team is None else record.team.name)


def record(
    account: User | AnonymousUser | None,
    verb: str,
    subject: Subject,
    *,
    topology: str = "",
    detail: str = "",
    changes: Changes | None = None,
) -> None:
    """Write an entry, in the transaction of the change.

    Without the one there is not the other.

    Args:
        account: who changes it; None for whom the request is of, or the product itself.
        verb: what is done.
        topology: the name of the one that it concerns.
        detail: one line, without secrets.
        changes: what `backend.audit.changes.changed` finds.
    """
    found = origin()
    who = found.account if account is None else account
    known = who if who is not None and who.pk is not None else None
    AuditEntry.objects.create(
        account_id=None if known is None else known.pk,
        account_name="" if known is None else str(known),
        through=found.through,
        through_name=found.name[:255],
        kind=subject.kind[:63],
        name=subject.name[:255],
        key=str(subject.key)[:63],
        team=subject.team,
        topology=topology,
        verb=verb,
        detail=detail,
        changes=changes or {},
    )


def prune(now: datetime) -> None:
    """Delete what is older than MILLRACE_AUDIT_DAYS, or beyond MOST_PER_ACCOUNT.

    With 0 days nothing is too old."""
    if settings.MILLRACE_AUDIT_DAYS:
        oldest = now - timedelta(days=settings.MILLRACE_AUDIT_DAYS)
        AuditEntry.objects.filter(at__lt=oldest).delete()
    by_account = AuditEntry.objects.order_by().values("account_name").annotate(number=Count("pk"))
    for name in by_account.filter(number__gt=MOST_PER_ACCOUNT).values_list("account_name", flat=True):
        mine = AuditEntry.objects.filter(account_name=name)
        mine.filter(pk__lte=mine.values_list("pk", flat=True)[MOST_PER_ACCOUNT]).delete()
