"""What the server tells, as far as programs need it; /api/docs/ shows all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Query:
    id: int
    name: str
    version: int
    status: str
    """draft, deploying, running, stopped or failed."""
    topology: str | None
    owner: str
    owner_is_service: bool
    streams: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stream:
    name: str
    columns: tuple[tuple[str, str], ...]
    """Name and type."""
    event_time: str
    lateness_ms: int
    tuples_per_second: float | None
    """As declared; None if nobody did."""
    entries: int | None
    """That lie in Redis; None if it is out of reach."""
    query_count: int
    kind: str
    """stream or table."""


@dataclass(frozen=True, slots=True)
class Topology:
    name: str
    state: str
    """stopped, starting, running, idle, stopping or failed."""
    error: str | None
    queries: tuple[str, ...]
    revision: int
    """Of the newest request to change its queries."""
    active_revision: int
    """Of the newest one that runs."""
    deployment: str
    """none, planning, planned, active or failed."""
    deployment_error: str | None


@dataclass(frozen=True, slots=True)
class Deployment:
    """That a topology was asked to answer a query, or no longer."""

    query: str
    version: int
    topology: str
    revision: int
    """It runs as soon as the topology's `active_revision` has come so far."""


@dataclass(frozen=True, slots=True)
class Result:
    """One answer of a query."""

    id: str
    """Grows with time."""
    batch: int
    row: Mapping[str, Any]
    """Values as JSON has them.

    Moments are ISO 8601 texts, binaries base64, intervals seconds, decimals texts with all their digits.
    """


@dataclass(frozen=True, slots=True)
class Page:
    """Results of a subscription, in order, each once."""

    rows: tuple[Mapping[str, Any], ...]
    batches: tuple[int, ...]
    """Of each row."""
    cursor: str
    """Behind them: where to read on, also after a restart of the program."""
    more: bool
    """True if there are more already."""


@dataclass(frozen=True, slots=True)
class Preview:
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    more: bool
    """True if there are more results than rows."""
    sources: tuple[str, ...]
    """What was read, a line per stream."""


def owner_text(name: str, is_service: bool) -> str:
    """The owner as texts show it.

    >>> owner_text("loader", True)
    'loader (service)'
    """
    return f"{name} (service)" if is_service else name


def query(document: Mapping[str, Any]) -> Query:
    return _read(Query, document, streams=tuple(document["streams"]))


def stream(document: Mapping[str, Any]) -> Stream:
    columns = tuple((column["name"], column["type"]) for column in document["columns"])
    return _read(Stream, document, columns=columns)


def topology(document: Mapping[str, Any]) -> Topology:
    asked = document["deployment"]
    return _read(
        Topology,
        document,
        queries=tuple(one["name"] for one in document["queries"]),
        revision=asked["revision"],
        active_revision=asked["active_revision"],
        deployment=asked["state"],
        deployment_error=asked["error"],
    )


def deployment(document: Mapping[str, Any]) -> Deployment:
    return _read(Deployment, document)


def page(document: Mapping[str, Any]) -> Page:
    return _read(Page, document, rows=tuple(document["rows"]), batches=tuple(document["batches"]))


def preview(document: Mapping[str, Any]) -> Preview:
    return _read(
        Preview,
        document,
        columns=tuple(column["name"] for column in document["columns"]),
        rows=tuple(document["rows"]),
        sources=tuple(_source(one) for one in document["sources"]),
    )


def _read(kind: type[D], document: Mapping[str, Any], **shaped: object) -> D:
    """The fields as the document has them, but those that are shaped otherwise."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # all of them are dataclasses
    return kind(**{name: shaped[name] if name in shaped else document[name] for name in names})


def _source(one: Mapping[str, Any]) -> str:
    span = f", {one['oldest']} to {one['newest']}" if one["tuples"] else ""
    broken = f", {one['unreadable']} unreadable" if one["unreadable"] else ""
    return f"{one['stream']}: {'all' if one['whole'] else 'newest'} {one['tuples']} tuples{span}{broken}"
