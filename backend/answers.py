"""Refusals as HTTP answers: the one place where errors get a status."""

from __future__ import annotations

import redis.exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from backend.bounded.turns import Gone
from backend.errors import InputErrors, Later, MillraceError, problem
from optimizer.algebra.errors import Infeasible, InputError


def answer(error: Exception, context: dict[str, object]) -> Response | None:
    """DRF's exception handler, extended by the domain's errors."""
    if isinstance(error, InputError):
        return Response({"errors": [problem(error)]}, status=400)
    if isinstance(error, InputErrors):
        return Response({"errors": [problem(one) for one in error.errors]}, status=400)
    if isinstance(error, Gone):
        # Nobody reads it; nginx's status for a client that closed its connection.
        return Response(status=499)
    if isinstance(error, Later):
        document = {"code": error.code, "detail": str(error)}
        return Response(document, status=error.status, headers={"Retry-After": str(error.retry_after_s)})
    if isinstance(error, MillraceError):
        return Response({"code": error.code, "detail": str(error)}, status=error.status)
    if isinstance(error, Infeasible):
        return Response({"code": "infeasible", "detail": str(error)}, status=409)
    if isinstance(error, redis.exceptions.ConnectionError | redis.exceptions.TimeoutError):
        return Response(
            {"code": "redis-unavailable", "detail": "Redis does not answer; try again"}, status=503
        )
    return exception_handler(error, context)
