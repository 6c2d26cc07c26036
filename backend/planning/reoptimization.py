"""Planning again with what the running job observed (dissertation section 7.2).

The job publishes what each epoch did. While the next epoch runs, a task evaluates the newest one:
what its probe orders tell about the streams is laid over what was registered, the queries are
planned for it, and the new plan takes over at a batch boundary if it repays the switch.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO

import polars as pl
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from pydantic import ValidationError

from backend.forecasts.actions import keep_forecasts
from backend.planning import drafting, revisions
from backend.redis import connection, read_entries, send_control
from backend.streams.queries import load_catalog, selectivities
from backend.topologies.models import Desired, Topology
from backend.topologies.models import Plan as PlanRecord
from jobs.protocol import EpochCompleted, Expect, StreamsSampled, samples_key, statistics_key
from optimizer.adaptation import (
    LearntStatistics,
    Resized,
    learn,
    loads,
    most_moved,
    resize,
    tasks_by_stream,
    weigh,
)
from optimizer.adaptation.saving import saved_cost, settled_after_us
from optimizer.adaptation.weighing import same_plan
from optimizer.algebra.errors import Infeasible, InputError
from optimizer.estimate import estimate, expected_cores
from optimizer.partitioning.matrix import keep_groups, with_groups
from optimizer.physical.graph import PhysicalGraph
from optimizer.statistics import (
    DefaultStatistics,
    LayeredStatistics,
    Measured,
    ObservedStatistics,
    SampleStatistics,
    StatisticsProvider,
    observe,
)

log = logging.getLogger(__name__)

LEAST_TUPLES = 1000
"""An epoch with fewer new tuples tells too little to change the number of tasks."""
HORIZON_SECONDS = 3600.0
"""Seconds over which a window without end is taken to hold tuples, as in planning."""


def newest_epoch(topology: str) -> EpochCompleted | None:
    """The last epoch that the topology's job reported, None if none can be read."""
    entries = read_entries(connection().xrevrange(statistics_key(topology), count=1))
    if not entries:
        return None
    (_, fields) = entries[0]
    try:
        return EpochCompleted.model_validate_json(fields.get("message", ""))
    except ValidationError as error:
        log.warning("topology %s: an epoch that cannot be read: %s", topology, error.errors()[0]["msg"])
        return None


def epoch_samples(topology: str, epoch: EpochCompleted) -> SampleStatistics | None:
    """What the epoch's samples tell; None if the newest are another's, or unreadable."""
    entries = read_entries(connection().xrevrange(samples_key(topology), count=1))
    if not entries:
        return None
    (_, fields) = entries[0]
    try:
        found = StreamsSampled.model_validate_json(fields.get("message", ""))
        if (found.run, found.epoch, found.plan_id) != (epoch.run, epoch.epoch, epoch.plan_id):
            return None
        frames = {name: pl.read_ipc_stream(BytesIO(body)) for name, body in found.streams.items()}
    except (ValidationError, pl.exceptions.PolarsError, OSError) as error:
        log.warning("topology %s: samples that cannot be read: %s", topology, error)
        return None
    return SampleStatistics(frames)


def reoptimize(topology_id: int) -> bool:
    """Evaluate a topology's newest epoch, once; true if another plan is to take over.

    Nothing happens while a request of a person is being planned or deployed: what people ask
    for goes first, and the epoch was of another plan then.
    """
    topology = Topology.objects.select_related("plan", "current_run").filter(pk=topology_id).first()
    if topology is None or not _settled(topology):
        return False
    epoch = newest_epoch(topology.name)
    if epoch is None or not _claim(topology, epoch):
        return False
    if epoch.event_seconds <= 0:
        return False
    try:
        return _evaluate(topology, epoch)
    except (InputError, Infeasible) as error:
        # A stream or query has changed under the topology; its next revision says so to people.
        log.info("topology %s: not planned again: %s", topology, error)
        return False


def _settled(topology: Topology) -> bool:
    return (
        topology.desired == Desired.RUNNING
        and topology.plan is not None
        and topology.active_plan_id == topology.plan_id
        and topology.planned_revision == topology.revision
    )


def _claim(topology: Topology, epoch: EpochCompleted) -> bool:
    """True for the one caller to evaluate the epoch, which must be the plan in use's."""
    run = topology.current_run
    assert topology.plan is not None
    if run is None or epoch.run != run.pk or epoch.plan_id != topology.plan.plan_id:
        return False
    mark = f"{epoch.run}:{epoch.epoch}"
    unevaluated = Topology.objects.filter(pk=topology.pk, evaluated_epoch=topology.evaluated_epoch)
    return topology.evaluated_epoch != mark and bool(unevaluated.update(evaluated_epoch=mark))


