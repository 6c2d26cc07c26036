"""A Celery worker's metrics, from its first process: each task's run time and end."""

from __future__ import annotations

import time

from celery import Task
from celery.signals import task_postrun, task_prerun, worker_ready
from django.conf import settings
from prometheus_client import start_http_server

from backend.observation.registry import TASKS, registry

_began: dict[str, float] = {}


@task_prerun.connect
def _begin(task_id: str, **_: object) -> None:
    _began[task_id] = time.perf_counter()


@task_postrun.connect
def _end(task_id: str, task: Task[..., object], state: str | None, **_: object) -> None:
    began = _began.pop(task_id, None)
    if began is not None:
        TASKS.labels(task.name, state or "UNKNOWN").observe(time.perf_counter() - began)


@worker_ready.connect
def _offer(**_: object) -> None:
    port = int(settings.MILLRACE_METRICS_PORT)
    if port:
        start_http_server(port, registry=registry())
