from django.contrib import admin

from backend.accounts.models import Quota, Team


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    list_display = ("name",)
    filter_horizontal = ("members",)


@admin.register(Quota)
class QuotaAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    list_display = ("__str__", "topologies", "streams", "queries", "versions", "alerts", "tokens")
