from django.apps import AppConfig


class TokensConfig(AppConfig):
    name = "backend.tokens"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Known to the OpenAPI document's generator by being loaded.
        from backend.tokens import openapi  # noqa: F401
