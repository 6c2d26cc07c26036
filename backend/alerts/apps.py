from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "backend.alerts"
    default_auto_field = "django.db.models.BigAutoField"
