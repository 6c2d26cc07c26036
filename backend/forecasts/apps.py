from django.apps import AppConfig


class ForecastsConfig(AppConfig):
    name = "backend.forecasts"
    default_auto_field = "django.db.models.BigAutoField"
