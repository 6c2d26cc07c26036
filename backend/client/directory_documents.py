"""What the server tells of a directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StreamChange:
    name: str
    action: str
    """create, change, delete or keep."""
    differences: tuple[tuple[str, Any, Any], ...]
    """Field, before, after."""
    drift: tuple[str, ...]
    """How it differs from what was last applied."""


@dataclass(frozen=True, slots=True)
class QueryChange:
    name: str
    action: str
    what: tuple[str, ...]
    sql_before: str | None
    sql_after: str | None
    complete: str | None
    """Since when it will be; None for one that is not deployed anew."""
    drift: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobChange:
    """How a topology's job is to work, from its next start on."""

    topology: str
    action: str
    """change or keep."""
    differences: tuple[tuple[str, Any, Any], ...]
    drift: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JointCost:
    cores: float
    gb: float
    latency_ms: float


@dataclass(frozen=True, slots=True)
class QueryShare:
    """What one query pays of a joint plan."""

    query: str
    owner: str
    owner_is_service: bool
    cores_before: float | None
    """None if it was not there."""
    cores_after: float | None
    gb_before: float | None
    gb_after: float | None
    steps: int
    shared_steps: int
    shares_with: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopologyPlan:
    name: str
    queries_before: int
    queries_after: int
    before: JointCost | None
    after: JointCost | None
    shares: tuple[QueryShare, ...]
    priced: bool


@dataclass(frozen=True, slots=True)
class DirectoryPlan:
    """What applying a directory would do."""

    directory: str
    changed: bool
    streams: tuple[StreamChange, ...]
    queries: tuple[QueryChange, ...]
    jobs: tuple[JobChange, ...]
    topologies: tuple[TopologyPlan, ...]
    left: tuple[str, ...]
    refused: tuple[str, ...]
    document: Mapping[str, Any]
    """As the server wrote it."""


@dataclass(frozen=True, slots=True)
class Applied:
    done: tuple[str, ...]
    awaited: tuple[tuple[str, int], ...]
    """Topologies that are planned anew, with the revision to wait for."""


def directory_plan(document: Mapping[str, Any]) -> DirectoryPlan:
    return DirectoryPlan(
        directory=document["directory"],
        changed=document["changed"],
        streams=tuple(
            StreamChange(one["name"], one["action"], _differences(one), tuple(one["drift"]))
            for one in document["streams"]
        ),
        queries=tuple(
            QueryChange(
                one["name"],
                one["action"],
                tuple(one["what"]),
                one["sql_before"],
                one["sql_after"],
                None if one["complete"] is None else one["complete"]["text"],
                tuple(one["drift"]),
            )
            for one in document["queries"]
        ),
        jobs=tuple(
            JobChange(one["topology"], one["action"], _differences(one), tuple(one["drift"]))
            for one in document["jobs"]
        ),
        topologies=tuple(_topology(one) for one in document["topologies"]),
        left=tuple(document["left"]),
        refused=tuple(document["refused"]),
        document=document,
    )


def applied(document: Mapping[str, Any]) -> Applied:
    awaited = tuple((one["topology"], one["revision"]) for one in document["awaited"])
    return Applied(tuple(document["done"]), awaited)


def _differences(one: Mapping[str, Any]) -> tuple[tuple[str, Any, Any], ...]:
    return tuple((each["field"], each["before"], each["after"]) for each in one["differences"])


def _topology(one: Mapping[str, Any]) -> TopologyPlan:
    return TopologyPlan(
        one["name"],
        one["queries_before"],
        one["queries_after"],
        _cost(one["before"]),
        _cost(one["after"]),
        tuple(QueryShare(**{**each, "shares_with": tuple(each["shares_with"])}) for each in one["shares"]),
        one["priced"],
    )


def _cost(one: Mapping[str, float] | None) -> JointCost | None:
    return None if one is None else JointCost(one["cores"], one["gb"], one["latency_ms"])
