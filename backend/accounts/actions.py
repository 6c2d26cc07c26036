"""Making accounts."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction

from backend.accounts.queries import GROUPS, OPERATORS

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
