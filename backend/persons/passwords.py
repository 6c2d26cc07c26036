"""Links to choose the password of an account.

Nobody else learns it, an admin no more than others. A link is good once, for some days, and until its account
signs in by another password.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from backend.accounts.queries import refuse_non_admins
from backend.accounts.recording import about
from backend.audit.actions import record
from backend.errors import Conflict


@dataclass(frozen=True, slots=True)
class PasswordLink:
    path: str
    """Of the page, on this site."""
    valid_until: datetime


@transaction.atomic
def make_link(admin: User, account: User) -> PasswordLink:
    """Make a link to hand over to the account's owner.

    A password that is there counts until the link is used.

    Raises `Forbidden` unless for admins, and `Conflict` for an account that is disabled or that the provider
    signs in: by a password it would be there still when the provider no longer knows it.
    """
    refuse_non_admins(admin, "make links to choose a password")
    if not account.is_active:
        raise Conflict("disabled", f"{account} is disabled; enable it first")
    if SocialAccount.objects.filter(user=account).exists() and not account.has_usable_password():
        raise Conflict(
            "by-provider", f"{account} signs in by {settings.MILLRACE_OIDC_NAME}, without a password"
        )
    record(admin, "make password link", about(account))
    named = {
        "uidb64": urlsafe_base64_encode(force_bytes(account.pk)),
        "token": default_token_generator.make_token(account),
    }
    valid_until = timezone.now() + timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    return PasswordLink(reverse("choose-password", kwargs=named), valid_until)
