from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "backend.alerts"

    def ready(self) -> None:
        from backend.accounts.quotas import Resource, count
        from backend.alerts.models import AlertRule

        count(Resource.ALERTS, lambda account_id: AlertRule.objects.filter(owner_id=account_id))
