from django.apps import AppConfig


class SignOnConfig(AppConfig):
    name = "backend.sign_on"

    def ready(self) -> None:
        from allauth.account.signals import user_logged_in

        from backend.sign_on import checks  # noqa: F401  # they register themselves
        from backend.sign_on.groups import follow

        user_logged_in.connect(follow)
