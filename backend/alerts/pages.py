from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import ensure_csrf_cookie

from backend.shell.pages import island


@login_required
@ensure_csrf_cookie
def alerts(request: HttpRequest) -> HttpResponse:
    return island(request, "alerts/alerts.html", "alerts", "Alerts", section="alerts")
