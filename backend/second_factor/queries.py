"""Which accounts have a second factor, and which must have one."""

from __future__ import annotations

from collections.abc import Iterable

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.conf import settings
from django.contrib.auth.models import User

from backend.accounts.queries import is_service, role_of

REQUIRED_OF = ("", "admins", "everybody")
"""What `MILLRACE_SECOND_FACTOR` may say."""
PROVEN = "second_factor"
"""The entry of a session that gave a code: the key of the factor that this was of."""


def factor_of(account: User) -> Authenticator | None:
    """The account's authenticator app; None if its password is enough."""
    return Authenticator.objects.filter(user_id=account.pk, type=Authenticator.Type.TOTP).first()


def factors_of(accounts: Iterable[int]) -> dict[int, int]:
    """The keys of those accounts' factors, by account."""
    found = Authenticator.objects.filter(user_id__in=accounts, type=Authenticator.Type.TOTP)
    return dict(found.values_list("user_id", "pk"))


def recovery_codes_left(account: User) -> int:
    """How many recovery codes of the account are not used."""
    found = Authenticator.objects.filter(user_id=account.pk, type=Authenticator.Type.RECOVERY_CODES).first()
    return 0 if found is None else len(RecoveryCodes(found).get_unused_codes())


def is_required_of(account: User) -> bool:
    """Whether the installation lets the account do nothing without a second factor.

    Never of a service account, which does not sign in.
    """
    if settings.MILLRACE_SECOND_FACTOR == "admins":
        return role_of(account) == "admin"
    return settings.MILLRACE_SECOND_FACTOR == "everybody" and not is_service(account)
