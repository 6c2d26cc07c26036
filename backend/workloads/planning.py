"""Plan a directory: what it would change, the cost, and what is against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.contrib.auth.models import User

from backend.accounts.queries import is_operator
from backend.accounts.quotas import Resource, quotas_of, uses
from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.catalog.language import texts_naming, texts_of, words_of
from backend.catalog.models import Query as QueryRecord
from backend.errors import InputErrors, TooMuchWork
from backend.limits.query_limits import excess_expected
from backend.planning import drafting
from backend.planning.drafting import Planning
from backend.planning.explanation import planning_of, registered
from backend.streams.queries import load_catalog, readable_catalog
from backend.topologies.models import QueryAllowance, Topology, TopologyQuery
from backend.topologies.sight import OTHERS, WHOLE, Sight, sight_of
from backend.workloads.changes import Changes, QueryChange, find_changes, refuse_foreign
from backend.workloads.completeness import Completeness, completeness, stored_by
from backend.workloads.directory import Declared, read_directory
from backend.workloads.outlook import Answered, Outlook, outlook
from optimizer.explain.division import Division, Share
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query

_ESTIMATED_TOGETHER = 25
"""Queries whose own cost is estimated at once: each takes a tenth of a second or so of a request's time."""
_MOST_PRICED = 20
"""Topologies whose joint plans are made for one request; of the others only changes are told."""


@dataclass(frozen=True, slots=True)
class PricedTopology:
    """A topology whose queries change, with its joint plan before and after."""

    name: str
    queries_before: tuple[str, ...]
    queries_after: tuple[str, ...]
    outlook: Outlook | None
    """None if it was too much work to plan them."""
    owners: Mapping[str, User | None]
    """Of its queries, by name; None of those that the account may not know of."""


@dataclass(frozen=True, slots=True)
class DirectoryPlan:
    directory: str
    declared: Declared
    changes: Changes
    topologies: tuple[PricedTopology, ...]
    complete: Mapping[str, Completeness]
    """By query that is deployed anew."""
    refused: tuple[str, ...]
    """Everything that stands against applying it."""


def read_files(account: User, caller: Caller, files: Mapping[str, str]) -> Declared:
    """What a directory says, worked out in a worker.

    Raises `InputErrors` that name file, line and what was expected, and what `Pool.run` raises.
    """
    words = frozenset(
        word for path, text in files.items() if path.endswith(".sql") for word in words_of(text)
    )
    reading = pool.plan(
        caller, read_directory, dict(files), readable_catalog(account), texts_naming(account, words)
    )
    if reading.declared is None:
        raise InputErrors(reading.errors)
    return reading.declared


def plan_directory(
    account: User, caller: Caller, directory: str, files: Mapping[str, str], prune: bool
) -> DirectoryPlan:
    """Everything that applying the directory would do; nothing is written.

    Raises as `read_files`.
    """
    declared = read_files(account, caller, files)
    changes, refused = judged(account, caller, directory, declared, prune)
    priced, complete = _priced(account, caller, declared, changes)
    return DirectoryPlan(directory, declared, changes, priced, complete, refused)


def judged(
    account: User, caller: Caller, directory: str, declared: Declared, prune: bool
) -> tuple[Changes, tuple[str, ...]]:
    """What a directory would change, and everything that stands against it."""
    changes = find_changes(account, directory, declared, prune)
    refuse_foreign(account, changes)
    _refuse_too_costly(caller, declared, changes)
    return changes, (*changes.refused, *_beyond_quota(account, changes))


def _refuse_too_costly(caller: Caller, declared: Declared, changes: Changes) -> None:
    """Mark queries that alone would do more than one query may."""
    allowed = set(QueryAllowance.objects.values_list("query__name", flat=True))
    asked = [
        one for one in changes.queries if one.redeploys and one.refused is None and one.name not in allowed
    ]
    for begin in range(0, len(asked), _ESTIMATED_TOGETHER):
        some = asked[begin : begin + _ESTIMATED_TOGETHER]
        drafts = [(one.declared.query, one.declared.sql) for one in some if one.declared is not None]
        expected = pool.plan(caller, drafting.estimates_of, drafts, registered(declared.catalog))
        for change, found in zip(some, expected, strict=True):
            excess = excess_expected(change.record or QueryRecord(name=change.name), found)
            change.refused = None if excess is None else str(excess)


def _beyond_quota(account: User, changes: Changes) -> list[str]:
    if is_operator(account):
        return []
    wanted = {
        Resource.STREAMS: sum(one.action == "create" for one in changes.streams),
        Resource.QUERIES: sum(one.action == "create" for one in changes.queries),
    }
    found = []
    for use in uses(account):
        more = wanted.get(use.resource, 0)
        if more and use.limit is not None and use.used + more > use.limit:
            found.append(
                f"{account.get_username()} has {use.used} of {use.limit} {use.resource}; "
                f"the directory has {more} more"
            )
    most = quotas_of(account.pk)[Resource.VERSIONS]
    for change in changes.queries:
        if change.writes and change.record is not None and change.record.versions.count() >= most:
            found.append(f"{change.name} has {most} of {most} versions; save the text as another query")
    return found


