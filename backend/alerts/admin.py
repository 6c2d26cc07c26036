from django.contrib import admin

from backend.alerts.models import AlertRule
from backend.shell.read_only import OfTeams


@admin.register(AlertRule)
class AlertRuleAdmin(OfTeams):
    list_display = ("name", "owner", "team", "topology", "channel", "enabled")
    exclude = ("secret",)
