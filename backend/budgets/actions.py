"""Setting budgets, counting what is used, and holding teams to theirs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from backend.accounts.models import Team
from backend.accounts.queries import refuse_non_admins
from backend.accounts.recording import about_team
from backend.audit.actions import record
from backend.audit.changes import changed
from backend.budgets.models import Budget, DayOfUse, Meter
from backend.budgets.months import Month, hours_by_day
from backend.budgets.queries import months_with_budget
from backend.costs.division import Use
from backend.costs.queries import prices, uses_of_teams
from backend.errors import Conflict
from backend.topologies.models import TopologyQuery

LONGEST = timedelta(minutes=10)
"""What is used now is taken to have been used for so long at most: who could not count for longer does not
know whether anything ran."""


def set_budget(account: User, team: Team, amount: float | None) -> None:
    """Let a team spend so much in a month; None: what it likes.

    Raises `Forbidden`; `Conflict` where the operator has set no price.
    """
    refuse_non_admins(account, f"set the budget of {team}")
    asked = prices()
    if amount is not None and asked.core_hour is None and asked.gb_hour is None:
        raise Conflict(
            "no-price",
            "a budget is money, and this installation has no price: set MILLRACE_PRICE_CORE_HOUR "
            "or MILLRACE_PRICE_GB_HOUR first",
        )
    with transaction.atomic():
        before = Budget.objects.filter(team=team).values_list("amount", flat=True).first()
        if amount is None:
            Budget.objects.filter(team=team).delete()
        else:
            Budget.objects.update_or_create(team=team, defaults={"amount": amount})
        if changes := changed({"budget": before}, {"budget": amount}):
            record(account, "change", about_team(team), changes=changes)


def take_in(now: datetime) -> None:
    """Count what teams have used since it was counted last.

    Each time is counted once among many workers. Queries of teams that have spent all are suspended.

    Raises: `redis.RedisError` and `Unavailable` where Redis does not answer; what is used until it does is
    counted then.
    """
    meter, is_new = Meter.objects.get_or_create(pk=1, defaults={"read_at": now})
    if not is_new and meter.read_at < now:
        count(meter, uses_of_teams(), now)
    for one in months_with_budget(now):
        if one.month is not None and one.month.stand == "spent":
            _suspend(one.team, one.month)


def count(meter: Meter, uses: Mapping[str, Use], now: datetime) -> bool:
    """Add what teams use, by name, for the time since the meter was read.

    Returns: false if another worker has counted since; nothing is changed then.
    """
    hours = hours_by_day(max(meter.read_at, now - LONGEST), now)
    with transaction.atomic():
        # The claim comes first: whoever moves the meter counts the time behind it.
        if not Meter.objects.filter(pk=meter.pk, read_at=meter.read_at).update(read_at=now):
            return False
        for team in Team.objects.filter(name__in=uses):
            use = uses[team.name]
            for day, long in hours.items():
                row, _ = DayOfUse.objects.get_or_create(team=team, day=day)
                DayOfUse.objects.filter(pk=row.pk).update(
                    core_hours=F("core_hours") + use.cores * long,
                    byte_hours=F("byte_hours") + use.bytes * long,
                )
    return True


def _suspend(team: Team, month: Month) -> None:
    """Mark the team's queries.

    The supervisor suspends what is marked (`backend.limits.suspension`).
    """
    TopologyQuery.objects.filter(
        query__team=team, query__allowance=None, suspended_at=None, excess=""
    ).update(
        # Whoever reads the query reads this, and need not know of the team's money.
        excess=f"team {team} has spent its budget for {month.name}: deploy it again next month, or once the "
        "budget is larger"
    )
