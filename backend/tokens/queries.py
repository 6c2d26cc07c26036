"""Finding tokens."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from backend.tokens.models import Token

PREFIX = "millrace_"
"""Lets secret scanners recognize a token that was published by accident."""
USE_NOTED_EVERY = timedelta(minutes=1)


def digest(secret: str) -> str:
    """What is stored of a secret.

    A token has 256 random bits, so that a fast digest cannot be turned back; salt and stretching
    are for what people choose.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def find(secret: str, now: datetime) -> Token | None:
    """The token with this secret, if it is valid; notes that it was used."""
    if not secret.startswith(PREFIX):
        return None
    found = (
        Token.objects.select_related("owner", "stream")
        .filter(Q(expires_at=None) | Q(expires_at__gt=now), digest=digest(secret), owner__is_active=True)
        .first()
    )
    if found is not None and (found.used_at is None or now - found.used_at > USE_NOTED_EVERY):
        Token.objects.filter(pk=found.pk).update(used_at=now)
    return found


def tokens_of(account: User) -> QuerySet[Token]:
    return Token.objects.filter(owner_id=account.pk).select_related("stream")
