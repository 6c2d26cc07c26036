"""A team's admin, and its service account."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from backend.accounts.models import ServiceAccount, Team
from tests.api.conftest import signed_in


@pytest.fixture
def admin(db: None) -> User:
    """Of the product, and in no team."""
    account = User.objects.create_user("ada", password="long-enough-1")
    account.groups.add(Group.objects.get_or_create(name="admins")[0])
    return account


@pytest.fixture
def as_admin(admin: User) -> Client:
    return signed_in(admin)


@pytest.fixture
def service(team: Team) -> ServiceAccount:
    account = User.objects.create_user("loader")
    team.members.add(account)
    return ServiceAccount.objects.create(account=account, team=team)
