"""/metrics, for Prometheus."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.db import connection as database
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from backend.accounts.queries import is_operator
from backend.accounts.reading import reads_everything
from backend.observation.registry import registry
from backend.observation.single_flight import SingleFlight
from backend.observation.topologies import TopologyCollector


def metrics(request: HttpRequest) -> HttpResponse:
    """This web service's and all topologies' metrics, with MILLRACE_METRICS_TOKEN too.

    Queries are labels: where anything is private, operators ask as admins or with that token.
    """
    may_ask = is_operator(request.user) and reads_everything(request.user)
    if not (_has_token(request) or may_ask):
        return JsonResponse({"detail": "for operators and MILLRACE_METRICS_TOKEN only"}, status=403)
    return HttpResponse(_METRICS.get(), content_type=CONTENT_TYPE_LATEST)


def _metrics() -> bytes:
    topologies = CollectorRegistry()
    topologies.register(TopologyCollector())
    return generate_latest(registry()) + generate_latest(topologies)


# However many ask, one thread reads all topologies' events; the next who asks reads them again.
_METRICS = SingleFlight(_metrics, 0.0, lambda: f"{settings.REDIS_URL} {database.settings_dict['NAME']}")


def _has_token(request: HttpRequest) -> bool:
    expected = f"Bearer {settings.MILLRACE_METRICS_TOKEN}".encode()
    found = request.headers.get("Authorization", "").encode()
    return bool(settings.MILLRACE_METRICS_TOKEN) and hmac.compare_digest(found, expected)
