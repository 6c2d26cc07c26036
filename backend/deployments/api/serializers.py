from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import get_args

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from backend.deployments.actions import Deployment
from backend.http.documents import Document, Form
from backend.live.api.answered import TopologyQuerySerializer, deployed_queries, other_queries
from backend.live.state import LIVE_STATE_CHOICES
from backend.runs import launch_queue
from backend.runs.api.serializers import RunSerializer
from backend.topologies.models import ENDED, Desired, Topology
from backend.topologies.sight import Sight, sights_of
from backend.topologies.status import (
    DEPLOYMENT_CHOICES,
    active_revision,
    deployment_state,
    topology_error,
    topology_state,
)
from optimizer.search.problem import CostUnit


class DeploymentSerializer(Document):
    revision = serializers.IntegerField()
    planned_revision = serializers.IntegerField()
    active_revision = serializers.IntegerField()
    state = serializers.ChoiceField(choices=DEPLOYMENT_CHOICES)
    error = serializers.CharField(allow_null=True)


class TopologySerializer(serializers.ModelSerializer[Topology]):
    state = serializers.SerializerMethodField()
    queries = serializers.SerializerMethodField()
    other_queries = serializers.SerializerMethodField(help_text="how many there are that one does not read")
    streams = serializers.SerializerMethodField()
    plan_id = serializers.CharField(source="active_plan.plan_id", allow_null=True, default=None)
    trigger_ms = serializers.IntegerField(source="job_settings.trigger_ms")
    method = serializers.CharField(source="planner_settings.method")
    cost = serializers.ChoiceField(
        source="planner_settings.cost", choices=get_args(CostUnit), help_text="what its plans are chosen by"
    )
    memory_limit_bytes = serializers.IntegerField(
        allow_null=True, help_text="of what is stored, from the next start on; null: any amount"
    )
    run = serializers.SerializerMethodField()
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
            "cost",
            "memory_limit_bytes",
            "queries",
            "other_queries",
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
        return deployed_queries(record, self._sight(record))

    def get_other_queries(self, record: Topology) -> int:
        return other_queries(record, self._sight(record))

    @extend_schema_field(RunSerializer(allow_null=True))
    def get_run(self, record: Topology) -> object:
        run = record.current_run
        return None if run is None else RunSerializer(run, context={"sights": self.context["sights"]}).data

    def _sight(self, record: Topology) -> Sight:
        sights: dict[int, Sight] = self.context["sights"]
        return sights[record.pk]

    def get_streams(self, record: Topology) -> list[str]:
        sight = self._sight(record)
        seen = (one for one in record.deployed.all() if sight.reads(one.query.name))
        return sorted({source.stream.name for one in seen for source in one.version.inputs.all()})

    def get_error(self, record: Topology) -> str | None:
        error = topology_error(record)
        return None if error is None else self._sight(record).text(error)

    def get_waiting(self, record: Topology) -> str | None:
        run = record.current_run
        if record.desired != Desired.RUNNING or (run is not None and run.state not in ENDED):
            return None
        # One look for all that are shown together.
        if "places" not in self.context:
            self.context["places"] = launch_queue.look(timezone.now())  # type: ignore[index]  # DRF's is a dict
        found: launch_queue.LaunchQueue = self.context["places"]
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
            "error": self._sight(record).text(record.deployment_error) if state == "failed" else None,
        }


def shown_topologies(request: Request, records: Iterable[Topology]) -> object:
    """Topologies as documents, as far as the account that asks sees them."""
    found = list(records)
    return TopologySerializer(found, many=True, context={"sights": sights_of(request.user, found)}).data


def shown_topology(request: Request, record: Topology) -> object:
    """The same of one."""
    return TopologySerializer(record, context={"sights": sights_of(request.user, [record])}).data


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
