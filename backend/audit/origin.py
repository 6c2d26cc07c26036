"""Through what a change comes: a page, a token, a command, or the product itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asgiref.sync import iscoroutinefunction
from django.db import models
from django.utils.decorators import sync_and_async_middleware

if TYPE_CHECKING:
    # `manage.py` says what it is before there are models.
    from django.contrib.auth.models import AnonymousUser, User
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase


class Through(models.TextChoices):
    PAGE = "page", "page"
    TOKEN = "token", "token"
    ADMIN = "admin", "admin"  # of entries from the time of Django's admin site
    DIRECTORY = "directory", "directory"
    COMMAND = "command", "command"
    PROVIDER = "provider", "provider"
    PRODUCT = "product", "product"
    UNKNOWN = "unknown", "unknown"  # of entries that are older than this was kept


@dataclass(frozen=True, slots=True)
class Origin:
    """Through what the running code changes something."""

    through: Through
    name: str = ""
    """Of the token, the directory or the command."""
    account: User | AnonymousUser | None = None
    """Who changes what no action says it of, such as an account's roles."""

    @property
    def told(self) -> str:
        """What it is, as part of a line.

        >>> Origin(Through.TOKEN, "ci").told
        'token ci'
        """
        return f"{self.through} {self.name}".strip()


_PRODUCT = Origin(Through.PRODUCT)
_ORIGIN: ContextVar[Origin] = ContextVar("origin", default=_PRODUCT)


def origin() -> Origin:
    """Through what the running code changes something; by default the product itself."""
    return _ORIGIN.get()


@contextmanager
def coming(through: Through, name: str = "", account: User | AnonymousUser | None = None) -> Iterator[None]:
    """Whatever is changed inside comes through this.

    >>> with coming(Through.COMMAND, "create_operator"):
    ...     origin().told
    'command create_operator'
    """
    before = _ORIGIN.set(Origin(through, name, account))
    try:
        yield
    finally:
        _ORIGIN.reset(before)


def came_by_token(account: User, name: str) -> None:
    """From here to its end, the request is a token's."""
    _ORIGIN.set(Origin(Through.TOKEN, name, account))


@sync_and_async_middleware
def Requests(get_response: Any) -> Any:  # a middleware is called like a class
    """Says of each request that it comes by a page; a token says so itself."""

    def coming_by(request: HttpRequest) -> AbstractContextManager[None]:
        # Who it is is not looked up before it is needed: strangers cost no query.
        return coming(Through.PAGE, account=request.user)

    if iscoroutinefunction(get_response):

        async def respond(request: HttpRequest) -> HttpResponseBase:
            with coming_by(request):
                answer: HttpResponseBase = await get_response(request)
            return answer

        return respond

    def respond_at_once(request: HttpRequest) -> HttpResponseBase:
        with coming_by(request):
            answer: HttpResponseBase = get_response(request)
        return answer

    return respond_at_once
