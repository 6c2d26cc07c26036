"""The metrics registry, shared by the processes of one service.

With PROMETHEUS_MULTIPROC_DIR set (an empty folder at the service's start) the processes of one
container keep their values in files there, and each of them can answer for all.
"""

from __future__ import annotations

import os

from prometheus_client import REGISTRY, CollectorRegistry, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

REQUESTS = Histogram(
    "millrace_request_seconds",
    "Time from a request to the beginning of its answer, by route.",
    ["method", "route", "status"],
    buckets=(0.005, 0.02, 0.1, 0.5, 2.0, 10.0),
)
TASKS = Histogram(
    "millrace_task_seconds",
    "Run time of Celery tasks, by name and how they ended.",
    ["task", "state"],
    buckets=(0.01, 0.1, 1.0, 10.0, 60.0),
)


def registry() -> CollectorRegistry:
    """A registry that answers for all processes of this service."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]  # has no types
    return shared
