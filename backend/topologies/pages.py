from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import ensure_csrf_cookie

from backend.shell.pages import island
from backend.topologies.models import Topology


@login_required
@ensure_csrf_cookie
def topologies(request: HttpRequest) -> HttpResponse:
    return _page(request, None)


@login_required
@ensure_csrf_cookie
def topology(request: HttpRequest, name: str) -> HttpResponse:
    return _page(request, get_object_or_404(Topology, name=name).name)


def _page(request: HttpRequest, name: str | None) -> HttpResponse:
    return island(
        request,
        "topologies/topology.html",
        "topology",
        name or "Topologies",
        section="topologies",
        props={"topology": name},
    )


@login_required
@ensure_csrf_cookie
def jobs(request: HttpRequest) -> HttpResponse:
    return island(request, "topologies/jobs.html", "jobs", "Jobs", section="jobs")
