from __future__ import annotations

from rest_framework import serializers

from backend.http.documents import Document, Form
from backend.topologies.models import Run


class RunSerializer(serializers.ModelSerializer[Run]):
    topology = serializers.CharField(source="topology.name")
    plan_id = serializers.CharField(source="plan.plan_id", allow_null=True, default=None)
    error = serializers.SerializerMethodField()
    error_detail = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = (
            "id",
            "topology",
            "state",
            "attempt",
            "pid",
            "host",
            "plan_id",
            "memory_limit_bytes",
            "created_at",
            "started_at",
            "heartbeat_at",
            "ended_at",
            "batch",
            "error",
            "error_detail",
        )
        # Only ever written by the supervisor; so the document says that every field is always there.
        read_only_fields = fields

    def get_error(self, record: Run) -> str | None:
        return record.error or None

    def get_error_detail(self, record: Run) -> str | None:
        return record.error_detail or None


class RunsFilterSerializer(Form):
    topology = serializers.CharField(default="", allow_blank=True, max_length=63)
    limit = serializers.IntegerField(min_value=1, max_value=500, default=50)


class TailSerializer(Form):
    tail = serializers.IntegerField(min_value=1, max_value=5000, default=200)
    search = serializers.CharField(
        allow_blank=True, default="", max_length=200, help_text="only lines with this text, in any case"
    )


class RunLogSerializer(Document):
    lines = serializers.ListField(child=serializers.CharField())
    truncated = serializers.BooleanField()
