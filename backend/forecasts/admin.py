from django.contrib import admin

from backend.forecasts.models import Forecast
from backend.shell.read_only import OfTeams


@admin.register(Forecast)
class ForecastAdmin(OfTeams):
    list_display = ("query", "topology", "made_at", "low", "high", "observed", "state")
    list_filter = ("state",)
