"""Columns of a stream, from the deployment's schema registry."""

from __future__ import annotations

from django.contrib.auth.models import User

from backend.accounts.queries import refuse_viewers
from backend.errors import Conflict, Unavailable
from optimizer.algebra.errors import InputError
from optimizer.logical.source import NoOffer, Offer, SourceSettings


def offer_of(account: User, source: SourceSettings, subject: str | None) -> Offer:
    """The columns that a subject's newest schema has.

    None is the source's usual subject.
    Raises `Forbidden` for viewers, `Conflict` for what is not there or cannot be read so, and `Unavailable`
    while the registry does not answer.
    """
    refuse_viewers(account, "register streams")
    try:
        return source.offer(subject)
    except NoOffer as error:
        kind = Unavailable if error.later else Conflict
        raise kind(error.code, str(error)) from error
    except InputError as error:
        raise Conflict(error.code, str(error)) from error
