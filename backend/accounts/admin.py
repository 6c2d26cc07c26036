from django.contrib import admin

from backend.accounts.models import Team


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name",)
    filter_horizontal = ("members",)
