"""Columns of a stream, from the deployment's schema registry."""

from __future__ import annotations

from django.contrib.auth.models import User

from backend.accounts.queries import refuse_viewers
from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.bounded.worker import OutOfTime
from backend.errors import Conflict, Unavailable
from optimizer.algebra.errors import InputError
from optimizer.logical.source import NoOffer, Offer, SourceSettings


def offer_of(account: User, caller: Caller, source: SourceSettings, subject: str | None) -> Offer:
    """The columns that a subject's newest schema has.

    A process of its own asks for them. None is the source's usual subject.
    Raises `Forbidden` for viewers, `Conflict` for what is not there or cannot be read so, `Unavailable`
    while the registry does not answer, and what `Pool.run` raises.
    """
    refuse_viewers(account, "register streams")
    try:
        return pool.ask(caller, source.offer, subject)
    except OutOfTime as error:
        raise Unavailable(
            "registry-away", f"the schema registry does not answer within {pool.ASKING_SECONDS:g} s"
        ) from error
    except NoOffer as error:
        kind = Unavailable if error.later else Conflict
        raise kind(error.code, str(error)) from error
    except InputError as error:
        raise Conflict(error.code, str(error)) from error
