from django.contrib import admin

from backend.forecasts.models import Forecast


@admin.register(Forecast)
class ForecastAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    list_display = ("query", "topology", "made_at", "low", "high", "observed", "state")
    list_filter = ("state",)
