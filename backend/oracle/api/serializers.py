from __future__ import annotations

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from backend.oracle.comparison import Examples
from backend.oracle.models import Check, Light, Verdict
from backend.oracle.queries import light_of
from backend.topologies.models import TopologyQuery

_ROWS = serializers.ListField(child=serializers.DictField(child=serializers.JSONField(allow_null=True)))


class CheckSerializer(serializers.ModelSerializer[Check]):
    """One comparison of a query's published results with DuckDB's of the same tuples."""

    topology = serializers.CharField(source="topology.name")
    verdict = serializers.ChoiceField(choices=Verdict.choices)
    reason = serializers.SerializerMethodField(
        help_text="what could not be compared, and why; null if all was"
    )
    missing_rows = serializers.SerializerMethodField(help_text="some that are missing; values as JSON")
    extra_rows = serializers.SerializerMethodField(help_text="some that are too many")

    class Meta:
        model = Check
        fields = (
            "at",
            "topology",
            "version",
            "plan_id",
            "verdict",
            "reason",
            "first_batch",
            "last_batch",
            "event_from",
            "event_to",
            "tuples",
            "results",
            "expected",
            "compared",
            "missing",
            "extra",
            "missing_rows",
            "extra_rows",
            "share",
            "seconds",
        )
        read_only_fields = fields

    def get_reason(self, record: Check) -> str | None:
        return record.reason or None

    @extend_schema_field(_ROWS)
    def get_missing_rows(self, record: Check) -> list[dict[str, object]]:
        return list(_examples(record).missing)

    @extend_schema_field(_ROWS)
    def get_extra_rows(self, record: Check) -> list[dict[str, object]]:
        return list(_examples(record).extra)


class CorrectnessSerializer(serializers.Serializer[Light]):
    """What the checks of a deployed query came to."""

    newest = CheckSerializer()
    differed_at = serializers.DateTimeField(
        allow_null=True, help_text="when this version last differed; null: never"
    )


def correctness(deployment: TopologyQuery | None) -> object:
    """The document of a deployment's light; None if there is none."""
    light = None if deployment is None else light_of(deployment)
    return None if light is None else CorrectnessSerializer(light).data


def _examples(record: Check) -> Examples:
    return Examples.model_validate_json(record.examples) if record.examples else Examples()
