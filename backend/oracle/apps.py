from django.apps import AppConfig


class OracleConfig(AppConfig):
    name = "backend.oracle"
    default_auto_field = "django.db.models.BigAutoField"
