from django.apps import AppConfig
from django.db.models.signals import pre_delete


class TopologiesConfig(AppConfig):
    name = "backend.topologies"

    def ready(self) -> None:
        from backend.catalog.models import Query
        from backend.streams.signals import name_wanted
        from backend.topologies.asked import keep_readers, refuse_names_of_others

        pre_delete.connect(keep_readers, sender=Query)
        name_wanted.connect(refuse_names_of_others, sender=Query)
