from django.apps import AppConfig


class StreamsConfig(AppConfig):
    name = "backend.streams"
    default_auto_field = "django.db.models.BigAutoField"
