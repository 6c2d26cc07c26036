"""Where accounts are signed in, and where they have to wait."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt
from axes.utils import reset
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max, Sum
from django.utils import timezone

from backend.accounts.queries import refuse_non_admins
from backend.accounts.recording import about
from backend.audit.actions import record


@dataclass(frozen=True, slots=True)
class Lock:
    """An address from which too many passwords of an account were wrong."""

    address: str
    until: datetime


def sessions_of(account: User) -> list[UserSession]:
    """The account's sessions that are not over, the newest first."""
    found: list[UserSession] = UserSession.objects.purge_and_list(account)
    return sorted(found, key=lambda session: session.created_at, reverse=True)


def locks_of(account: User) -> list[Lock]:
    """The addresses from which the account cannot sign in for a while."""
    since = timezone.now() - settings.AXES_COOLOFF_TIME
    attempts = AccessAttempt.objects.filter(username=account.username, attempt_time__gt=since)
    by_address = attempts.order_by("ip_address").values("ip_address")
    summed = by_address.annotate(failures=Sum("failures_since_start"), last=Max("attempt_time"))
    return [
        Lock(str(row["ip_address"]), row["last"] + settings.AXES_COOLOFF_TIME)
        for row in summed
        if row["failures"] >= settings.AXES_FAILURE_LIMIT
    ]


@transaction.atomic
def end_sessions(admin: User, account: User) -> int:
    """Sign the account out everywhere, and return of how many sessions.

    Raises `Forbidden` unless for admins.
    """
    refuse_non_admins(admin, "end other accounts' sessions")
    sessions = sessions_of(account)
    for session in sessions:
        session.end()
    if sessions:
        record(admin, "end sessions", about(account), detail=f"{len(sessions)}")
    return len(sessions)


@transaction.atomic
def unlock(admin: User, account: User) -> None:
    """Let the account try its password again from everywhere.

    Raises `Forbidden` unless for admins.
    """
    refuse_non_admins(admin, "unlock accounts")
    if reset(username=account.username):
        record(admin, "unlock", about(account))
