"""Making and changing rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from backend.accounts.queries import refuse_others, refuse_viewers
from backend.accounts.quotas import Resource, claim
from backend.alerts import tasks, webhooks
from backend.alerts.models import Alert, AlertRule, Channel, Delivery, Kind
from backend.audit.actions import Subject, record
from backend.audit.changes import changed
from backend.errors import Conflict, InputErrors
from backend.streams.actions import team_to_give
from backend.topologies.queries import topologies
from jobs.protocol.webhooks import NotAllowed
from optimizer.algebra.errors import InputError, Place

_KIND = "alert rule"
BETWEEN_TESTS = timedelta(seconds=10)
"""Nobody's mailbox is to be filled by a button."""


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """An alert rule as its author describes it."""

    name: str
    topology: str | None
    channel: str
    target: str
    on_failed: bool
    lag_seconds: int | None
    stuck_seconds: int | None
    letters_per_minute: int | None
    latency_ms: int | None
    state_mb: int | None
    cores: float | None
    enabled: bool
    team: str | None

    def check(self) -> None:
        """Raises `InputErrors` for a target to which nothing may be sent."""
        place = Place("alert", path="target")
        if self.channel == Channel.WEBHOOK:
            try:
                webhooks.check(self.target)
            except NotAllowed as error:
                expected = "a URL that this installation posts to"
                raise InputErrors([InputError("bad-target", place, str(error), expected)]) from error
        elif not settings.MILLRACE_EMAIL:
            expected = "a webhook: this installation sends no e-mail (MILLRACE_EMAIL is not set)"
            raise InputErrors([InputError("no-email", place, self.target, expected)])


def create_rule(owner: User, spec: RuleSpec) -> AlertRule:
    """A new rule.

    Raises `InputErrors`, `Conflict` for an unknown topology or team, `Forbidden`.
    """
    refuse_viewers(owner, "make alerts")
    rule = AlertRule(owner=owner)
    with transaction.atomic():
        claim(owner, Resource.ALERTS)
        _write(owner, rule, spec)
        _note(owner, "create", rule, {})
    return rule


def change_rule(account: User, rule: AlertRule, spec: RuleSpec) -> None:
    """Make the rule as `spec` says."""
    refuse_others(account, rule)
    before = _described(rule)
    with transaction.atomic():
        _write(account, rule, spec)
        if before != _described(rule):
            _note(account, "change", rule, before)


@transaction.atomic
def delete_rule(account: User, rule: AlertRule) -> None:
    refuse_others(account, rule)
    record(account, "delete", Subject.of(_KIND, rule))
    rule.delete()


def try_rule(account: User, rule: AlertRule) -> Delivery:
    """Send a message that says that it is a test.

    Raises `Forbidden`; `Conflict` right after another.
    """
    refuse_others(account, rule)
    now = timezone.now()
    if Alert.objects.filter(rule=rule, kind=Kind.TEST, opened_at__gt=now - BETWEEN_TESTS).exists():
        raise Conflict(
            "tested-just-now", f"a test was sent in the last {BETWEEN_TESTS.seconds} s; wait for it"
        )
    with transaction.atomic():
        alert = Alert.objects.create(
            rule=rule, kind=Kind.TEST, detail="this is a test", opened_at=now, closed_at=now
        )
        made = Delivery.objects.create(alert=alert, event="opened", due_at=now)
        record(account, "test", Subject.of(_KIND, rule))
        transaction.on_commit(lambda: tasks.deliver.delay(made.pk))
    return made


def _described(rule: AlertRule) -> dict[str, object]:
    """A rule as the audit trail compares it; its secret is not among that."""
    plain = (
        *("name", "channel", "target", "on_failed", "lag_seconds", "stuck_seconds", "letters_per_minute"),
        *("latency_ms", "state_mb", "cores", "enabled"),
    )
    of = (("topology", rule.topology), ("team", rule.team))
    named = {name: None if one is None else one.name for name, one in of}
    return {**{name: getattr(rule, name) for name in plain}, **named}


def _note(account: User, verb: str, rule: AlertRule, before: dict[str, object]) -> None:
    # Whoever knows the address of a webhook may often post to it.
    changes = changed(before, _described(rule), hidden=["target"])
    record(account, verb, Subject.of(_KIND, rule), changes=changes)


def _write(account: User, rule: AlertRule, spec: RuleSpec) -> None:
    spec.check()
    topology = None
    if spec.topology is not None:
        topology = topologies(account).filter(name=spec.topology).first()
        if topology is None:
            raise Conflict("no-such-topology", f"there is no topology {spec.topology}")
    present = None if rule.team is None else rule.team.name
    if spec.team != present:
        rule.team = None if spec.team is None else team_to_give(account, spec.team)
    rule.name = spec.name
    rule.topology = topology
    rule.channel, rule.target = spec.channel, spec.target
    rule.on_failed = spec.on_failed
    rule.lag_seconds, rule.stuck_seconds = spec.lag_seconds, spec.stuck_seconds
    rule.letters_per_minute = spec.letters_per_minute
    rule.latency_ms, rule.state_mb, rule.cores = spec.latency_ms, spec.state_mb, spec.cores
    rule.enabled = spec.enabled
    with transaction.atomic():
        rule.save()
        _forget(rule)


def _forget(rule: AlertRule) -> None:
    """Close the alerts that the rule no longer watches.

    Nothing else would, and no user asked to be told of it.
    """
    left = Alert.objects.filter(rule=rule, closed_at=None)
    if rule.enabled and rule.topology is None:
        return
    if rule.enabled:
        left = left.exclude(topology=rule.topology)
    left.update(closed_at=timezone.now())
