from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "backend.accounts"

    def ready(self) -> None:
        from backend.accounts import recording

        recording.connect()
