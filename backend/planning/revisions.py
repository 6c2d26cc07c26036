"""From a topology's queries to a plan in the database."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F
from django.utils import timezone

from backend.catalog.language import parse_versions
from backend.catalog.models import QueryVersion
from backend.forecasts.actions import keep_forecasts
from backend.planning.drafting import read_learnt, registered_statistics
from backend.streams.queries import load_catalog, selectivities
from backend.topologies.models import Plan as PlanRecord
from backend.topologies.models import Topology, TopologyQuery
from optimizer.adaptation import LearntStatistics, tasks_by_stream, with_tasks
from optimizer.algebra.errors import Infeasible, InputError
from optimizer.explain import explain as explain_plan
from optimizer.explain import to_text
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.batch_span import batch_span
from optimizer.planner.plan import Plan, plan
from optimizer.planner.plan_in_use import Running
from optimizer.statistics import LayeredStatistics

log = logging.getLogger(__name__)


def plan_newest(topology_id: int) -> bool:
    """Plan a topology's newest revision and store the plan; true if this call did.

    Of several calls for one revision the first one plans. A revision that cannot be planned
    is marked so, with the reason; the plan before it stays.
    """
    topology = Topology.objects.filter(pk=topology_id).first()
    if topology is None:
        return False
    revision = topology.revision
    claimed = Topology.objects.filter(pk=topology_id, claimed_revision__lt=revision).update(
        claimed_revision=revision, claimed_at=timezone.now()
    )
    if not claimed:
        return False
    deployed = deployed_queries(topology)
    if not deployed:
        # Nothing to run: the topology was stopped when its last query left.
        Topology.objects.filter(pk=topology_id, planned_revision__lt=revision).update(
            planned_revision=revision, plan=None, deployment_error=""
        )
        return True
    try:
        made = plan_deployed(topology, deployed, read_learnt(topology.learnt), _in_use(topology, deployed))
        # What is kept of a plan is worked out from it: that may fail as planning itself does.
        _store(topology, revision, deployed, made)
    except (InputError, Infeasible) as error:
        _refuse(topology_id, revision, str(error))
    except DatabaseError:
        # Not the plan's fault: another task tries again.
        raise
    except Exception as error:
        _refuse(topology_id, revision, f"the optimizer failed: {type(error).__name__}: {error}")
        raise
    return True


def deployed_queries(topology: Topology) -> list[TopologyQuery]:
    """What the topology answers."""
    return list(topology.answered.select_related("version__query"))


def parse_deployed(deployed: Sequence[TopologyQuery], catalog: Catalog) -> list[Query]:
    """The queries in their deployed versions.

    Raises `InputError` if a stream is not as it was.
    """
    versions = [one.version for one in deployed]
    parsed = parse_versions(versions, catalog)
    return [parsed[version.pk] for version in versions]


def _in_use(topology: Topology, deployed: Sequence[TopologyQuery]) -> Running | None:
    """The topology's plan as a start for the next; None to search afresh.

    A revision that changes no query is an operator asking for another plan than this one.
    """
    if topology.plan is None:
        return None
    before = set(topology.plan.versions.values_list("pk", flat=True))
    return None if before == {one.version_id for one in deployed} else running_plan(topology.plan)


def running_plan(record: PlanRecord) -> Running | None:
    """A stored plan as the one in use; None from a release that kept no such thing."""
    if not record.running:
        return None
    catalog = load_catalog()
    try:
        parsed = parse_versions(record.versions.select_related("query"), catalog)
        return Running.from_json(record.running, parsed.values())
    except InputError as error:
        # Planning without a start is always right; what is wrong with a query is said where it is deployed.
        log.info("plan %s: not a start for the next: %s", record.plan_id, error)
        return None


def plan_deployed(
    topology: Topology,
    deployed: Sequence[TopologyQuery],
    learnt: LearntStatistics | None,
    running: Running | None = None,
    tasks: Mapping[str, int] | None = None,
) -> Plan:
    """A plan for what the topology answers; what was measured goes before registered.

    `tasks` are those of streams that set none; they stay as they are if it is None.

    With `running`, the plan in use, only what a change reaches is planned anew, and it is left only for
    a gain (docs/design/optimizer.md, planning again).
    """
    catalog = load_catalog()
    declared = registered_statistics(catalog, selectivities())
    texts = {one.version.query.name: one.version.sql for one in deployed}
    planner, job = topology.planner_settings, topology.job_settings
    seen_s = None if learnt is None else learnt.batch_s(job.epoch_batches)
    return plan(
        parse_deployed(deployed, catalog),
        with_tasks(catalog, _tasks_in_use(topology) if tasks is None else tasks),
        declared if learnt is None else LayeredStatistics((learnt.measured, declared)),
        planner.method,
        planner.options(
            time_limit_s=settings.MILLRACE_PLAN_SECONDS,
            memory_limit=topology.memory_limit_bytes,
            batch_s=batch_span(job.trigger_ms / 1000, seen_s, running),
        ),
        # Stores keep every column and tuple, so that a query over stored streams answers at once.
        "everything",
        tasks=int(settings.MILLRACE_PARALLELISM),
        running=running,
        texts=texts,
    )


def _tasks_in_use(topology: Topology) -> dict[str, int]:
    """By stream, the number of tasks that this topology's load has led to."""
    if topology.plan is None:
        return {}
    graph = PhysicalGraph.from_json(topology.plan.graph, f"plan {topology.plan.plan_id}")
    most = int(settings.MILLRACE_PARALLELISM)
    return {stream: min(tasks, most) for stream, tasks in tasks_by_stream(graph).items()}


