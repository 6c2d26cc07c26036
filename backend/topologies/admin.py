from django.contrib import admin

from backend.shell.read_only import ReadOnly
from backend.topologies.models import Plan, PlanSwitch, QueryPin, Run, Topology


@admin.register(Topology)
class TopologyAdmin(ReadOnly):
    list_display = ("name", "desired", "planner", "revision", "planned_revision", "failures", "restart_at")


@admin.register(Plan)
class PlanAdmin(ReadOnly):
    list_display = ("plan_id", "topology", "method", "status", "probe", "storage", "created_at")
    list_filter = ("topology",)


@admin.register(Run)
class RunAdmin(ReadOnly):
    list_display = ("id", "topology", "state", "attempt", "pid", "created_at", "ended_at", "error")
    list_filter = ("topology", "state")


@admin.register(PlanSwitch)
class PlanSwitchAdmin(ReadOnly):
    list_display = ("topology", "plan_id", "epoch", "batch", "cause", "at")
    list_filter = ("topology",)


@admin.register(QueryPin)
class QueryPinAdmin(ReadOnly):
    list_display = ("query", "topology", "by", "at")
    list_filter = ("topology",)
