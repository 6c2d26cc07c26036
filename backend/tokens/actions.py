"""Making and revoking tokens."""

from __future__ import annotations

import secrets
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from backend.accounts.queries import refuse_others
from backend.accounts.quotas import Resource, claim
from backend.audit.actions import Subject, record
from backend.audit.changes import changed
from backend.streams.models import Stream
from backend.tokens.models import Token
from backend.tokens.queries import PREFIX, digest


def create_token(
    owner: User,
    name: str,
    stream: Stream | None = None,
    expires_at: datetime | None = None,
    by: User | None = None,
) -> tuple[Token, str]:
    """Create a token and its secret, which cannot be read again.

    Args:
        by: who makes it, where that is not its owner.

    Raises `Conflict` when the account has as many as it may, and `Forbidden` when it may not write to the
    stream itself: its token could not either.
    """
    if stream is not None:
        refuse_others(owner, stream)
    secret = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        claim(owner, Resource.TOKENS)
        token = Token.objects.create(
            owner=owner, name=name, digest=digest(secret), stream=stream, expires_at=expires_at
        )
        reach = {"owner": str(owner), "stream": None if stream is None else stream.name}
        changes = changed({}, {**reach, "expires_at": expires_at})
        record(by or owner, "create", Subject("token", name, token.pk), changes=changes)
    return token, secret


@transaction.atomic
def revoke_token(account: User, token: Token) -> None:
    """The token is worth nothing from the next request on."""
    subject = Subject("token", token.name, token.pk)
    record(account, "revoke", subject, changes=changed({"owner": str(token.owner)}, {}))
    token.delete()
