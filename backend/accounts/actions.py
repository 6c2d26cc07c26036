"""Making accounts."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction

from backend.accounts.queries import GROUPS, OPERATORS

SHOWN_APPS = ("streams", "catalog", "topologies")


@transaction.atomic
def create_operator(username: str, password: str) -> User:
    """The account of this name as an operator that may look at the admin; made if it is not there.

    An account that exists keeps its password.
    """
    groups = {name: Group.objects.get_or_create(name=name)[0] for name in GROUPS}
    group = groups[OPERATORS]
    group.permissions.set(
        Permission.objects.filter(content_type__app_label__in=SHOWN_APPS, codename__startswith="view_")
    )
    account, created = get_user_model().objects.get_or_create(username=username, defaults={"is_staff": True})
    if created:
        account.set_password(password)
        account.save()
    account.groups.add(group)
    return account
