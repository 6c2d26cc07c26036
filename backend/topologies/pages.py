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
    props: dict[str, str | int | None] = {"topology": None}
    return island(
        request, "topologies/topology.html", "topology", "Topologies", section="topologies", props=props
    )


@login_required
@ensure_csrf_cookie
def topology(request: HttpRequest, name: str) -> HttpResponse:
    record = get_object_or_404(Topology, name=name)
    props: dict[str, str | int | None] = {"topology": record.name}
    return island(
        request, "topologies/topology.html", "topology", record.name, section="topologies", props=props
    )


@login_required
@ensure_csrf_cookie
def jobs(request: HttpRequest) -> HttpResponse:
    return island(request, "topologies/jobs.html", "jobs", "Jobs", section="jobs")
