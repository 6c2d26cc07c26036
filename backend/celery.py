"""The Celery application; broker and result backend are Redis."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.settings")

app = Celery("millrace")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(
    [
        "backend.runs",
        "backend.alerts",
        "backend.oracle",
        "backend.forecasts",
        "backend.history",
        "backend.budgets",
        "backend.audit",
    ]
)
app.conf.imports = ("backend.observation.worker",)
