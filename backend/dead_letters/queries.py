"""Reading the dead letters that jobs keep in Redis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from backend.redis import connection
from backend.topologies.models import Topology
from jobs.protocol import DeadLetter, dead_letters_key, entry_order


@dataclass(frozen=True, slots=True)
class Letter:
    """A tuple that a topology turned away."""

    topology: str
    id: str
    """Its entry in Redis."""
    at: datetime
    """When the batch that turned it away was committed."""
    batch: int
    reason: str
    event_time: datetime | None
    tuple: str
    """JSON, or the text as it came."""
    cut: bool
    """True if only the beginning of a longer text was kept."""
    query: str | None = None
    """Whose work failed, as far as known."""
    expression: str | None = None
    """What has no value for the tuple, which was accepted; None if it was turned away."""


@dataclass(frozen=True, slots=True)
class Letters:
    kept: int
    """That lie in Redis: of each topology the newest thousand, about."""
    newest: tuple[Letter, ...]
    """Newest first."""


@dataclass(frozen=True, slots=True)
class Kept:
    """That a topology turned tuples of a stream away that wait for a person."""

    topology: str
    stream: str
    kept: int
    newest: datetime
    """When the batch of the newest one was committed."""


def kept_letters(read: Sequence[tuple[str, str]]) -> tuple[Kept, ...]:
    """How many dead letters there are of each (topology, stream), where any are."""
    pipeline = connection().pipeline(transaction=False)
    for topology, stream in read:
        pipeline.xlen(dead_letters_key(topology, stream))
        pipeline.xrevrange(dead_letters_key(topology, stream), count=1)
    answers = pipeline.execute()
    return tuple(
        Kept(topology, stream, kept, _at(entries[0][0]))
        for (topology, stream), kept, entries in zip(read, answers[::2], answers[1::2], strict=True)
        if entries
    )


def letters_of(stream: str, limit: int) -> Letters:
    """The newest dead letters of a stream, over all topologies that read it.

    Raises `pydantic.ValidationError` for an entry that no job wrote.
    """
    names = list(Topology.objects.values_list("name", flat=True))
    pipeline = connection().pipeline(transaction=False)
    for name in names:
        pipeline.xlen(dead_letters_key(name, stream))
        pipeline.xrevrange(dead_letters_key(name, stream), count=limit)
    answers = pipeline.execute()
    found = [
        _letter(name, entry, fields)
        for name, entries in zip(names, answers[1::2], strict=True)
        for entry, fields in entries
    ]
    found.sort(key=lambda letter: (entry_order(letter.id), letter.topology), reverse=True)
    return Letters(sum(answers[::2]), tuple(found[:limit]))


def _letter(topology: str, entry: str, fields: dict[str, str]) -> Letter:
    told = DeadLetter.model_validate_json(fields["letter"])
    return Letter(
        topology=topology,
        id=entry,
        at=_at(entry),
        batch=int(fields["batch"]),
        reason=told.reason,
        event_time=told.event_time,
        tuple=told.tuple,
        cut=told.cut,
        query=told.query,
        expression=told.expression,
    )


def _at(entry: str) -> datetime:
    return datetime.fromtimestamp(entry_order(entry)[0] / 1000, UTC)


def find(stream: str, wanted: Sequence[tuple[str, str]]) -> list[Letter | None]:
    """The letters of these (topology, id), in one look at Redis.

    None for one that is gone: sent again, discarded, or pushed out by newer ones.
    """
    pipeline = connection().pipeline(transaction=False)
    for topology, entry in wanted:
        pipeline.xrange(dead_letters_key(topology, stream), min=entry, max=entry)
    return [
        _letter(topology, *entries[0]) if entries else None
        for (topology, _), entries in zip(wanted, pipeline.execute(), strict=True)
    ]
