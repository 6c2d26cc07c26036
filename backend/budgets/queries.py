"""Reading what teams have spent, and whether they may spend more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet, Sum
from django.utils import timezone

from backend.accounts.models import Team
from backend.budgets.models import Budget, DayOfUse
from backend.budgets.months import Month, month_of
from backend.catalog.models import Query
from backend.costs.division import Use
from backend.costs.queries import Prices, prices
from backend.errors import Conflict


@dataclass(frozen=True, slots=True)
class TeamMonth:
    """What a team used this month."""

    team: Team
    hours: Use
    """Core hours and byte hours."""
    spent: float | None
    """None where the operator has set no price."""
    month: Month | None
    """None without a budget, or without a price."""


def team_months(teams: Iterable[Team], now: datetime) -> list[TeamMonth]:
    """How teams stand in the month of a moment, by name."""
    named = sorted(teams, key=lambda team: team.name)
    asked = prices()
    amounts = dict(Budget.objects.filter(team__in=named).values_list("team", "amount"))
    used = {team: Use(cores, held) for team, cores, held in _used(now).filter(team__in=named)}
    return [_stands(team, used.get(team.pk, Use()), amounts.get(team.pk), asked, now) for team in named]


def months_with_budget(now: datetime) -> list[TeamMonth]:
    """Those of all teams that have a budget in money, by name."""
    found = team_months(Team.objects.exclude(budget=None), now)
    return [one for one in found if one.month is not None]


def refuse_spent(query: Query) -> None:
    """Raises `Conflict` for a query whose team has spent its month's budget.

    An operator's allowance lets a query pass.
    """
    if query.team is None or hasattr(query, "allowance"):
        return
    (found,) = team_months([query.team], timezone.now())
    if found.month is not None and found.month.stand == "spent":
        raise Conflict(
            "budget-spent",
            f"team {query.team} has spent its budget for {found.month.name}: an admin can raise its budget, "
            f"an operator allow {query.name}, or it is deployed next month",
        )


def _used(now: datetime) -> QuerySet[DayOfUse, tuple[int, float, float]]:
    days = DayOfUse.objects.filter(day__gte=month_of(now), day__lte=now.date()).order_by()
    return days.values_list("team").annotate(Sum("core_hours"), Sum("byte_hours"))


def _stands(team: Team, hours: Use, amount: float | None, asked: Prices, now: datetime) -> TeamMonth:
    spent = asked.of(hours)
    month = None
    if amount is not None and spent is not None:
        month = Month(month_of(now), amount, spent, asked.currency)
    return TeamMonth(team, hours, spent, month)
