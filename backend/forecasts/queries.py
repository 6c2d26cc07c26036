"""How good forecasts have been."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet

from backend.catalog.queries import readable_queries
from backend.forecasts.models import Forecast


@dataclass(frozen=True, slots=True)
class HitRate:
    """Of all forecasts whose time has come, how many held."""

    judged: int
    held: int
    open: int
    """Their windows are not full yet."""
    overtaken: int
    """Their plan was exchanged before."""


def forecasts(account: User | AnonymousUser, topology: str) -> QuerySet[Forecast]:
    """Forecasts of queries that the account reads, newest first.

    Of all topologies if none is named.
    """
    seen = readable_queries(account).order_by().values("pk")
    found = Forecast.objects.filter(query__in=seen).select_related("query", "topology")
    return found.filter(topology__name=topology) if topology else found


def hit_rate(account: User | AnonymousUser, topology: str) -> HitRate:
    """Over every forecast of a topology, or of all."""
    states = list(forecasts(account, topology).order_by().values_list("state", flat=True))
    held, missed = states.count(Forecast.State.HELD), states.count(Forecast.State.MISSED)
    return HitRate(
        judged=held + missed,
        held=held,
        open=states.count(Forecast.State.OPEN),
        overtaken=states.count(Forecast.State.OVERTAKEN),
    )
