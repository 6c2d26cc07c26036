"""Reading what the oracle found."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from django.db.models import QuerySet

from backend.oracle.models import Check, Light, Verdict
from backend.topologies.models import Topology, TopologyQuery


def light_of(deployment: TopologyQuery) -> Light | None:
    """What the checks of a deployment came to; None if its version has had none yet."""
    light = cast("Light | None", getattr(deployment, "light", None))
    if light is None or light.newest.version != deployment.version.number:
        return None
    return light if light.newest.topology_id == deployment.topology_id else None


def verified_until(deployment: TopologyQuery) -> datetime | None:
    """The newest event time in batches whose results were found equal to a batch join.

    None if the deployed version was never found equal, or was found to differ since.
    """
    mine = Check.objects.filter(
        query=deployment.query_id, topology=deployment.topology_id, version=deployment.version.number
    )
    newest = mine.exclude(verdict=Verdict.UNCHECKED).exclude(event_to=None).first()
    return newest.event_to if newest is not None and newest.verdict == Verdict.EQUAL else None


def checks_of(query_id: int, limit: int) -> QuerySet[Check]:
    """A query's checks, newest first, of all its versions and topologies."""
    return Check.objects.filter(query=query_id).select_related("topology")[:limit]


def differing(topology: Topology) -> dict[str, str]:
    """The topology's queries whose newest check found a difference, and what it is."""
    found = {}
    for one in topology.answered.select_related("query", "version", "light__newest"):
        light = light_of(one)
        if light is not None and light.newest.verdict == Verdict.DIFFERS:
            found[one.query.name] = difference_text(light.newest)
    return found


def difference_text(check: Check) -> str:
    """In one line.

    >>> difference_text(Check(missing=2, extra=0, first_batch=4, last_batch=9))
    '2 results missing and 0 too many in batches 4 to 9'
    """
    return (
        f"{check.missing} results missing and {check.extra} too many "
        f"in batches {check.first_batch} to {check.last_batch}"
    )
