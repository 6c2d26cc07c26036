from __future__ import annotations

from collections.abc import Sequence

from rest_framework import serializers
from rest_framework.request import Request

from backend.http.documents import Document, Form
from backend.topologies.models import Run
from backend.topologies.sight import Sight, sights_of


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
        return self._told(record, record.error)

    def get_error_detail(self, record: Run) -> str | None:
        return self._told(record, record.error_detail)

    def _told(self, record: Run, text: str) -> str | None:
        sights: dict[int, Sight] = self.context["sights"]
        return sights[record.topology_id].text(text) or None


def shown_runs(request: Request, records: Sequence[Run]) -> list[object]:
    """Runs as documents, as far as the account that asks sees their topologies."""
    topologies = {run.topology_id: run.topology for run in records}
    context = {"sights": sights_of(request.user, topologies.values())}
    return list(RunSerializer(records, many=True, context=context).data)


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
