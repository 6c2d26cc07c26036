from typing import Any

from django.apps import AppConfig
from django.db import transaction
from django.db.models.signals import post_delete


class DeadLettersConfig(AppConfig):
    name = "backend.dead_letters"

    def ready(self) -> None:
        from backend.streams.models import Stream

        post_delete.connect(_forget, sender=Stream)


def _forget(instance: Any, **_: Any) -> None:
    """The dead letters of a stream go with it."""
    from backend.dead_letters.actions import forget_letters

    transaction.on_commit(lambda: forget_letters(instance.name))
