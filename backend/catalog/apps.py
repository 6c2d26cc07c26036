from typing import Any

from django.apps import AppConfig

from backend.streams.signals import name_wanted


class CatalogConfig(AppConfig):
    name = "backend.catalog"

    def ready(self) -> None:
        from backend.accounts.quotas import Resource, count
        from backend.catalog.queries import queries_of
        from backend.streams.models import Stream

        count(Resource.QUERIES, queries_of)
        name_wanted.connect(_refuse_names_of_queries, sender=Stream)


def _refuse_names_of_queries(name: str, **_: Any) -> None:
    from backend.catalog.models import Query
    from backend.errors import Conflict

    if Query.objects.filter(name=name).exists():
        raise Conflict("name-taken", f"a query is called {name}; streams and queries share their names")
