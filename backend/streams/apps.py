from django.apps import AppConfig


class StreamsConfig(AppConfig):
    name = "backend.streams"

    def ready(self) -> None:
        from backend.accounts.quotas import Resource, count
        from backend.streams.models import Stream

        count(Resource.STREAMS, lambda account_id: Stream.objects.filter(owner_id=account_id))
