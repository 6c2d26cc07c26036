"""Health (/healthz) and readiness (/readyz) of this process.

Healthy is who can do their work, ready who should get any.

Both answer anybody, so what they find is kept for a second, and one thread at a time looks.
"""

from __future__ import annotations

from functools import cache

import redis.exceptions
from django.conf import settings
from django.db import connection as database
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import Error as DatabaseError
from django.http import HttpRequest, JsonResponse

from backend.errors import Unavailable
from backend.observation.single_flight import SingleFlight
from backend.redis import connection

KEPT_SECONDS = 1.0
"""Several probes may ask at once; one of them looks."""


def healthz(request: HttpRequest) -> JsonResponse:
    """200 if database and Redis answer, else 503; says which."""
    return _answer(_HEALTH.get())


def readyz(request: HttpRequest) -> JsonResponse:
    """200 if what this process needs answers and no migration is missing."""
    return _answer(_READINESS.get())


def _answer(found: dict[str, str]) -> JsonResponse:
    return JsonResponse(found, status=200 if set(found.values()) == {"ok"} else 503)


def _health() -> dict[str, str]:
    return {"database": _database(), "redis": _redis()}


def _readiness() -> dict[str, str]:
    return {**_health(), "migrations": _migrations()}


def _database() -> str:
    try:
        with database.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "unreachable"
    return "ok"


def _redis() -> str:
    try:
        connection().ping()
    except (redis.exceptions.RedisError, Unavailable):
        return "unreachable"
    return "ok"


def _migrations() -> str:
    try:
        applied = set(MigrationRecorder(database).applied_migrations())
    except DatabaseError:
        return "unknown"
    missing = _known_migrations() - applied
    return f"{len(missing)} missing" if missing else "ok"


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    """The migrations of this process' code, read once, as they fill a hundred files."""
    return frozenset(MigrationLoader(None).graph.nodes)


def _about() -> str:
    """Where is asked: what was found elsewhere says nothing."""
    return f"{settings.REDIS_URL} {database.settings_dict['NAME']}"


_HEALTH = SingleFlight(_health, KEPT_SECONDS, _about)
_READINESS = SingleFlight(_readiness, KEPT_SECONDS, _about)