def _priced(
    account: User, caller: Caller, declared: Declared, changes: Changes
) -> tuple[tuple[PricedTopology, ...], dict[str, Completeness]]:
    present = load_catalog()
    wanted = _with_unread(declared.catalog, present)
    altered = {one.name for one in changes.streams if one.action == "change"}
    deployed: dict[str, list[TopologyQuery]] = {}
    rows = TopologyQuery.objects.filter(suspended_at=None).select_related(
        "topology", "query__owner__service_account", "version"
    )
    for row in rows.prefetch_related("version__inputs__stream"):
        deployed.setdefault(row.topology.name, []).append(row)
    affected = {
        topology
        for change in changes.queries
        if change.redeploys or change.topology_before != change.topology_after
        for topology in (change.topology_before, change.topology_after)
        if topology is not None
    }
    for name, rows_of in deployed.items():
        read = {source.stream.name for row in rows_of for source in row.version.inputs.all()}
        if read & altered:
            affected.add(name)
    records = {
        one.name: one for one in Topology.objects.filter(name__in=affected).select_related("active_plan")
    }
    complete: dict[str, Completeness] = {}
    priced = []
    for number, name in enumerate(sorted(affected)):
        topology = records.get(name)
        coming = [one for one in changes.queries if one.topology_after == name and one.redeploys]
        stored = stored_by(topology)
        for one in coming:
            assert one.declared is not None
            complete[one.name] = completeness(one.declared.query, declared.catalog, stored)
        rows_here = deployed.get(name, [])
        described = _Described(name, topology, rows_here, coming, _leaving(name, coming, changes))
        priced.append(_topology(account, caller, described, present, wanted, number < _MOST_PRICED))
    return tuple(priced), complete


def _with_unread(declared: Catalog, present: Catalog) -> Catalog:
    """The catalog after a change, with the streams of others' queries.

    Its author does not read all of these.
    """
    unread = (stream for stream in present if declared.find(stream.name) is None)
    return Catalog.of([*declared, *unread], declared.functions)


@dataclass(frozen=True, slots=True)
class _Described:
    """A topology whose queries change."""

    name: str
    record: Topology | None
    rows: Sequence[TopologyQuery]
    """What it answers."""
    coming: Sequence[QueryChange]
    leaving: frozenset[str]
    """Of the queries that it answers those that go, or get another version."""


def _leaving(name: str, coming: Sequence[QueryChange], changes: Changes) -> frozenset[str]:
    gone = {one.name for one in changes.queries if one.topology_before == name != one.topology_after}
    return frozenset(gone | {one.name for one in coming})


def _topology(
    account: User, caller: Caller, one: _Described, present: Catalog, wanted: Catalog, is_priced: bool
) -> PricedTopology:
    staying = [row for row in one.rows if row.query.name not in one.leaving]
    owners: dict[str, User | None] = {row.query.name: row.query.owner for row in one.rows}
    for change in one.coming:
        owners[change.name] = account if change.record is None else change.record.owner
    drafts = tuple((c.declared.query, c.declared.sql) for c in one.coming if c.declared is not None)
    found = None
    if is_priced:
        before = _answered([row.version_id for row in one.rows], present, ())
        after = _answered([row.version_id for row in staying], wanted, drafts)
        learnt = "" if one.record is None else one.record.learnt
        planning = Planning() if one.record is None else planning_of(one.record)
        try:
            found = pool.plan(caller, outlook, before, after, learnt, planning)
        except TooMuchWork:
            # What changes is told all the same.
            found = None
    sight = WHOLE if one.record is None else sight_of(account, one.record)
    own = frozenset(change.name for change in one.coming)
    return PricedTopology(
        one.name,
        tuple(sorted(row.query.name for row in one.rows)),
        tuple(sorted([*(row.query.name for row in staying), *(change.name for change in one.coming)])),
        None if found is None else _seen(found, sight, own),
        {name: owner for name, owner in owners.items() if name in own or sight.reads(name)} | {OTHERS: None},
    )


def _seen(found: Outlook, sight: Sight, own: frozenset[str]) -> Outlook:
    """The outlook with one share for all queries that the account does not read."""
    if sight.queries is None:
        return found
    known = sight.queries | own
    before, after = (None if one is None else _divided(one, known) for one in (found.before, found.after))
    return replace(found, before=before, after=after, refused=found.refused and sight.text(found.refused))


def _divided(whole: Division, known: frozenset[str]) -> Division:
    shares: dict[str, Share] = {}
    for name, share in whole.shares.items():
        if name in known:
            with_ = sorted({other if other in known else OTHERS for other in share.shares_with})
            shares[name] = replace(share, shares_with=tuple(with_))
    others = [share for name, share in whole.shares.items() if name not in known]
    if others:
        cores, gb = sum(one.cores for one in others), sum(one.gb for one in others)
        shares[OTHERS] = Share(cores, gb, 0, 0, ())
    return replace(whole, shares=shares)


def _answered(keys: Iterable[int], catalog: Catalog, drafts: tuple[tuple[Query, str], ...]) -> Answered:
    ordered = tuple(keys)
    return Answered(registered(catalog), ordered, texts_of(ordered), drafts)
