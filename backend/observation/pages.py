"""/metrics, for Prometheus."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from backend.accounts.queries import is_operator
from backend.observation.registry import registry
from backend.observation.topologies import TopologyCollector


def metrics(request: HttpRequest) -> HttpResponse:
    """This web service's metrics and every topology's: for operators, and for MILLRACE_METRICS_TOKEN."""
    if not (_has_token(request) or is_operator(request.user)):
        return JsonResponse({"detail": "for operators and MILLRACE_METRICS_TOKEN only"}, status=403)
    topologies = CollectorRegistry()
    topologies.register(TopologyCollector())
    text = generate_latest(registry()) + generate_latest(topologies)
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


def _has_token(request: HttpRequest) -> bool:
    expected = f"Bearer {settings.MILLRACE_METRICS_TOKEN}".encode()
    found = request.headers.get("Authorization", "").encode()
    return bool(settings.MILLRACE_METRICS_TOKEN) and hmac.compare_digest(found, expected)
