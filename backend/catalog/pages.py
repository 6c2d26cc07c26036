from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import ensure_csrf_cookie

from backend.catalog.models import Query
from backend.shell.pages import island
from optimizer.udf.reader import allowed_functions


def offered_functions() -> list[dict[str, str]]:
    """The user functions that the editor completes, with what they take and cost."""
    return [
        {
            "sql": function.name,
            "signature": f"{function.signature} → {function.returns}, "
            + ("cost measured" if function.cost_us is None else f"{function.cost_us:g} µs per pair"),
        }
        for function in allowed_functions()
    ]


@login_required
@ensure_csrf_cookie
def catalog(request: HttpRequest) -> HttpResponse:
    return island(request, "catalog/catalog.html", "catalog", "Queries", section="queries")


@login_required
@ensure_csrf_cookie
def new_query(request: HttpRequest) -> HttpResponse:
    return island(
        request,
        "catalog/editor.html",
        "editor",
        "New query",
        section="queries",
        props={"queryId": None, "functions": offered_functions()},
    )


@login_required
@ensure_csrf_cookie
def query(request: HttpRequest, pk: int) -> HttpResponse:
    record = get_object_or_404(Query, pk=pk)
    return island(
        request,
        "catalog/editor.html",
        "editor",
        record.name,
        section="queries",
        props={"queryId": record.pk, "functions": offered_functions()},
    )


@login_required
@ensure_csrf_cookie
def conversion(request: HttpRequest) -> HttpResponse:
    return island(request, "catalog/conversion.html", "conversion", "Convert", section="convert")
