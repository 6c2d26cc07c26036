from django.contrib import admin

from backend.oracle.models import Check
from backend.shell.read_only import OfTeams


@admin.register(Check)
class CheckAdmin(OfTeams):
    list_display = ("query", "topology", "at", "verdict", "results", "missing", "extra")
    list_filter = ("verdict",)
