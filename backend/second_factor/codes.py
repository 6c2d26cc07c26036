"""Codes: each counts once, and an account for which wrong ones come has to wait.

Both are kept in the database, with the factor, so that they hold for all web processes together: what
django-allauth keeps of it is in each process' memory, and forgets a code before its time is over.
"""

from __future__ import annotations

import time

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from allauth.mfa.utils import decrypt
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from backend.errors import TooMany

_COUNTER, _WRONG = "counter", "wrong_at"


def counter_of(key: str, code: str, after: int = -1) -> int | None:
    """The time step that a code is of, None if it is of none that counts now.

    The present one and its neighbours count (`MFA_TOTP_TOLERANCE`), for clocks that differ.

    Args:
        key: what app and server share, in base 32.
        after: steps up to this one have been used.

    Source: RFC 6238, Section 5.2: a code is accepted once.
    """
    for counter in yield_hotp_counters_from_time():
        expected = format_hotp_value(hotp_value(key, counter))
        if compare_user_code(actual=code, expected=expected) and counter > after:
            return int(counter)
    return None


def note_counter(factor: Authenticator, counter: int) -> None:
    """Codes up to this time step are used."""
    factor.data[_COUNTER] = counter
    factor.save(update_fields=["data"])


def spend(account: User, code: str) -> Authenticator | None:
    """The factor that the code is of, used up by this; None for a wrong code.

    Raises `TooMany` where `MILLRACE_LOGIN_FAILURES` wrong ones came for the account within
    `MILLRACE_LOGIN_WAIT_SECONDS`, from wherever: who gives them knows its password.
    """
    with transaction.atomic():
        # Locked: of two requests with one code the second finds it used.
        factors = Authenticator.objects.select_for_update().filter(user_id=account.pk)
        by_type = {one.type: one for one in factors}
        app = by_type.get(Authenticator.Type.TOTP)
        if app is None:
            return None
        now, wait = time.time(), settings.MILLRACE_LOGIN_WAIT_SECONDS
        wrong = [at for at in app.data.get(_WRONG, []) if at > now - wait]
        if len(wrong) >= settings.MILLRACE_LOGIN_FAILURES:
            again = int(wrong[0] + wait - now) + 1
            text = f"too many wrong codes for this account; try again in {again} s"
            raise TooMany("too-many-codes", text, again)
        counter = counter_of(decrypt(app.data["secret"]), code, app.data.get(_COUNTER, -1))
        if counter is not None:
            note_counter(app, counter)
            return app
        recovery = by_type.get(Authenticator.Type.RECOVERY_CODES)
        if recovery is not None and RecoveryCodes(recovery).validate_code(code):
            return recovery
        app.data[_WRONG] = [*wrong, now]
        app.save(update_fields=["data"])
        return None
