"""Checking the running queries, one topology at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F

from backend.catalog.language import parse_versions
from backend.oracle.comparison import compare
from backend.oracle.expected.running import is_running, published_names
from backend.oracle.expected.sessions import left_out
from backend.oracle.ledger import Ledger, told_batches
from backend.oracle.models import Check, Light, Verdict
from backend.oracle.published import published
from backend.oracle.queries import light_of, verified_until
from backend.oracle.reference import Reference, reference, sampled_reference, why_sampled
from backend.oracle.sampling.keys import keys_of
from backend.oracle.sampling.sample import Sample, Sampling
from backend.oracle.sampling.shelf import Shelf
from backend.oracle.span import BeyondReach, CannotCheck, Span, choose_span, microseconds
from backend.redis import connection, send_control
from backend.streams.queries import load_catalog
from backend.topologies.models import Desired, Plan, Topology, TopologyQuery
from jobs.protocol import Verified, check_key
from optimizer.algebra.errors import InputError
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import registered_inputs

BUDGET_SECONDS = 0.5
"""Of one round over a topology's queries; what does not fit comes first in the next round. A check that
was begun is finished."""
CHECKS_KEPT = 100
"""Checks of a query."""
_LEASE_SECONDS = 120
"""After which a worker that began a round and is gone has lost it."""


def due_topologies() -> list[int]:
    """The topologies whose queries are to be checked; none if checks are turned off."""
    if not settings.MILLRACE_CHECK_SECONDS:
        return []
    return list(Topology.objects.filter(desired=Desired.RUNNING).values_list("pk", flat=True))


def check_topology(topology_id: int, now: datetime) -> int:
    """Check queries whose turn it is, longest unchecked first; returns how many.

    Nothing happens while another worker is at the same topology, and nothing is written of a query for
    which no batch came since its last check.
    """
    topology = Topology.objects.filter(pk=topology_id).first()
    if topology is None:
        return 0
    with _alone(topology) as mine:
        return _check_due(topology, now) if mine else 0


@contextmanager
def _alone(topology: Topology) -> Iterator[bool]:
    """True for one worker at a time; a worker that dies has it for _LEASE_SECONDS."""
    key = check_key(topology.name)
    mine = bool(connection().set(key, "1", nx=True, ex=_LEASE_SECONDS))
    try:
        yield mine
    finally:
        if mine:
            connection().delete(key)


def _check_due(topology: Topology, now: datetime) -> int:
    deployed = topology.answered.select_related("query", "version__query", "light__newest")
    since = now - timedelta(seconds=settings.MILLRACE_CHECK_SECONDS)
    waiting: list[tuple[datetime, int, TopologyQuery]] = []
    for one in deployed:
        light = light_of(one)
        if light is None or light.newest.at <= since:
            waiting.append(
                (datetime.min.replace(tzinfo=now.tzinfo) if light is None else light.newest.at, one.pk, one)
            )
    if not waiting:
        return 0
    ledger = Ledger(told_batches(topology.name))
    catalog = load_catalog()
    began = time.monotonic()
    checked = 0
    verified: dict[str, dict[str, int | None]] = {}
    for _, _, deployment in sorted(waiting):
        if time.monotonic() - began > BUDGET_SECONDS:
            break
        made = check_query(deployment, topology, ledger, catalog, now)
        if made is not None and _keep(deployment, made):
            checked += 1
            if made.verdict != Verdict.UNCHECKED:
                until = verified_until(deployment)
                said = verified.setdefault(made.plan_id, {})
                said[deployment.query.name] = None if until is None else microseconds(until)
    for plan_id, until_us in verified.items():
        _tell(topology, Verified(plan_id=plan_id, until_us=until_us))
    return checked


def _tell(topology: Topology, message: Verified) -> None:
    """Tell the job until when its queries are verified: its sinks pass that on.

    Not while it has yet to take another plan or to stop: the supervisor sends these again once Redis was
    emptied, and knows that by the lack of any message.
    """
    told = Topology.objects.filter(pk=topology.pk, active_plan=F("plan"), current_run__isnull=False)
    if told.filter(current_run__stop_requested_at=None).exists():
        send_control(topology.name, message)


def check_query(
    deployment: TopologyQuery, topology: Topology, ledger: Ledger, catalog: Catalog, now: datetime
) -> Check | None:
    """Compare a query's results of its newest unchecked batches; None without any.

    The check is not stored.
    """
    began = time.monotonic()
    light = light_of(deployment)
    made = Check(
        query=deployment.query, topology=topology, version=deployment.version.number, at=now, plan_id=""
    )
    try:
        # What it reads comes with it.
        query = parse_versions([deployment.version], catalog)[deployment.version_id]
        streams = {source.stream for source in registered_inputs(query)}
        checked = None if light is None else light.newest.last_batch
        span = choose_span(ledger, query.name, streams, _answering(deployment), checked)
        if span is None:
            return None
        made.plan_id = span.batches[-1].plan_id
        made.first_batch, made.last_batch = span.numbers[0], span.numbers[-1]
        told = {batch.batch: batch.queries[query.name].results for batch in span.batches}
        made.results = sum(told.values())
        found = _reference(Sampling(query, catalog, ledger, keys_of(query)), span, deployment)
        made.share = 1.0 if found.sampled is None else found.sampled.share
        made.tuples, made.event_from, made.event_to = found.tuples, found.event_from, found.event_to
        names = published_names(query)
        tail = published(topology.name, query.name, told)
        in_sample = None if found.sampled is None or found.sampled.is_all else found.sampled.holds
        difference = compare(names, found.by_batch, told, tail, in_sample)
    except (CannotCheck, InputError) as error:
        made.verdict, made.reason = Verdict.UNCHECKED, str(error)
    else:
        made.expected, made.compared = difference.expected, difference.compared
        made.missing, made.extra = difference.missing, difference.extra
        possible = sum(one.possible.total() for one in found.by_batch.values())
        if difference.missing or difference.extra:
            made.verdict, made.examples = Verdict.DIFFERS, difference.examples.model_dump_json()
        elif possible and not difference.expected and not made.results:
            made.verdict, made.reason = Verdict.UNCHECKED, "its windows are still filling"
        else:
            made.verdict = Verdict.EQUAL
        if difference.undecided:
            made.reason = left_out(difference.undecided, found.gaps)
            if made.verdict == Verdict.EQUAL and not difference.expected:
                made.verdict = Verdict.UNCHECKED
    made.seconds = time.monotonic() - began
    return made


def _reference(sampling: Sampling, span: Span, deployment: TopologyQuery) -> Reference:
    """DuckDB's results of a span, or those of a sample of keys.

    A sample is kept of windows that are too large, and of groups without an end.

    Raises `CannotCheck` if neither can be known.
    """
    if sampling.query.derived:
        try:
            return reference(sampling.query, sampling.catalog, sampling.ledger, span)
        except BeyondReach as error:
            raise CannotCheck(f"{error}, and of results of other queries no sample is kept") from error
    shelf = Shelf(deployment.topology.name, deployment.pk)
    kept = shelf.get(sampling)
    if kept is None or not sampling.continues(kept):
        if is_running(sampling.query):
            # All that came is needed again by each check, and some day no longer there.
            kept = sampling.begun(span)
        else:
            try:
                return reference(sampling.query, sampling.catalog, sampling.ledger, span)
            except BeyondReach:
                kept = sampling.begun(span)
    sample = _read_on(sampling, kept, shelf)
    if sample.batch < span.numbers[-1]:
        raise CannotCheck(
            f"{why_sampled(sampling.query)}, and the sample that is kept of them has been read up to batch "
            f"{sample.batch:,} of {span.numbers[-1]:,}"
        )
    return sampled_reference(sampling, sample, span)


def _read_on(sampling: Sampling, kept: Sample, shelf: Shelf) -> Sample:
    """Read a query's sample on with what came since its last check, and keep it.

    Raises `CannotCheck` if that cannot be known: it has left Redis, or was set aside.
    """
    try:
        sample = sampling.read_on(kept)
    except CannotCheck:
        # Another one fills with what comes from now on.
        shelf.put(sampling, sampling.begun_now())
        raise
    shelf.put(sampling, sample)
    return sample


def _answering(deployment: TopologyQuery) -> Callable[[str], bool]:
    """Whether a plan answers the deployed version, by the plan's id."""
    known: dict[str, bool] = {}

    def answers(plan_id: str) -> bool:
        if plan_id not in known:
            plans = Plan.objects.filter(topology=deployment.topology_id, plan_id=plan_id)
            known[plan_id] = plans.filter(versions=deployment.version_id).exists()
        return known[plan_id]

    return answers


def _keep(deployment: TopologyQuery, made: Check) -> bool:
    """Store a check and what it makes of the light; false if the deployment has gone."""
    with transaction.atomic():
        present = TopologyQuery.objects.select_for_update().filter(
            pk=deployment.pk, topology=made.topology, version=deployment.version_id
        )
        if not present.exists():
            return False
        before = light_of(deployment)
        differed_at = None if before is None else before.differed_at
        made.save()
        Light.objects.update_or_create(
            deployment=deployment,
            defaults={
                "newest": made,
                "differed_at": made.at if made.verdict == Verdict.DIFFERS else differed_at,
            },
        )
        oldest = Check.objects.filter(query=made.query).values_list("pk", flat=True)[
            CHECKS_KEPT : CHECKS_KEPT + 1
        ]
        Check.objects.filter(query=made.query, pk__lte=max(oldest, default=0)).delete()
    return True
