"""Finding service accounts and their tokens."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet

from backend.accounts.models import ServiceAccount, Team
from backend.accounts.queries import refuse_non_admins
from backend.tokens.models import Token
from backend.tokens.queries import tokens_of


def manage(team: Team) -> str:
    """What only admins do, who also say which persons are in the team."""
    return f"manage the service accounts of {team}"


def service_accounts(team: Team) -> QuerySet[ServiceAccount]:
    """The team's, by name."""
    return ServiceAccount.objects.filter(team=team).select_related("account")


def tokens_of_service_account(admin: User, service: ServiceAccount) -> QuerySet[Token]:
    """What programs say who they are by, without the secrets.

    Raises `Forbidden` unless for admins.
    """
    refuse_non_admins(admin, manage(service.team))
    return tokens_of(service.account)
