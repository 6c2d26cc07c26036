"""Error answers where no view could answer, the request's body unread.

Django's own pages for 404 and the like look for a token against forgery in the body, and a body that cannot
be read made a 500 of them.
"""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

LONGEST_PATH = 200
"""Characters of an address that a page repeats."""


def _refusal(request: HttpRequest, status: HTTPStatus) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse({"detail": f"{status.phrase.capitalize()}."}, status=status)
    title = f"<title>{status.phrase}</title>"
    page = f'<!doctype html><html lang="en"><head>{title}</head><body><h1>{status.phrase}</h1></body></html>'
    return HttpResponse(page, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _refusal(request, HTTPStatus.BAD_REQUEST)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _refusal(request, HTTPStatus.FORBIDDEN)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Say what is not there, and lead back; programs get JSON."""
    if request.path.startswith("/api/"):
        return _refusal(request, HTTPStatus.NOT_FOUND)
    # Without the request, whose context would look for a token in the body.
    page = render_to_string("shell/not_found.html", {"path": request.path[:LONGEST_PATH]})
    return HttpResponse(page, status=HTTPStatus.NOT_FOUND)


def failed(request: HttpRequest) -> HttpResponse:
    return _refusal(request, HTTPStatus.INTERNAL_SERVER_ERROR)
