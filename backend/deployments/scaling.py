"""The parallelism of a topology's streams, and an operator's override."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from backend.accounts.queries import refuse_non_operators
from backend.audit.changes import changed
from backend.deployments import actions
from backend.deployments.noted import note
from backend.errors import Conflict
from backend.streams.models import Stream
from backend.topologies.models import Topology
from optimizer.adaptation import tasks_by_stream
from optimizer.physical.graph import PhysicalGraph


@dataclass(frozen=True, slots=True)
class StreamTasks:
    stream: str
    tasks: int | None
    """Of its base stores in the plan in use; None before the first plan."""
    fixed: int | None
    """What somebody set; None where the load decides."""


def most_tasks() -> int:
    """Tasks that the load may ask for; what is set by hand may be more."""
    return int(settings.MILLRACE_PARALLELISM)


def tasks_of(topology: Topology) -> tuple[StreamTasks, ...]:
    """Every stream that the topology's queries read, by name."""
    plan = topology.active_plan or topology.plan
    planned: dict[str, int] = {}
    if plan is not None:
        planned = tasks_by_stream(PhysicalGraph.from_json(plan.graph, f"plan {plan.plan_id}"))
    read = Stream.objects.filter(readers__version__in=topology.answered.values("version")).distinct()
    return tuple(
        StreamTasks(name, planned.get(name), fixed)
        for name, fixed in read.order_by("name").values_list("name", "parallelism")
    )


def set_tasks(account: User, topology: Topology, wanted: Mapping[str, int | None]) -> None:
    """Set how many tasks the stores of some streams have, and plan the topology anew.

    The plan takes over at a batch boundary; stores keep what they hold, and results stay the same. The
    number is the stream's: other topologies that read it follow when they are next planned.

    Args:
        account: an operator.
        topology: with at least one query.
        wanted: by stream; None leaves it to the load.

    Raises:
        Forbidden: the account is no operator.
        Conflict: the topology does not read one of the streams, or has no queries.
    """
    refuse_non_operators(account, f"scale {topology}")
    present = {one.stream: one.fixed for one in tasks_of(topology)}
    unknown = sorted(set(wanted) - set(present))
    if unknown:
        read = ", ".join(present) or "no stream"
        raise Conflict("stream-not-read", f"{topology} does not read {', '.join(unknown)}, it reads {read}")
    changed_to = {stream: tasks for stream, tasks in sorted(wanted.items()) if tasks != present[stream]}
    if not changed_to:
        return
    with transaction.atomic():
        for stream, tasks in changed_to.items():
            Stream.objects.filter(name=stream).update(parallelism=tasks)
        actions.replan(account, topology)
        said = ", ".join(f"{stream}: {tasks or 'by load'}" for stream, tasks in changed_to.items())
        changes = changed({stream: present[stream] for stream in changed_to}, changed_to)
        note(account, "scale", topology, changes, said)
