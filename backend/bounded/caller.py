"""The caller of bounded work, and whether it still waits."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from backend.bounded.disconnects import GONE

if TYPE_CHECKING:
    # Only names of types: this is imported before there are settings.
    from django.contrib.auth.models import AnonymousUser, User
    from rest_framework.request import Request


@dataclass(frozen=True, slots=True)
class Caller:
    """An account that asks; `gone` is set once its connection is closed."""

    account: int | None
    gone: threading.Event = field(default_factory=threading.Event, compare=False)


def caller_of(request: Request) -> Caller:
    """The client that sent a request, and whether it still waits.

    Only uvicorn tells of closed connections; under a test client, clients never leave.
    """
    scope: dict[str, Any] = getattr(request, "scope", {})
    gone = scope.get(GONE)
    return Caller(request.user.pk) if gone is None else Caller(request.user.pk, gone)


def calling(account: User | AnonymousUser) -> Caller:
    """The caller of what is done to the end, such as saving a query."""
    return Caller(account.pk)
