from django.contrib import admin

from backend.shell.read_only import OfTeams, ReadOnly
from backend.streams.models import SelectivityEstimate, Stream


@admin.register(Stream)
class StreamAdmin(ReadOnly):
    list_display = ("name", "owner", "event_time", "lateness_ms", "late", "created_at")


@admin.register(SelectivityEstimate)
class SelectivityEstimateAdmin(OfTeams):
    list_display = ("predicate", "value")
