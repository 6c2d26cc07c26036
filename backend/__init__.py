"""The Django project: streams, queries, topologies, live events, accounts."""

# Django's processes (web, commands) publish tasks through the same application as the worker.
from backend.celery import app as celery_app

__all__ = ["celery_app"]
