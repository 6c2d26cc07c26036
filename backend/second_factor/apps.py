from django.apps import AppConfig


class SecondFactorConfig(AppConfig):
    name = "backend.second_factor"

    def ready(self) -> None:
        from backend.second_factor import checks  # noqa: F401  # they register themselves
