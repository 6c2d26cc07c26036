"""Making and revoking tokens."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any, cast

from django.contrib.auth.models import AbstractBaseUser

from backend.errors import Conflict
from backend.streams.actions import refuse_others
from backend.streams.models import Stream
from backend.tokens.models import Token
from backend.tokens.queries import PREFIX, digest, tokens_of

MOST = 100
"""Tokens that one account may have."""


def create_token(
    owner: AbstractBaseUser, name: str, stream: Stream | None = None, expires_at: datetime | None = None
) -> tuple[Token, str]:
    """A new token and its secret, which nobody can read again.

    Raises `Conflict` when the account has `MOST` tokens, and `Forbidden` when it may not write to the stream
    itself: its token could not either.
    """
    if stream is not None:
        refuse_others(owner, stream)
    if tokens_of(owner).count() >= MOST:
        raise Conflict("too-many-tokens", f"an account has at most {MOST} tokens; revoke one first")
    secret = PREFIX + secrets.token_urlsafe(32)
    record = Token.objects.create(
        owner=cast(Any, owner), name=name, digest=digest(secret), stream=stream, expires_at=expires_at
    )
    return record, secret


def revoke_token(record: Token) -> None:
    """The token is worth nothing from the next request on."""
    record.delete()
