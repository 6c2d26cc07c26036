"""What an account may do.

Everybody who is signed in reads everything, writes queries and streams of their own, deploys and
ingests. Changing somebody else's, and starting or stopping a topology, is for operators.
"""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

OPERATORS = "operators"
"""The group of accounts that run the topologies."""


def is_operator(account: AbstractBaseUser | AnonymousUser) -> bool:
    if not account.is_authenticated or not account.is_active:
        return False
    # The two account types that Django passes here both have these; the base class does not say so.
    return bool(account.is_superuser or account.groups.filter(name=OPERATORS).exists())  # type: ignore[union-attr]


def may_edit(account: AbstractBaseUser | AnonymousUser, owner_id: int) -> bool:
    """True for the owner and for operators."""
    return account.pk == owner_id or is_operator(account)
