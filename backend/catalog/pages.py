from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import ensure_csrf_cookie

from backend.catalog.models import Query
from backend.shell.pages import island


@login_required
@ensure_csrf_cookie
def catalog(request: HttpRequest) -> HttpResponse:
    return island(request, "catalog/catalog.html", "catalog", "Queries", section="queries")


@login_required
@ensure_csrf_cookie
def new_query(request: HttpRequest) -> HttpResponse:
    return island(
        request, "catalog/editor.html", "editor", "New query", section="queries", props={"queryId": None}
    )


@login_required
@ensure_csrf_cookie
def query(request: HttpRequest, pk: int) -> HttpResponse:
    record = get_object_or_404(Query, pk=pk)
    return island(
        request, "catalog/editor.html", "editor", record.name, section="queries", props={"queryId": record.pk}
    )


@login_required
@ensure_csrf_cookie
def conversion(request: HttpRequest) -> HttpResponse:
    return island(request, "catalog/conversion.html", "conversion", "Convert", section="convert")
