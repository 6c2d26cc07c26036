from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from backend.accounts.api.serializers import IsServiceField
from backend.alerts.actions import RuleSpec
from backend.alerts.models import AlertRule, Channel, Delivery, Kind
from backend.alerts.queries import newest_deliveries, sights_of_messages
from backend.http.documents import Form
from backend.topologies.sight import Sight

SHORTEST_SECONDS = 5
"""What is watched for: alerts are looked at this often (`CELERY_BEAT_SCHEDULE`)."""
LONGEST_SECONDS = 7 * 24 * 3600
MOST = 1_000_000_000
LIMITS = ("lag_seconds", "stuck_seconds", "letters_per_minute", "latency_ms", "state_mb", "cores")


class AlertRuleWriteSerializer(Form):
    name = serializers.CharField(max_length=100)
    topology = serializers.CharField(max_length=63, allow_null=True, default=None, help_text="null is every")
    channel = serializers.ChoiceField(choices=Channel.choices)
    target = serializers.CharField(max_length=500, help_text="a URL or an e-mail address")
    on_failed = serializers.BooleanField(default=True)
    lag_seconds = serializers.IntegerField(
        min_value=SHORTEST_SECONDS,
        max_value=LONGEST_SECONDS,
        allow_null=True,
        default=None,
        help_text="of event time",
    )
    stuck_seconds = serializers.IntegerField(
        min_value=SHORTEST_SECONDS,
        max_value=LONGEST_SECONDS,
        allow_null=True,
        default=None,
        help_text="of wall clock",
    )
    letters_per_minute = serializers.IntegerField(
        min_value=0, max_value=MOST, allow_null=True, default=None, help_text="dead letters; 0 tells of each"
    )
    latency_ms = serializers.IntegerField(
        min_value=1,
        max_value=MOST,
        allow_null=True,
        default=None,
        help_text="of any query, for 99 of 100 results of the last minute",
    )
    state_mb = serializers.IntegerField(
        min_value=1, max_value=MOST, allow_null=True, default=None, help_text="that the stores hold"
    )
    cores = serializers.FloatField(
        min_value=0.01, max_value=MOST, allow_null=True, default=None, help_text="that the job uses"
    )
    enabled = serializers.BooleanField(default=True)
    team = serializers.CharField(max_length=63, allow_null=True, default=None)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["channel"] == Channel.EMAIL:
            try:
                validate_email(attrs["target"])
            except ValidationError as error:
                raise serializers.ValidationError({"target": error.messages}) from error
        if not attrs["on_failed"] and all(attrs[limit] is None for limit in LIMITS):
            raise serializers.ValidationError({"on_failed": ["choose at least one thing to be told of"]})
        return attrs

    def spec(self) -> RuleSpec:
        return RuleSpec(**self.validated_data)


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """A message, as far as the account that asks may know what it told."""

    kind = serializers.ChoiceField(source="alert.kind", choices=Kind.choices)
    topology = serializers.CharField(source="alert.topology.name", allow_null=True, default=None)
    detail = serializers.SerializerMethodField()
    opened_at = serializers.DateTimeField(source="alert.opened_at")

    class Meta:
        model = Delivery
        fields = (
            "id",
            "kind",
            "event",
            "topology",
            "detail",
            "opened_at",
            "state",
            "attempts",
            "error",
            "sent_at",
        )
        read_only_fields = fields

    def get_detail(self, record: Delivery) -> str:
        sights: dict[int | None, Sight] = self.context["sights"]
        return sights[record.alert.topology_id].text(record.alert.detail)


class AlertRuleSerializer(serializers.ModelSerializer[AlertRule]):
    topology = serializers.CharField(source="topology.name", allow_null=True, default=None)
    owner = serializers.CharField(source="owner.username")
    owner_is_service = IsServiceField(source="owner")
    team = serializers.CharField(source="team.name", allow_null=True, default=None)

    newest = serializers.SerializerMethodField(help_text="its newest message; null before the first")

    class Meta:
        model = AlertRule
        fields = (
            "id",
            "name",
            "topology",
            "channel",
            "target",
            "secret",
            "on_failed",
            "lag_seconds",
            "stuck_seconds",
            "letters_per_minute",
            "latency_ms",
            "state_mb",
            "cores",
            "enabled",
            "owner",
            "owner_is_service",
            "team",
            "created_at",
            "newest",
        )
        read_only_fields = fields

    @extend_schema_field(DeliverySerializer(allow_null=True))
    def get_newest(self, record: AlertRule) -> object:
        found = self.context["newest"].get(record.pk)
        return None if found is None else DeliverySerializer(found, context=self.context).data


def rule_documents(account: User, rules: Sequence[AlertRule]) -> list[dict[str, object]]:
    """The documents of rules, each with its newest message.

    Of what that told as much as the account may know.
    """
    newest = newest_deliveries(rules)
    context = {"newest": newest, "sights": sights_of_messages(account, newest.values())}
    return [dict(AlertRuleSerializer(rule, context=context).data) for rule in rules]


def shown_messages(account: User, records: Sequence[Delivery]) -> list[object]:
    context = {"sights": sights_of_messages(account, records)}
    return list(DeliverySerializer(records, many=True, context=context).data)
