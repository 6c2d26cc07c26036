"""What teams may spend in a month: counted, warned of, held to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from backend.accounts.models import Team
from backend.alerts import watching
from backend.alerts.models import Alert, AlertRule
from backend.budgets import actions
from backend.budgets.models import Budget, DayOfUse, Meter
from backend.budgets.queries import team_months
from backend.catalog.models import Query
from backend.costs.division import Use
from backend.costs.queries import costs, uses_of_teams
from backend.deployments.actions import deploy_query
from backend.errors import Conflict
from backend.limits.allowances import allow_query
from backend.limits.suspension import suspend_excessive
from backend.topologies.models import Topology, TopologyQuery
from tests.api.conftest import signed_in
from tests.api.costs.measured import TEAM, tell, two_queries

URL = "/api/budgets/"
NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
EUR = 0.5
"""The price of a core and hour."""


@pytest.fixture
def priced(settings: Settings) -> None:
    settings.MILLRACE_PRICE_CORE_HOUR = EUR


@pytest.fixture
def admin(db: None) -> User:
    return User.objects.create_superuser("root", password="long-enough-1")


@pytest.fixture
def topology(query: Query, owner: User, bus: redis.Redis) -> Topology:
    found = two_queries(query, owner)
    tell(bus, found)
    return found


def _team() -> Team:
    return Team.objects.get(name=TEAM)


def _spend(amount: float, now: datetime) -> None:
    """What the team has used of a month before."""
    day = now.astimezone(UTC).date()
    DayOfUse.objects.update_or_create(team=_team(), day=day, defaults={"core_hours": amount / EUR})


def _table(account: User) -> dict[str, Any]:
    answer = signed_in(account).get(URL)
    assert answer.status_code == 200, answer.content
    told: dict[str, Any] = answer.json()
    return told


def test_what_a_team_uses_is_counted_for_as_long_as_it_uses_it(topology: Topology, owner: User) -> None:
    (paid,) = (use for payer, use in costs(owner, "team").uses if payer.name == TEAM)
    assert uses_of_teams() == {TEAM: paid}
    for minutes in (0, 1, 2, 2, 5):
        actions.take_in(NOON + timedelta(minutes=minutes))
    (one,) = team_months([_team()], NOON)
    assert one.hours.cores == pytest.approx(paid.cores * 5 / 60)
    assert one.hours.bytes == pytest.approx(paid.bytes * 5 / 60)


def test_time_in_which_nobody_could_count_is_not_counted(topology: Topology) -> None:
    actions.take_in(NOON)
    actions.take_in(NOON + timedelta(days=1))
    (one,) = team_months([_team()], NOON + timedelta(days=1))
    assert one.hours.cores == pytest.approx(
        uses_of_teams()[TEAM].cores * (actions.LONGEST / timedelta(hours=1))
    )


def test_a_month_ends_at_midnight_of_utc(topology: Topology) -> None:
    midnight = datetime(2026, 12, 1, tzinfo=UTC)
    actions.take_in(midnight - timedelta(minutes=3))
    actions.take_in(midnight + timedelta(minutes=1))
    cores = uses_of_teams()[TEAM].cores
    (before,), (behind,) = (
        team_months([_team()], moment) for moment in (midnight - timedelta(seconds=1), midnight)
    )
    assert before.hours.cores == pytest.approx(cores * 3 / 60)
    assert behind.hours.cores == pytest.approx(cores / 60)


def test_of_two_workers_one_counts(topology: Topology) -> None:
    actions.take_in(NOON)
    first, second = Meter.objects.get(), Meter.objects.get()
    uses, now = {TEAM: Use(1.0, 0.0)}, NOON + timedelta(minutes=6)
    assert actions.count(first, uses, now)
    assert not actions.count(second, uses, now)
    assert DayOfUse.objects.get().core_hours == pytest.approx(0.1)


def test_a_budget_is_set_by_admins_and_seen_by_members(
    topology: Topology, owner: User, operator: User, admin: User, teammate: User, priced: None
) -> None:
    address = f"/api/teams/{_team().pk}/budget/"
    said = signed_in(admin).put(address, {"amount": 12.5}, "application/json")
    assert said.status_code == 200, said.content
    (row,) = _table(owner)["teams"]
    assert (row["team"], row["amount"], row["stand"], row["spent"]) == (TEAM, 12.5, "within", 0.0)
    assert _table(owner)["can_edit"] is False
    refused = signed_in(owner).put(address, {"amount": 1e9}, "application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "admins-only")
    # Who is not in the team does not learn of it, an operator no more than anybody.
    for other in (teammate, operator):
        assert _table(other)["teams"] == []
        assert signed_in(other).put(address, {"amount": 1.0}, "application/json").status_code == 404
    assert Budget.objects.get().amount == 12.5
    assert signed_in(admin).put(address, {"amount": None}, "application/json").status_code == 200
    assert not Budget.objects.exists()


@pytest.mark.parametrize("amount", [-1, "much", float("inf"), 1e300, []])
def test_a_budget_is_a_sum_of_money(topology: Topology, admin: User, priced: None, amount: object) -> None:
    said = signed_in(admin).put(f"/api/teams/{_team().pk}/budget/", {"amount": amount}, "application/json")
    assert said.status_code == 400, said.content
    assert not Budget.objects.exists()


def test_without_a_price_there_is_no_budget(topology: Topology, admin: User, settings: Settings) -> None:
    said = signed_in(admin).put(f"/api/teams/{_team().pk}/budget/", {"amount": 5}, "application/json")
    assert (said.status_code, said.json()["code"]) == (409, "no-price")
    # One from before holds nobody to anything.
    Budget.objects.create(team=_team(), amount=0.0)
    actions.take_in(NOON)
    assert not TopologyQuery.objects.exclude(excess="").exists()
    (row,) = _table(admin)["teams"]
    assert (row["spent"], row["amount"], row["stand"]) == (None, None, None)


def test_who_has_spent_all_is_suspended_and_comes_back_with_a_larger_budget(
    topology: Topology, owner: User, priced: None
) -> None:
    now = timezone.now()
    Budget.objects.create(team=_team(), amount=10.0)
    _spend(9.9, now)
    actions.take_in(now)
    assert not suspend_excessive(topology.pk, now)
    _spend(10.0, now)
    actions.take_in(now)
    assert suspend_excessive(topology.pk, now)
    (row,) = TopologyQuery.objects.exclude(suspended_at=None).select_related("query")
    assert row.query.name == "two", "the query of no team goes on"
    assert row.excess.startswith(f"team {TEAM} has spent its budget for {now.astimezone(UTC):%B %Y}: ")
    with pytest.raises(Conflict, match="budget") as refused:
        deploy_query(owner, row.query, "flights")
    assert refused.value.code == "budget-spent"
    Budget.objects.update(amount=20.0)
    deploy_query(owner, row.query, "flights")
    actions.take_in(now)
    assert not suspend_excessive(topology.pk, now)


def test_a_query_that_an_operator_allows_goes_on(
    topology: Topology, owner: User, operator: User, priced: None
) -> None:
    now = timezone.now()
    two = Query.objects.get(name="two")
    allow_query(operator, two, True)
    Budget.objects.create(team=_team(), amount=1.0)
    _spend(2.0, now)
    actions.take_in(now)
    assert not suspend_excessive(topology.pk, now)
    deploy_query(owner, Query.objects.get(name="two"), "flights")


def test_a_rule_tells_of_a_budget_that_is_nearly_spent(
    topology: Topology, owner: User, teammate: User, priced: None
) -> None:
    now = timezone.now()
    Budget.objects.create(team=_team(), amount=10.0)
    for account in (owner, teammate):
        AlertRule.objects.create(name="told", owner=account, channel="email", target="a@example.org")
    _spend(7.9, now)
    watching.watch(now)
    assert not Alert.objects.filter(kind="budget").exists()
    _spend(8.0, now)
    watching.watch(now)
    alert = Alert.objects.get(kind="budget")
    assert alert.rule.owner == owner, "a team's money is not for others"
    assert alert.detail.startswith(f"{TEAM}: EUR 8.00 of the EUR 10.00 for ")
    Budget.objects.update(amount=100.0)
    watching.watch(now)
    alert.refresh_from_db()
    assert alert.closed_at == now


def test_a_rule_tells_of_cores(topology: Topology, owner: User) -> None:
    for cores in (1.9, 2.1):
        AlertRule.objects.create(
            name=str(cores),
            owner=owner,
            channel="email",
            target="a@example.org",
            on_failed=False,
            cores=cores,
        )
    watching.watch(timezone.now())
    alert = Alert.objects.get()
    assert (alert.rule.name, alert.kind, alert.detail) == ("1.9", "cores", "its job uses 2.00 cores")


def test_nothing_is_counted_without_redis(topology: Topology, settings: Settings) -> None:
    actions.take_in(NOON)
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    with pytest.raises(Exception, match=r"(?i)redis|connect"):
        actions.take_in(NOON + timedelta(minutes=1))
    assert Meter.objects.get().read_at == NOON, "it is counted once Redis answers"


def test_a_signed_out_caller_learns_nothing(topology: Topology) -> None:
    assert Client().get(URL).status_code in (401, 403)
