from django.contrib import admin

from backend.alerts.models import AlertRule


@admin.register(AlertRule)
class AlertRuleAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    list_display = ("name", "owner", "team", "topology", "channel", "enabled")
    exclude = ("secret",)
