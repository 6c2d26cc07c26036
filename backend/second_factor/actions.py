"""Giving accounts a second factor, and taking it away.

The audit trail has each."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.auth.models import User
from django.db import transaction

from backend.accounts.queries import refuse_non_admins
from backend.audit.actions import Subject, record
from backend.errors import Conflict
from backend.second_factor.codes import note_counter
from backend.second_factor.queries import factor_of


@transaction.atomic
def activate(account: User, key: str, counter: int) -> tuple[Authenticator, list[str]]:
    """Give the account a factor, and return that with its recovery codes.

    They are not shown again.

    Args:
        key: what its app has now, in base 32.
        counter: the time step of the code that proved this, which is used by that.

    Raises `Conflict` if it has one.
    """
    # One at a time for an account.
    User.objects.select_for_update().get(pk=account.pk)
    if factor_of(account) is not None:
        raise Conflict("second-factor-active", "this account has a second factor already")
    factor = TOTP.activate(account, key).instance
    note_counter(factor, counter)
    _note(account, account, "activate")
    return factor, _make_recovery_codes(account)


@transaction.atomic
def renew_recovery_codes(account: User) -> list[str]:
    """Make others; those that were there count no more."""
    _note(account, account, "renew recovery codes")
    return _make_recovery_codes(account)


@transaction.atomic
def deactivate(account: User) -> None:
    """Sign the account in by its password alone again."""
    Authenticator.objects.filter(user_id=account.pk).delete()
    _note(account, account, "deactivate")


@transaction.atomic
def reset(admin: User, account: User) -> None:
    """Take the factor of an account whose owner has lost it.

    Raises `Forbidden` unless for admins.
    """
    refuse_non_admins(admin, "reset second factors")
    Authenticator.objects.filter(user_id=account.pk).delete()
    _note(admin, account, "reset")


def _make_recovery_codes(account: User) -> list[str]:
    Authenticator.objects.filter(user_id=account.pk, type=Authenticator.Type.RECOVERY_CODES).delete()
    codes: list[str] = RecoveryCodes.activate(account).generate_codes()
    return codes


def _note(by: User, account: User, verb: str) -> None:
    record(by, verb, Subject("second factor", account.get_username(), account.pk))
