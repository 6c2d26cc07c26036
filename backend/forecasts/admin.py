from django.contrib import admin

from backend.forecasts.models import Forecast


@admin.register(Forecast)
class ForecastAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("query", "topology", "made_at", "low", "high", "observed", "state")
    list_filter = ("state",)
