"""Planner settings of a topology: an operator sets them, the plan follows."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from backend.accounts.queries import refuse_non_operators
from backend.audit.changes import changed
from backend.deployments import actions
from backend.deployments.noted import note
from backend.topologies.models import Topology
from optimizer.planner.settings import PlannerSettings


def set_planner(account: User, topology: Topology, wanted: PlannerSettings) -> None:
    """Plan the topology's queries under other settings, from now on.

    The new plan takes over at a batch boundary; results stay the same. Settings that admit no plan are
    kept, and the topology says why until there are others; what ran before goes on.

    Args:
        account: an operator.
        topology: with queries or without.
        wanted: all settings; those with their default are not kept, so that they follow later releases.

    Raises `Forbidden`: the account is no operator.
    """
    refuse_non_operators(account, f"set how {topology} is planned")
    said = wanted.changes(topology.planner_settings)
    if not said:
        return
    with transaction.atomic():
        Topology.objects.filter(pk=topology.pk).update(planner=wanted.chosen())
        changes = changed(topology.planner_settings.document(), wanted.document())
        note(account, "planner", topology, changes, said)
        if topology.answered.exists():
            actions.replan(account, topology)
