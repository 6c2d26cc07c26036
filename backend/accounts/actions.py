"""Making accounts, and changing what teams keep to themselves."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction

from backend.accounts.models import Team
from backend.accounts.queries import GROUPS, OPERATORS, role_of
from backend.accounts.recording import about_team
from backend.audit.actions import record
from backend.audit.changes import changed
from backend.errors import Forbidden

SHOWN_APPS = ("streams", "catalog", "topologies")
"""What operators look at in the admin."""


def permit_operators() -> None:
    """Give the operators' group what operators do in the admin.

    If the group is there: they look, and set quotas.
    """
    seen = Permission.objects.filter(content_type__app_label__in=SHOWN_APPS, codename__startswith="view_")
    set_ = Permission.objects.filter(content_type__app_label="accounts", content_type__model="quota")
    for group in Group.objects.filter(name=OPERATORS):
        group.permissions.set(seen | set_)


@transaction.atomic
def create_operator(username: str, password: str) -> User:
    """The operator of this name, made if missing, who may look at the admin.

    An account that exists keeps its password.
    """
    groups = {name: Group.objects.get_or_create(name=name)[0] for name in GROUPS}
    group = groups[OPERATORS]
    permit_operators()
    account, created = get_user_model().objects.get_or_create(username=username, defaults={"is_staff": True})
    if created:
        account.set_password(password)
        account.save()
    account.groups.add(group)
    return account


@transaction.atomic
def set_private(account: User, team: Team, private: bool | None) -> None:
    """Say who reads what the team has.

    True is members and admins, False everybody, None as the installation is.

    Whoever read it and no longer may is sent away within a second. The audit trail has it.

    Raises `Forbidden` unless for admins.
    """
    if role_of(account) != "admin":
        raise Forbidden("admins-only", f"only admins say whether what {team} has is private")
    changes = changed({"private": team.private}, {"private": private})
    team.private = private
    team.save(update_fields=["private"])
    if changes:
        record(account, "change", about_team(team), changes=changes)
