"""/healthz: whether this process can do its work; /readyz: whether it should get any."""

from __future__ import annotations

import redis.exceptions
from django.db import connection as database
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import Error as DatabaseError
from django.http import HttpRequest, JsonResponse

from backend.bus import connection
from backend.errors import Unavailable


def healthz(request: HttpRequest) -> JsonResponse:
    """200 if database and Redis answer, else 503; says which."""
    found = {"database": _database(), "redis": _redis()}
    return JsonResponse(found, status=200 if set(found.values()) == {"ok"} else 503)


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


def readyz(request: HttpRequest) -> JsonResponse:
    """200 if this process should get requests: what it needs answers, and no migration is missing."""
    found = {"database": _database(), "redis": _redis(), "migrations": _migrations()}
    return JsonResponse(found, status=200 if set(found.values()) == {"ok"} else 503)


def _migrations() -> str:
    try:
        executor = MigrationExecutor(database)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return "unknown"
    return f"{len(missing)} missing" if missing else "ok"