def _evaluate(topology: Topology, epoch: EpochCompleted) -> bool:
    assert topology.plan is not None
    deployed_graph = PhysicalGraph.from_json(topology.plan.graph, f"plan {topology.plan.plan_id}")
    running = in_shapes(deployed_graph, epoch.shapes)
    catalog = load_catalog()
    deployed = revisions.deployed_queries(topology)
    registered = drafting.registered_statistics(catalog, selectivities())
    queries = revisions.parse_deployed(deployed, catalog)
    # What was counted is told by the plan's own stores, of whatever shapes they were.
    observed = observe(
        deployed_graph,
        Measured(
            epoch.event_seconds, epoch.accepted, epoch.edges, epoch.held, {}, epoch.rules, epoch.until_us
        ),
    )
    sample = epoch_samples(topology.name, epoch)
    learnt = learn(queries, registered, observed, sample, drafting.read_learnt(topology.learnt))
    _tell_saving(topology.plan, running, epoch, observed)
    document = drafting.LEARNT.dump_json(learnt).decode()
    Topology.objects.filter(pk=topology.pk).update(learnt=document)
    tasks = tasks_by_stream(running)
    fixed = [stream.name for stream in catalog.streams if stream.parallelism is not None]
    resized: tuple[Resized, ...] = ()
    if sum(epoch.accepted.values()) >= LEAST_TUPLES:
        found = loads(running, epoch.edges, epoch.last_batch - epoch.first_batch + 1)
        resized = resize(tasks, found, fixed, int(settings.MILLRACE_PARALLELISM))
    tasks |= {one.stream: one.after for one in resized}
    made = revisions.plan_deployed(topology, deployed, learnt, revisions.running_plan(topology.plan), tasks)
    made = replace(made, graph=keep_groups(made.graph, running))
    if same_plan(made.graph, running):
        _expect(topology, deployed_graph, learnt, registered, epoch)
        return False
    cause, saving = "; ".join(map(str, resized)), None
    if not resized:
        weighed = weigh(running, made.graph, learnt, made.options, epoch.event_seconds, HORIZON_SECONDS)
        if not weighed.worthwhile:
            _expect(topology, deployed_graph, learnt, registered, epoch)
            return False
        saving = weighed.saving
        before = drafting.read_learnt(topology.plan.learnt) or learn(queries, registered)
        moved = most_moved(before, learnt)
        cause = str(moved) if moved is not None else "statistics became more exact"
    with transaction.atomic():
        record = revisions.record_plan(
            topology,
            f"{topology.name}.{topology.revision}.{epoch.run}.{epoch.epoch}",
            topology.revision,
            deployed,
            made,
            cause[:255],
            document,
        )
        if saving is not None:
            PlanRecord.objects.filter(pk=record.pk).update(
                before=topology.plan.plan_id, predicted_saving=saving
            )
        # A request of a person may have come meanwhile: then its plan is the one to come.
        adopted = Topology.objects.filter(
            pk=topology.pk, revision=topology.revision, plan=topology.plan
        ).update(plan=record)
        if adopted:
            keep_forecasts(topology, record, deployed, made, learnt, timezone.now())
    log.info("topology %s: plan %s: %s", topology, record.plan_id, cause)
    return bool(adopted)


def in_shapes(graph: PhysicalGraph, shapes: Mapping[str, Sequence[int]]) -> PhysicalGraph:
    """The plan with its grids in the shapes that a job tells of."""
    stores = {store.id for store in graph.stores}
    return with_groups(graph, {store: tuple(rows) for store, rows in shapes.items() if store in stores})


def _tell_saving(
    plan: PlanRecord, running: PhysicalGraph, epoch: EpochCompleted, observed: ObservedStatistics
) -> None:
    """Note what a switch came to save, once stores hold nothing of before it."""
    learnt, settled_us = drafting.read_learnt(plan.learnt), settled_after_us(running)
    if plan.predicted_saving is None:
        return
    if learnt is None or learnt.memory is None or settled_us is None or epoch.until_us is None:
        return
    decided_us = max((rate.until_us or 0 for rate in learnt.memory.rates.values()), default=0)
    if epoch.until_us - epoch.event_seconds * 1e6 < decided_us + settled_us:
        return
    before = PlanRecord.objects.filter(topology=plan.topology_id, plan_id=plan.before).first()
    if before is not None:
        graph, options = PhysicalGraph.from_json(before.graph, before.plan_id), plan.topology.planner_settings
        saving = saved_cost(graph, running, observed, learnt, options.options(), HORIZON_SECONDS)
        count, until_now = plan.saving_epochs, plan.actual_saving or 0.0
        mean = until_now + (saving - until_now) / (count + 1)
        PlanRecord.objects.filter(pk=plan.pk).update(actual_saving=mean, saving_epochs=count + 1)


def _expect(
    topology: Topology,
    running: PhysicalGraph,
    learnt: LearntStatistics,
    registered: StatisticsProvider,
    epoch: EpochCompleted,
) -> None:
    """Tell the job what its plan is expected to do from now on, so that pages show it.

    Batches are expected to span as much event time as those of the epoch did.
    """
    assert topology.plan is not None
    known = LayeredStatistics((learnt.coming, registered, DefaultStatistics()))
    found = estimate(running, known, HORIZON_SECONDS)
    batch_s = epoch.event_seconds / (epoch.last_batch - epoch.first_batch + 1)
    coefficients = topology.planner_settings.options().coefficients
    cores = expected_cores(running, known, coefficients, batch_s, HORIZON_SECONDS)
    send_control(
        topology.name,
        Expect(
            plan_id=topology.plan.plan_id,
            rates=found.edges | found.rules,
            stores=found.stores,
            cores=cores.elements,
            total_cores=cores.total,
            batch_s=batch_s,
        ),
    )
