"""The states of topologies, deployments and queries, derived from what is stored."""

from __future__ import annotations

from typing import Literal

from backend.topologies.models import Desired, RunState, Topology, TopologyQuery

DeploymentState = Literal["none", "planning", "planned", "active", "failed"]
QueryStatus = Literal["draft", "deploying", "running", "suspended", "stopped", "failed"]
DEPLOYMENT_CHOICES = [(s, s) for s in ("none", "planning", "planned", "active", "failed")]
STATUS_CHOICES = [(s, s) for s in ("draft", "deploying", "running", "suspended", "stopped", "failed")]


def active_revision(topology: Topology) -> int:
    """The newest revision that the job runs; 0 before the first."""
    if topology.active_plan is None:
        return 0
    if topology.active_plan_id == topology.plan_id:
        # Later revisions may have ended in the very same plan.
        return topology.planned_revision
    return topology.active_plan.revision


def deployment_state(topology: Topology) -> DeploymentState:
    """How far the newest revision has come."""
    if topology.revision == 0:
        return "none"
    if topology.failed_revision >= topology.revision:
        return "failed"
    if topology.planned_revision < topology.revision:
        return "planning"
    return "active" if active_revision(topology) >= topology.revision else "planned"


def topology_state(topology: Topology) -> str:
    """stopped, starting, running, idle, stopping or failed."""
    run = topology.current_run
    wanted = topology.desired == Desired.RUNNING
    if run is None or (run.state == RunState.STOPPED and wanted):
        if not wanted:
            return "stopped"
        return "failed" if topology.plan_id is None and deployment_state(topology) == "failed" else "starting"
    return "starting" if run.state == RunState.CREATED else str(run.state)


def topology_error(topology: Topology) -> str | None:
    """The one line that explains `failed`; None in any other state."""
    if topology_state(topology) != "failed":
        return None
    run = topology.current_run
    return run.error if run is not None and run.state == RunState.FAILED else topology.deployment_error


def suspension_reason(deployment: TopologyQuery) -> str | None:
    """Why a deployed query is not answered; None if it is."""
    return deployment.excess if deployment.suspended_at is not None else None


def query_status(deployment: TopologyQuery | None) -> QueryStatus:
    """What a query's author wants to know of it."""
    if deployment is None:
        return "draft"
    if deployment.suspended_at is not None:
        return "suspended"
    topology = deployment.topology
    state = topology_state(topology)
    if state == "failed":
        return "failed"
    if state in ("stopped", "stopping"):
        return "stopped"
    if state != "starting" and active_revision(topology) >= deployment.revision:
        return "running"
    return "failed" if topology.failed_revision >= deployment.revision else "deploying"
