"""`Authorization: Bearer SECRET` for the REST API, and how far a token goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from backend.audit.origin import came_by_token
from backend.tokens.models import Token
from backend.tokens.queries import find

if TYPE_CHECKING:
    # While REST framework loads, its views load this module.
    from rest_framework.views import APIView

SCHEME = "bearer "


def token_of(request: HttpRequest | Request) -> Token | None:
    """The token that the request carries, None if it carries none.

    Raises `AuthenticationFailed`.
    """
    header = request.headers.get("Authorization", "")
    if not header.lower().startswith(SCHEME):
        return None
    token = find(header[len(SCHEME) :].strip(), timezone.now())
    if token is None:
        raise AuthenticationFailed("the token is unknown, revoked or expired")
    return token


class TokenAuthentication(BaseAuthentication):
    """Authenticate a token's request as the token's owner.

    Without cookies there is nothing to forge.
    """

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        token = token_of(request)
        if token is None:
            return None
        came_by_token(token.owner, token.name)
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class WithinToken(BasePermission):
    """A stream's token ingests into that stream; no token makes or revokes tokens.

    A view says what it is by `is_ingestion` or `needs_session`.
    """

    message = "this token is not for that"

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        if not isinstance(token, Token):
            return True
        if token.stream is None:
            return not getattr(view, "needs_session", False)
        return getattr(view, "is_ingestion", False) and view.kwargs.get("name") == token.stream.name
