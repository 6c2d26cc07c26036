from django.apps import AppConfig


class TopologiesConfig(AppConfig):
    name = "backend.topologies"
    default_auto_field = "django.db.models.BigAutoField"
