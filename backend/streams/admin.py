from django.contrib import admin

from backend.streams.models import SelectivityEstimate, Stream
from backend.topologies.admin import ReadOnly


@admin.register(Stream)
class StreamAdmin(ReadOnly):
    list_display = ("name", "owner", "event_time", "lateness_ms", "late", "created_at")


@admin.register(SelectivityEstimate)
class SelectivityEstimateAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    list_display = ("predicate", "value")
