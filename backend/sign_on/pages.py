"""The way to the provider and back; without one, back to the page of signing in."""

from __future__ import annotations

import logging

from allauth.socialaccount.providers.openid_connect import views
from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET
from requests import RequestException

from backend.audit.origin import Through, coming

_LOGGER = logging.getLogger(__name__)


@require_GET
def leave(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send the browser to the provider.

    With a state and a PKCE challenge of this session's.
    """
    if not settings.MILLRACE_OIDC_URL or request.user.is_authenticated:
        return redirect("login")
    # Where it goes next is all that one may say: django-allauth would link accounts, too, on request.
    given = QueryDict(mutable=True)
    if "next" in request.GET:
        given["next"] = request.GET["next"]
    request.GET = given  # type: ignore[assignment]  # immutable in the stubs alone
    try:
        answer: HttpResponse = views.login(request, provider_id)
    except RequestException as error:
        _LOGGER.warning("the provider does not answer: %s", error)
        return render(request, "socialaccount/authentication_error.html", status=502)
    return answer


@require_GET
def come_back(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Exchange the provider's code for who it is, and sign them in."""
    if not settings.MILLRACE_OIDC_URL:
        return redirect("login")
    with coming(Through.PROVIDER):
        answer: HttpResponse = views.callback(request, provider_id)
    return answer
