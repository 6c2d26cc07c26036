from django.apps import AppConfig

# Tasks are sent through the application that exists: it has to before the first request. Not in
# `backend/__init__`, because the client lives in this package and needs nothing but Python.
from backend import celery  # noqa: F401


class ShellConfig(AppConfig):
    name = "backend.shell"

    def ready(self) -> None:
        from backend.shell import checks  # noqa: F401  (importing registers them)
