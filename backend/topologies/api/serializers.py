from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from backend.documents import Document, Form
from backend.live.state import LIVE_STATE_CHOICES
from backend.oracle.api.serializers import CorrectnessSerializer, correctness
from backend.topologies import places
from backend.topologies.actions import Deployment
from backend.topologies.models import ENDED, Desired, Run, Topology
from backend.topologies.placement import pinned_topology
from backend.topologies.status import (
    DEPLOYMENT_CHOICES,
    active_revision,
    deployment_state,
    suspension_reason,
    topology_error,
    topology_state,
)


class CostSerializer(Document):
    """Cost by kind, in probe tuples per second."""

    probe = serializers.FloatField()
    storage = serializers.FloatField()
    latency = serializers.FloatField()
    total = serializers.FloatField()


class SecondsSerializer(Document):
    build = serializers.FloatField()
    solve = serializers.FloatField()


class PlanSerializer(Document):
    plan_id = serializers.CharField()
    graph = serializers.DictField(help_text="optimizer/physical_graph.schema.json")
    cost = CostSerializer()
    individual_cost = serializers.FloatField()
    method = serializers.CharField()
    status = serializers.CharField()
    bound = serializers.FloatField(allow_null=True)
    gap = serializers.FloatField(allow_null=True)
    seconds = SecondsSerializer()
    text = serializers.CharField()
    created_at = serializers.DateTimeField()


class MarginalSerializer(Document):
    """What this query adds to a topology's plan."""

    topology = serializers.CharField()
    text = serializers.CharField(help_text="in one line")
    reuse = serializers.CharField(help_text="the steps that it shares, and with which query")
    cost = CostSerializer()
    stores_new = serializers.IntegerField()
    stores_shared = serializers.IntegerField()
    probes_new = serializers.IntegerField()
    probes_shared = serializers.IntegerField()
    probe_percent = serializers.FloatField(allow_null=True)


class ExplanationSerializer(Document):
    text = serializers.CharField()
    cost = CostSerializer()
    individual_cost = serializers.FloatField()
    method = serializers.CharField()
    status = serializers.CharField()
    bound = serializers.FloatField(allow_null=True)
    gap = serializers.FloatField(allow_null=True)
    graph = serializers.DictField(help_text="optimizer/physical_graph.schema.json")
    marginal = MarginalSerializer(allow_null=True)


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


class TopologyQuerySerializer(Document):
    id = serializers.IntegerField()
    name = serializers.CharField()
    version = serializers.IntegerField()
    suspended = serializers.CharField(allow_null=True, help_text="why it is not answered; null if it is")
    correctness = CorrectnessSerializer(allow_null=True, help_text="null: not checked yet")
    pinned = serializers.CharField(
        allow_null=True, help_text="the topology to which an operator pinned it; null: wherever it is put"
    )


class DeploymentSerializer(Document):
    revision = serializers.IntegerField()
    planned_revision = serializers.IntegerField()
    active_revision = serializers.IntegerField()
    state = serializers.ChoiceField(choices=DEPLOYMENT_CHOICES)
    error = serializers.CharField(allow_null=True)


class TopologySerializer(serializers.ModelSerializer[Topology]):
    state = serializers.SerializerMethodField()
    queries = serializers.SerializerMethodField()
    streams = serializers.SerializerMethodField()
    plan_id = serializers.CharField(source="active_plan.plan_id", allow_null=True, default=None)
    memory_limit_bytes = serializers.IntegerField(
        allow_null=True, help_text="of what is stored, from the next start on; null: any amount"
    )
    run = RunSerializer(source="current_run", allow_null=True)
    error = serializers.SerializerMethodField()
    waiting = serializers.SerializerMethodField(help_text="why its job is not launched yet; null if it is")
    restarts = serializers.IntegerField(source="failures")
    restart_at = serializers.SerializerMethodField()
    deployment = serializers.SerializerMethodField()

    class Meta:
        model = Topology
        fields = (
            "name",
            "state",
            "desired",
            "trigger_ms",
            "method",
            "memory_limit_bytes",
            "queries",
            "streams",
            "plan_id",
            "run",
            "error",
            "waiting",
            "restarts",
            "restart_at",
            "deployment",
        )

    @extend_schema_field(serializers.ChoiceField(choices=LIVE_STATE_CHOICES))
    def get_state(self, record: Topology) -> str:
        return topology_state(record)

    @extend_schema_field(TopologyQuerySerializer(many=True))
    def get_queries(self, record: Topology) -> list[dict[str, object]]:
        return deployed_queries(record)

    def get_streams(self, record: Topology) -> list[str]:
        return sorted(
            {source.stream.name for one in record.deployed.all() for source in one.version.inputs.all()}
        )

    def get_error(self, record: Topology) -> str | None:
        return topology_error(record)

    def get_waiting(self, record: Topology) -> str | None:
        run = record.current_run
        if record.desired != Desired.RUNNING or (run is not None and run.state not in ENDED):
            return None
        # One look for all that are shown together.
        if "places" not in self.context:
            self.context["places"] = places.look(timezone.now())  # type: ignore[index]  # DRF's is a dict
        found: places.Places = self.context["places"]
        return found.reason(record.pk)

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_restart_at(self, record: Topology) -> datetime | None:
        if topology_state(record) != "failed" or record.desired != "running":
            return None
        return record.restart_at

    @extend_schema_field(DeploymentSerializer)
    def get_deployment(self, record: Topology) -> dict[str, object]:
        state = deployment_state(record)
        return {
            "revision": record.revision,
            "planned_revision": record.planned_revision,
            "active_revision": active_revision(record),
            "state": state,
            "error": record.deployment_error if state == "failed" else None,
        }


def deployed_queries(record: Topology) -> list[dict[str, object]]:
    """The queries of a topology, each in its deployed version."""
    return [
        {
            "id": one.query_id,
            "name": one.query.name,
            "version": one.version.number,
            "suspended": suspension_reason(one),
            "correctness": correctness(one),
            "pinned": pinned_topology(one.query),
        }
        for one in record.deployed.all()
    ]


class StopSerializer(Form):
    mode = serializers.ChoiceField(choices=["now", "drain"], default="now")


class DeployRequestSerializer(Form):
    topology = serializers.RegexField(r"\A[a-z][a-z0-9_-]{0,62}\Z", required=False)
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)


class DeployedSerializer(serializers.Serializer[Deployment]):
    topology = serializers.CharField()
    revision = serializers.IntegerField()
    query = serializers.CharField()
    version = serializers.IntegerField()


class RunsFilterSerializer(Form):
    topology = serializers.CharField(default="", allow_blank=True, max_length=63)
    limit = serializers.IntegerField(min_value=1, max_value=500, default=50)


class TailSerializer(Form):
    tail = serializers.IntegerField(min_value=1, max_value=5000, default=200)


class RunLogSerializer(Document):
    lines = serializers.ListField(child=serializers.CharField())
    truncated = serializers.BooleanField()


class PlanFilterSerializer(Form):
    plan_id = serializers.CharField(default="", allow_blank=True, max_length=100)
