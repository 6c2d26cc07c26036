from typing import Any

from django.apps import AppConfig
from django.db import transaction
from django.db.models.signals import post_delete


class LiveConfig(AppConfig):
    name = "backend.live"

    def ready(self) -> None:
        from backend.catalog.models import Query

        post_delete.connect(_forget, sender=Query)


def _forget(instance: Any, **_: Any) -> None:
    """The newest results of a query go with it."""
    from backend.live.results.newest import forget_results

    transaction.on_commit(lambda: forget_results(instance.name))
