from django.apps import AppConfig


class TokensConfig(AppConfig):
    name = "backend.tokens"

    def ready(self) -> None:
        from backend.accounts.quotas import Resource, count
        from backend.tokens.models import Token

        count(Resource.TOKENS, lambda account_id: Token.objects.filter(owner_id=account_id))

        # Known to the OpenAPI document's generator by being loaded.
        from backend.tokens import openapi  # noqa: F401
