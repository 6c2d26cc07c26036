from django.apps import AppConfig


class DeadLettersConfig(AppConfig):
    name = "backend.dead_letters"
    default_auto_field = "django.db.models.BigAutoField"
