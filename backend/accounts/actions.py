"""Making operators from a command, and what stands in the way of deleting."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import ProtectedError

from backend.accounts.queries import ADMINS, GROUPS, OPERATORS

_NAMED = 3
"""Things that a refusal names."""


@transaction.atomic
def create_operator(username: str, password: str, *, is_admin: bool = False) -> User:
    """The operator of this name, or admin, made if missing.

    An account that exists keeps its password.
    """
    groups = {name: Group.objects.get_or_create(name=name)[0] for name in GROUPS}
    account, created = get_user_model().objects.get_or_create(username=username)
    if created:
        account.set_password(password)
        account.save()
    account.groups.add(groups[ADMINS if is_admin else OPERATORS])
    return account


def in_the_way(error: ProtectedError) -> str:
    """The first few of the things that keep something from being deleted, by name."""
    names = sorted({str(one) for one in error.protected_objects})
    return ", ".join(names[:_NAMED]) + (" and others" if len(names) > _NAMED else "")
