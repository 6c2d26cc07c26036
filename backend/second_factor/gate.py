"""What a session may do before its second factor is there."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect

from backend.second_factor.queries import PROVEN, factor_of, is_required_of

_OPEN = frozenset({"account-security", "logout", "icon"})
"""What is answered to who must get a factor first."""


class Gate:
    """Middleware that ends sessions without the code of their account's factor.

    However a session came to be signed in: the page of signing in asks for the code, this is behind it for
    every other way, and for sessions that are older than the factor. Tokens of programs have no session.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        # Looked for only where there may be one: strangers cost no query.
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or not request.user.is_authenticated:
            return None
        factor = factor_of(request.user)
        if factor is not None:
            if request.session.get(PROVEN) != factor.pk:
                logout(request)
            return None
        assert request.resolver_match is not None
        if request.resolver_match.view_name in _OPEN or not is_required_of(request.user):
            return None
        if request.path.startswith("/api/"):
            detail = "this installation asks for a second factor: activate one at /account/security/"
            return JsonResponse({"code": "second-factor-required", "detail": detail}, status=403)
        return redirect("account-security")
