"""Reading rules and what they told."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import Max, Q, QuerySet

from backend.accounts.queries import is_operator
from backend.accounts.reading import readable
from backend.alerts.models import AlertRule, Delivery
from backend.topologies.sight import WHOLE, Sight, sights_of


def rules_of(account: User) -> QuerySet[AlertRule]:
    """The rules that the account may see.

    Its own and its teams', for operators all that is not private.

    Unlike queries, rules are not for everybody: targets and secrets stand in them.
    """
    found = AlertRule.objects.select_related("owner__service_account", "team", "topology")
    if is_operator(account):
        return found.filter(readable(account))
    return found.filter(Q(owner_id=account.pk) | Q(team__members=account.pk)).distinct()


def newest_deliveries(rules: Iterable[AlertRule]) -> dict[int, Delivery]:
    """The newest message of each rule that had any, by the rule's key."""
    mine = Delivery.objects.filter(alert__rule__in=list(rules)).values("alert__rule")
    newest = mine.annotate(newest=Max("pk")).values_list("newest", flat=True)
    found = Delivery.objects.filter(pk__in=list(newest)).select_related("alert__topology", "alert__rule")
    return {delivery.alert.rule_id: delivery for delivery in found}


def deliveries_of(rule: AlertRule, limit: int) -> list[Delivery]:
    """The newest messages of a rule, newest first."""
    return list(
        Delivery.objects.filter(alert__rule=rule).select_related("alert__topology", "alert__rule")[:limit]
    )


def sights_of_messages(account: User, deliveries: Iterable[Delivery]) -> dict[int | None, Sight]:
    """What the account may know of the topologies of messages.

    By primary key.
    """
    named = {one.alert.topology_id: one.alert.topology for one in deliveries if one.alert.topology}
    found: dict[int | None, Sight] = {None: WHOLE}
    for key, sight in sights_of(account, named.values()).items():
        found[key] = sight
    return found
