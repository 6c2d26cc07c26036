"""Making, disabling and deleting service accounts, and giving them tokens.

All of it is admins'. The audit trail has each.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from backend.accounts.actions import in_the_way
from backend.accounts.models import ServiceAccount, Team
from backend.accounts.queries import refuse_non_admins
from backend.accounts.recording import told_by_caller
from backend.audit.actions import Subject, record
from backend.audit.changes import changed
from backend.errors import Conflict
from backend.service_accounts.queries import manage
from backend.streams.models import Stream
from backend.tokens.actions import create_token, revoke_token
from backend.tokens.models import Token


def create_service_account(admin: User, team: Team, name: str) -> ServiceAccount:
    """Give the team an account for a program.

    Raises `Forbidden` unless for admins, and `Conflict` when the name is taken or the team has as many as it
    may (MILLRACE_SERVICE_ACCOUNTS).
    """
    refuse_non_admins(admin, manage(team))
    # Whatever the case: nobody shall take one for another.
    if User.objects.filter(username__iexact=name).exists():
        raise Conflict("name-taken", f"there is an account {name} already")
    try:
        with transaction.atomic():
            # One at a time for a team.
            Team.objects.select_for_update().get(pk=team.pk)
            limit = int(settings.MILLRACE_SERVICE_ACCOUNTS)
            if team.service_accounts.count() >= limit:
                text = (
                    f"{team} has {limit} of {limit} service accounts; delete one (MILLRACE_SERVICE_ACCOUNTS)"
                )
                raise Conflict("too-many-service-accounts", text)
            with told_by_caller():
                # Without a password: none is ever the right one.
                account = User.objects.create_user(name)
                team.members.add(account)
            service = ServiceAccount.objects.create(account=account, team=team)
            record(admin, "create", _about(service))
    except IntegrityError as error:
        raise Conflict("name-taken", f"there is an account {name} already") from error
    return service


@transaction.atomic
def set_enabled(admin: User, service: ServiceAccount, enabled: bool) -> None:
    """Let its tokens count, or not.

    While it is disabled they are worth nothing from the next request on, its open event streams end within a
    second, and all that it owns stays.

    Raises `Forbidden` unless for admins.
    """
    refuse_non_admins(admin, manage(service.team))
    changes = changed({"enabled": service.account.is_active}, {"enabled": enabled})
    service.account.is_active = enabled
    with told_by_caller():
        service.account.save(update_fields=["is_active"])
    if changes:
        record(admin, "enable" if enabled else "disable", _about(service), changes=changes)


@transaction.atomic
def delete_service_account(admin: User, service: ServiceAccount) -> None:
    """Delete the account, with its tokens and alerts.

    Raises `Forbidden` unless for admins, and `Conflict` while it owns streams or queries, or is the author of
    versions: these stay what they are, and say whose.
    """
    refuse_non_admins(admin, manage(service.team))
    try:
        # In a transaction of its own, so that the refusal leaves nothing half deleted.
        with transaction.atomic():
            record(admin, "delete", _about(service))
            with told_by_caller():
                service.account.delete()
    except ProtectedError as error:
        owned = in_the_way(error)
        text = f"{service.account} owns or wrote {owned}; hand over or delete what it owns, or disable it"
        raise Conflict("owns-something", text) from error


@transaction.atomic
def create_service_token(
    admin: User, service: ServiceAccount, name: str, stream: Stream | None, expires_at: datetime | None
) -> tuple[Token, str]:
    """Create a token of the service account and its secret.

    It cannot be read again. Raises `Forbidden` unless for admins, or when the service account may not write
    to the stream; `Conflict` when it is disabled or has as many as it may.
    """
    refuse_non_admins(admin, manage(service.team))
    if not service.account.is_active:
        raise Conflict("disabled", f"{service.account} is disabled; enable it before it gets a token")
    return create_token(service.account, name, stream, expires_at, by=admin)


@transaction.atomic
def revoke_service_token(admin: User, service: ServiceAccount, token: Token) -> None:
    """The token is worth nothing from the next request on.

    Raises `Forbidden` unless for admins.
    """
    refuse_non_admins(admin, manage(service.team))
    revoke_token(admin, token)


def _about(service: ServiceAccount) -> Subject:
    return Subject("service account", service.account.get_username(), service.pk, service.team.name)
