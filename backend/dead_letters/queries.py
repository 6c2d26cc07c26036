"""Reading the dead letters that jobs keep in Redis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.contrib.auth.models import AnonymousUser, User

from backend.redis import connection
from backend.topologies.queries import topologies
from backend.topologies.sight import OTHERS, Sight, sights_of
from jobs.protocol import DeadLetter, dead_letters_key, entry_order

_SET_ASIDE = "set aside: "
"""How a reason begins that tells what a batch failed with."""


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


def letters_since(topology: str, streams: Sequence[str], moment: datetime) -> dict[str, int]:
    """How many dead letters of each stream there are from a moment on.

    Those that a topology wrote are counted, as far as Redis keeps them.
    """
    pipeline = connection().pipeline(transaction=False)
    for stream in streams:
        pipeline.xrange(dead_letters_key(topology, stream), min=int(moment.timestamp() * 1000))
    return {stream: len(entries) for stream, entries in zip(streams, pipeline.execute(), strict=True)}


def letters_of(account: User | AnonymousUser, stream: str, limit: int) -> Letters:
    """The newest dead letters of a stream, over all topologies that the account reads.

    What failed for a tuple is told to those who read the query whose work it was.

    Raises `pydantic.ValidationError` for an entry that no job wrote.
    """
    found = list(topologies(account))
    names = [topology.name for topology in found]
    pipeline = connection().pipeline(transaction=False)
    for name in names:
        pipeline.xlen(dead_letters_key(name, stream))
        pipeline.xrevrange(dead_letters_key(name, stream), count=limit)
    answers = pipeline.execute()
    letters = [
        _letter(name, entry, fields)
        for name, entries in zip(names, answers[1::2], strict=True)
        for entry, fields in entries
    ]
    letters.sort(key=lambda letter: (entry_order(letter.id), letter.topology), reverse=True)
    sights = sights_of(account, found)
    sight = {topology.name: sights[topology.pk] for topology in found}
    return Letters(
        sum(answers[::2]), tuple(_told(letter, sight[letter.topology]) for letter in letters[:limit])
    )


def _told(letter: Letter, sight: Sight) -> Letter:
    """The letter without what it says of queries that are not read."""
    is_of_a_query = letter.query or letter.expression or letter.reason.startswith(_SET_ASIDE)
    if sight.is_whole or not is_of_a_query:
        return letter
    if letter.query is not None and all(sight.reads(name.strip()) for name in letter.query.split(",")):
        return letter
    return replace(
        letter,
        reason=sight.text(letter.reason),
        query=None if letter.query is None else OTHERS,
        expression=None if letter.expression is None else OTHERS,
    )


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
