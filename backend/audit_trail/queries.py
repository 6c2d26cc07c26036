"""Finding entries of the audit trail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from backend.audit.models import AuditEntry


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an admin looks for; what is empty is not asked for."""

    who: str = ""
    """An account's name at that time."""
    through: str = ""
    kind: str = ""
    verb: str = ""
    team: str = ""
    topology: str = ""
    text: str = ""
    """Anywhere in names, details and changes."""
    since: datetime | None = None
    """Inclusive."""
    until: datetime | None = None
    """Exclusive."""


@dataclass(frozen=True, slots=True)
class Page:
    entries: list[AuditEntry]
    """Newest first."""
    next: int | None
    """Before which entry the next page begins; None behind the oldest."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What stands in the trail, to narrow it by."""

    kinds: list[str]
    verbs: list[str]


def page(wanted: Wanted, before: int | None, limit: int) -> Page:
    """Up to `limit` entries that are older than the entry `before`."""
    found = _entries(wanted)
    if before is not None:
        found = found.filter(pk__lt=before)
    rows = list(found[: limit + 1])
    return Page(rows[:limit], rows[limit - 1].pk if len(rows) > limit else None)


def choices() -> Choices:
    """The kinds and verbs of all entries, by name."""

    def of(field: str) -> list[str]:
        return list(AuditEntry.objects.order_by(field).values_list(field, flat=True).distinct())

    return Choices(of("kind"), of("verb"))


def _entries(wanted: Wanted) -> QuerySet[AuditEntry]:
    found = AuditEntry.objects.select_related("account__service_account")
    exact = {
        "account_name": wanted.who,
        "through": wanted.through,
        "kind": wanted.kind,
        "verb": wanted.verb,
        "team": wanted.team,
        "topology": wanted.topology,
    }
    found = found.filter(**{name: value for name, value in exact.items() if value})
    if wanted.since is not None:
        found = found.filter(at__gte=wanted.since)
    if wanted.until is not None:
        found = found.filter(at__lt=wanted.until)
    for word in wanted.text.split():
        found = found.filter(
            Q(name__icontains=word)
            | Q(detail__icontains=word)
            | Q(through_name__icontains=word)
            | Q(changes__icontains=word)
        )
    return found
