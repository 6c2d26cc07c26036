"""How the secrets of django-allauth's second factor are kept and called."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.crypto import salted_hmac

from backend.errors import Conflict

_SALT = "backend.second_factor"


class Adapter(DefaultMFAAdapter):  # type: ignore[misc]  # django-allauth has no types
    """Secrets are encrypted in the database: a copy of it alone gives no code away."""

    def encrypt(self, text: str) -> str:
        return _box().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Raise `Conflict` for what another SECRET_KEY encrypted."""
        try:
            return _box().decrypt(encrypted_text.encode()).decode()
        except InvalidToken as error:
            text = "this second factor was kept with another SECRET_KEY; ask an administrator to reset it"
            raise Conflict("second-factor-unreadable", text) from error

    def get_totp_label(self, user: User) -> str:
        """The account's name; mail goes where alerts say."""
        return user.get_username()


def _box() -> MultiFernet:
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    digests = (salted_hmac(_SALT, "", secret=key, algorithm="sha256").digest() for key in keys)
    return MultiFernet([Fernet(urlsafe_b64encode(digest)) for digest in digests])
