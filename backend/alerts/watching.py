"""Compare topologies with alert rules: open and close alerts, write messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from backend.accounts.reading import reads_everything, teams_seen
from backend.alerts.conditions import Limits, Observed, conditions
from backend.alerts.models import Alert, AlertRule, Delivery
from backend.budgets.queries import months_with_budget
from backend.costs.queries import cores_of
from backend.dead_letters.queries import letters_since
from backend.live.lag import waiting_since
from backend.live.queries import live_state
from backend.oracle.queries import differing
from backend.streams.models import Stream
from backend.topologies.models import Desired, Topology
from backend.topologies.queries import topologies
from backend.topologies.sight import sight_of
from backend.topologies.status import topology_error

OVERDUE = timedelta(seconds=30)
"""A message that is due for so long lost its task."""
KEPT = timedelta(days=30)
"""So long one can look up what a rule told."""


def watch(now: datetime) -> list[int]:
    """Open and close alerts of all topologies; returns the messages to send.

    Several workers may do so at once: an alert is open once.
    """
    rules = list(AlertRule.objects.filter(enabled=True).select_related("owner"))
    there: dict[tuple[int, int | None], dict[str, Alert]] = {}
    for alert in Alert.objects.filter(closed_at=None):
        there.setdefault((alert.rule_id, alert.topology_id), {})[alert.kind] = alert
    written: list[int] = []
    spending = {} if not rules else _nearly_spent(now)
    watched = Topology.objects.select_related("current_run", "active_plan", "plan")
    for topology in watched if rules else ():
        mine = [rule for rule in rules if rule.topology_id in (None, topology.pk)]
        if mine:
            asked = any(rule.letters_per_minute is not None for rule in mine)
            observed = replace(observe(topology, now, letters=asked), budgets=_of(topology, spending))
            for rule in mine:
                seen = _seen(rule.owner, topology, observed)
                written += _compare(rule, topology, seen, there.get((rule.pk, topology.pk), {}), now)
    # Messages go with their alert.
    Alert.objects.filter(closed_at__lt=now - KEPT).delete()
    overdue = Delivery.objects.filter(state=Delivery.State.WAITING, due_at__lt=now - OVERDUE)
    return [*written, *overdue.values_list("pk", flat=True)]


def _seen(owner: User, topology: Topology, observed: Observed) -> Observed:
    """What may be told to a rule's owner.

    Of a topology that it does not read, nothing; of money, only its teams'.
    """
    if observed.budgets:
        teams = teams_seen(owner).filter(name__in=observed.budgets).values_list("name", flat=True)
        observed = replace(observed, budgets={name: observed.budgets[name] for name in teams})
    if reads_everything(owner):
        return observed
    if not topologies(owner).filter(pk=topology.pk).exists():
        return Observed(error=None, wanted=False, streams={}, waiting_since=None)
    sight = sight_of(owner, topology)
    return replace(
        observed,
        error=None if observed.error is None else sight.text(observed.error),
        streams=sight.by_stream(observed.streams),
        suspended=sight.by_query(observed.suspended),
        differing=sight.by_query(observed.differing),
        letters=sight.by_stream(observed.letters),
        latency_ms=sight.by_query(observed.latency_ms),
    )


def _nearly_spent(now: datetime) -> dict[str, str]:
    """The teams that have spent most of their month's budget or all, and how much."""
    months = {one.team.name: one.month for one in months_with_budget(now)}
    return {name: month.told for name, month in months.items() if month and month.stand != "within"}


def _of(topology: Topology, spending: Mapping[str, str]) -> dict[str, str]:
    """Those of them that have queries in a topology."""
    if not spending:
        return {}
    teams = topology.deployed.filter(query__team__name__in=spending).values_list(
        "query__team__name", flat=True
    )
    return {name: spending[name] for name in set(teams)}


def observe(topology: Topology, now: datetime, *, letters: bool = False) -> Observed:
    """What is known of a topology now.

    Its dead letters are read only on demand.
    """
    state = live_state(topology)
    tables = set(Stream.objects.filter(kind="table").values_list("name", flat=True))
    batch = state.batch
    streams = {} if batch is None else batch.streams
    latency = {} if batch is None else {name: one.latency_ms_p99 for name, one in batch.queries.items()}
    return Observed(
        error=topology_error(topology),
        wanted=topology.desired == Desired.RUNNING,
        # Versions may be of any time.
        streams={name: one for name, one in streams.items() if name not in tables},
        waiting_since=waiting_since(topology, state),
        suspended=dict(topology.deployed.exclude(suspended_at=None).values_list("query__name", "excess")),
        differing=differing(topology),
        letters=letters_since(topology.name, sorted(streams), now - timedelta(minutes=1)) if letters else {},
        latency_ms={name: ms for name, ms in latency.items() if ms is not None},
        state_bytes=0 if batch is None else sum(store.bytes for store in batch.stores.values()),
        cores=cores_of(state),
    )


def _compare(
    rule: AlertRule, topology: Topology, observed: Observed, there: Mapping[str, Alert], now: datetime
) -> list[int]:
    limits = Limits(
        on_failed=rule.on_failed,
        lag=_seconds(rule.lag_seconds),
        stuck=_seconds(rule.stuck_seconds),
        letters_per_minute=rule.letters_per_minute,
        latency_ms=rule.latency_ms,
        state_mb=rule.state_mb,
        cores=rule.cores,
    )
    holding = dict(conditions(observed, limits, now))
    written = []
    for kind in sorted(holding.keys() - there.keys()):
        try:
            with transaction.atomic():
                alert = Alert.objects.create(
                    rule=rule, topology=topology, kind=kind, detail=holding[kind], opened_at=now
                )
                written.append(Delivery.objects.create(alert=alert, event="opened", due_at=now).pk)
        except IntegrityError:
            # Another worker was faster, and tells.
            continue
    for kind in sorted(there.keys() - holding.keys()):
        with transaction.atomic():
            closed = Alert.objects.filter(pk=there[kind].pk, closed_at=None).update(closed_at=now)
            if closed:
                written.append(Delivery.objects.create(alert=there[kind], event="closed", due_at=now).pk)
    return written


def _seconds(value: int | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=value)
