"""A directory's plan as the API shows it."""

from __future__ import annotations

from backend.accounts.queries import is_service
from backend.workloads.changes import QueryChange, StreamChange
from backend.workloads.completeness import Completeness
from backend.workloads.differences import Difference
from backend.workloads.job_changes import JobChange
from backend.workloads.planning import DirectoryPlan, PricedTopology
from optimizer.explain.division import Division


def plan_document(made: DirectoryPlan) -> dict[str, object]:
    changes = made.changes
    return {
        "directory": made.directory,
        "changed": not changes.is_empty,
        "streams": [_stream(one) for one in changes.streams],
        "queries": [_query(one, made.complete.get(one.name)) for one in changes.queries],
        "jobs": [_job(one) for one in changes.jobs],
        "topologies": [_topology(one) for one in made.topologies],
        "left": changes.left,
        "refused": (
            *made.refused,
            *(
                f"{one.name}: {one.outlook.refused}"
                for one in made.topologies
                if one.outlook is not None and one.outlook.refused is not None
            ),
        ),
    }


def _stream(one: StreamChange) -> dict[str, object]:
    return {
        "name": one.name,
        "action": one.action,
        "differences": [_difference(each) for each in one.differences],
        "refused": one.refused,
        "drift": one.drift,
    }


def _job(one: JobChange) -> dict[str, object]:
    return {
        "topology": one.topology,
        "action": one.action,
        "differences": [_difference(each) for each in one.differences],
        "refused": one.refused,
        "drift": one.drift,
    }


def _difference(one: Difference) -> dict[str, object]:
    return {"field": one.field, "before": one.before, "after": one.after}


def _query(one: QueryChange, complete: Completeness | None) -> dict[str, object]:
    return {
        "name": one.name,
        "action": one.action,
        "what": one.what,
        "sql_before": None if one.before is None else one.before.sql,
        "sql_after": None if one.declared is None else one.declared.sql,
        "topology_before": one.topology_before,
        "topology_after": one.topology_after,
        "complete": None
        if complete is None
        else {"kind": complete.kind, "since": complete.since, "text": complete.text},
        "refused": one.refused,
        "drift": one.drift,
    }


def _topology(one: PricedTopology) -> dict[str, object]:
    found = one.outlook
    before, after = (None, None) if found is None else (found.before, found.after)
    return {
        "name": one.name,
        "queries_before": len(one.queries_before),
        "queries_after": len(one.queries_after),
        "before": _cost(before),
        "after": _cost(after),
        "shares": [_share(one, name, before, after) for name in sorted(_named(before) | _named(after))],
        "refused": None if found is None else found.refused,
        "priced": found is not None,
    }


def _named(division: Division | None) -> set[str]:
    return set() if division is None else set(division.shares)


def _cost(division: Division | None) -> dict[str, float] | None:
    if division is None:
        return None
    return {"cores": division.cores, "gb": division.gb, "latency_ms": division.latency_ms}


def _share(
    topology: PricedTopology, name: str, before: Division | None, after: Division | None
) -> dict[str, object]:
    was = None if before is None else before.shares.get(name)
    becomes = None if after is None else after.shares.get(name)
    owner = topology.owners[name]
    return {
        "query": name,
        "owner": "" if owner is None else owner.get_username(),
        "owner_is_service": owner is not None and is_service(owner),
        "cores_before": None if was is None else was.cores,
        "cores_after": None if becomes is None else becomes.cores,
        "gb_before": None if was is None else was.gb,
        "gb_after": None if becomes is None else becomes.gb,
        "steps": 0 if becomes is None else becomes.steps,
        "shared_steps": 0 if becomes is None else becomes.shared_steps,
        "shares_with": () if becomes is None else becomes.shares_with,
    }
