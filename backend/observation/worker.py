"""A Celery worker's metrics: each task's run time and end, offered by the worker's first process."""

from __future__ import annotations

import time
from typing import Any

from celery.signals import task_postrun, task_prerun, worker_ready
from django.conf import settings
from prometheus_client import start_http_server

from backend.observation.registry import TASKS, registry

_began: dict[str, float] = {}


@task_prerun.connect
def _begin(task_id: str, **_: Any) -> None:
    _began[task_id] = time.perf_counter()


@task_postrun.connect
def _end(task_id: str, task: Any, state: str | None, **_: Any) -> None:
    began = _began.pop(task_id, None)
    if began is not None:
        TASKS.labels(task.name, state or "UNKNOWN").observe(time.perf_counter() - began)


@worker_ready.connect
def _offer(**_: Any) -> None:
    port = int(settings.MILLRACE_METRICS_PORT)
    if port:
        start_http_server(port, registry=registry())