def _refuse(topology_id: int, revision: int, reason: str) -> None:
    Topology.objects.filter(pk=topology_id, failed_revision__lt=revision).update(
        failed_revision=revision, deployment_error=reason
    )


def record_plan(
    topology: Topology,
    plan_id: str,
    revision: int,
    deployed: Sequence[TopologyQuery],
    made: Plan,
    cause: str,
    learnt: str,
) -> PlanRecord:
    """Keep a plan for good, with why it was made and what was known then."""
    cost, solution = made.cost, made.solution
    record, _ = PlanRecord.objects.get_or_create(
        plan_id=plan_id,
        defaults={
            "topology": topology,
            "revision": revision,
            "cause": cause,
            "learnt": learnt,
            "running": made.running.to_json(),
            "graph": made.graph.to_json(),
            "text": to_text(explain_plan(made)),
            "method": made.method,
            "status": made.status.value,
            "probe": cost.probe,
            "storage": cost.storage,
            "latency": cost.latency,
            "individual_cost": made.individual_cost,
            "bound": made.bound,
            "build_seconds": solution.build_seconds,
            "solve_seconds": solution.solve_seconds,
        },
    )
    record.versions.set(one.version for one in deployed)
    return record


def forget_failures() -> list[int]:
    """Let every topology whose newest revision failed be planned again.

    Returns those whose revision could not be planned.

    Called when a worker starts: it may have other code, other limits or more memory than the one
    that failed. Several workers may do so at once; the plan's claim lets one of them plan.
    """
    failed = Topology.objects.filter(failed_revision__gte=F("revision"), planned_revision__lt=F("revision"))
    found = list(failed.values_list("pk", flat=True))
    failed.update(claimed_revision=F("planned_revision"), failed_revision=F("planned_revision"))
    return found


def _store(topology: Topology, revision: int, deployed: list[TopologyQuery], made: Plan) -> None:
    with transaction.atomic():
        versions = {one.version_id for one in deployed}
        if len(QueryVersion.objects.select_for_update().filter(pk__in=versions)) < len(versions):
            # A query was deleted meanwhile, with which a newer revision came: that one's plan counts.
            return
        newest = PlanRecord.objects.filter(topology=topology).first()
        if newest is not None and newest.graph == made.graph.to_json():
            record = newest
        else:
            record = record_plan(
                topology, f"{topology.name}.{revision}", revision, deployed, made, "deployed", topology.learnt
            )
        # A newer revision may have been planned meanwhile: the newest wins.
        won = Topology.objects.filter(pk=topology.pk, planned_revision__lt=revision).update(
            planned_revision=revision, plan=record, deployment_error=""
        )
        if won:
            fresh = [one for one in deployed if one.revision > topology.planned_revision]
            learnt = read_learnt(topology.learnt)
            keep_forecasts(topology, record, fresh, made, learnt, timezone.now())
