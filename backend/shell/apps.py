from django.apps import AppConfig


class ShellConfig(AppConfig):
    name = "backend.shell"

    def ready(self) -> None:
        from backend.shell import checks  # noqa: F401  (importing registers them)
