from django.contrib import admin

from backend.oracle.models import Check


@admin.register(Check)
class CheckAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    list_display = ("query", "topology", "at", "verdict", "results", "missing", "extra")
    list_filter = ("verdict",)
