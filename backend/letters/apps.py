from django.apps import AppConfig


class LettersConfig(AppConfig):
    name = "backend.letters"
    default_auto_field = "django.db.models.BigAutoField"
