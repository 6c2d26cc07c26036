from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import ensure_csrf_cookie

from backend.shell.pages import island
from backend.streams.models import Stream


@login_required
@ensure_csrf_cookie
def streams(request: HttpRequest) -> HttpResponse:
    return island(request, "streams/streams.html", "streams", "Streams", section="streams")


@login_required
@ensure_csrf_cookie
def stream(request: HttpRequest, name: str) -> HttpResponse:
    record = get_object_or_404(Stream, name=name)
    return island(
        request,
        "streams/streams.html",
        "streams",
        record.name,
        section="streams",
        props={"stream": record.name},
    )
