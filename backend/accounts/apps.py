from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    name = "backend.accounts"

    def ready(self) -> None:
        from backend.accounts import recording

        post_migrate.connect(_permit, sender=self)
        recording.connect()


def _permit(**_: object) -> None:
    """Operators of an installation that is older than a permission of theirs get it."""
    from backend.accounts.actions import permit_operators

    permit_operators()
