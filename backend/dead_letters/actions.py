"""Sending dead letters again, and discarding them."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.contrib.auth.models import User
from django.db import transaction

from backend.accounts.queries import refuse_others
from backend.audit.actions import Subject
from backend.audit.actions import record as note
from backend.dead_letters.queries import Letter, find
from backend.errors import Conflict
from backend.redis import connection
from backend.streams.actions import refuse_connected
from backend.streams.models import Stream
from backend.streams.queries import to_domain
from backend.streams.values import normalize, refuse_ahead
from backend.topologies.models import Topology
from backend.topologies.queries import topologies
from jobs.protocol import appended_key, dead_letters_key, stream_key
from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.functions.decimals import WrittenFloat
from optimizer.algebra.types import ColumnType
from optimizer.logical import stream as domain

_REDRIVE = """
-- KEYS[1] is the stream, the others are letters' streams; ARGV holds id and tuple of each letter.
-- A letter that somebody else took meanwhile is not sent twice.
local sent = {}
for i = 2, #KEYS do
  if redis.call('XDEL', KEYS[i], ARGV[2 * i - 3]) == 1 then
    redis.call('XADD', KEYS[1], '*', 'json', ARGV[2 * i - 2])
    sent[#sent + 1] = i - 2
  end
end
return sent
"""
_DECODED = ("late", "null event time", "event time ahead of arrival", "set aside: ")
"""How reasons begin under which the letter's text is the decoded tuple and not what its producer wrote."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A letter that a user points at, and the tuple to send in its place, if another."""

    topology: str
    id: str
    tuple: Mapping[str, object] | None = None


def redrive(account: User, record: Stream, chosen: Sequence[Chosen], now: datetime) -> int:
    """Append the letters' tuples to their stream again, all or none; returns how many.

    Every topology that reads the stream gets them, also one that had accepted them. A letter leaves
    the dead letters as its tuple enters the stream, so that it is never sent twice.

    Raises `Forbidden`; `Conflict` when a letter is gone or its tuple was accepted; `InputError` whose path
    names the letter and the column (`letters.2.tuple.delay`) when its tuple does not fit the stream.
    """
    refuse_others(account, record)
    stream = to_domain(record)
    refuse_connected(stream)
    _refuse_unread(account, chosen)
    texts = []
    there = find(record.name, [(one.topology, one.id) for one in chosen])
    for place, (one, letter) in enumerate(zip(chosen, there, strict=True)):
        if letter is None:
            raise Conflict("no-such-letter", f"letter {one.id} of {one.topology} is gone; reload the list")
        if letter.expression is not None:
            raise Conflict(
                "accepted-tuple",
                f"{one.topology} accepted the tuple of letter {one.id}, for which an expression has no "
                "value; sent again, it would be there twice",
            )
        source = f"letters.{place}.tuple"
        event = _event(letter, stream, source) if one.tuple is None else one.tuple
        row = normalize(event, stream, source)
        refuse_ahead(row, stream, now, source)
        texts.append(json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    keys = [stream_key(record.name), *(dead_letters_key(one.topology, record.name) for one in chosen)]
    words = [word for one, text in zip(chosen, texts, strict=True) for word in (one.id, text)]
    with transaction.atomic():
        sent = cast("list[int]", connection().eval(_REDRIVE, len(keys), *keys, *words))
        _note(account, "redrive", record, [chosen[place].topology for place in sent])
    return len(sent)


def discard(account: User, record: Stream, chosen: Sequence[Chosen]) -> int:
    """Delete letters for good; returns how many there were.

    Raises `Forbidden`; `Conflict` for letters of a topology that the account does not read.
    """
    refuse_others(account, record)
    _refuse_unread(account, chosen)
    pipeline = connection().pipeline(transaction=True)
    for one in chosen:
        pipeline.xdel(dead_letters_key(one.topology, record.name), one.id)
    with transaction.atomic():
        gone = [one.topology for one, deleted in zip(chosen, pipeline.execute(), strict=True) if deleted]
        _note(account, "discard", record, gone)
    return len(gone)


def _refuse_unread(account: User, chosen: Sequence[Chosen]) -> None:
    read = set(topologies(account).values_list("name", flat=True))
    for one in chosen:
        if one.topology not in read:
            raise Conflict("no-such-letter", f"letter {one.id} of {one.topology} is gone; reload the list")


def forget_letters(stream: str) -> None:
    """Delete every dead letter of a stream from Redis."""
    letters = [
        dead_letters_key(topology, stream) for topology in Topology.objects.values_list("name", flat=True)
    ]
    if letters:
        connection().delete(*letters, *(appended_key(letter) for letter in letters))


def _event(letter: Letter, stream: domain.Stream, source: str) -> object:
    """The letter's tuple as the ingest endpoint takes it."""
    place = Place(f"events of {stream.name}", path=source)
    if letter.cut:
        raise InputError("cut-letter", place, "the beginning of a longer text", "a whole tuple: correct it")
    try:
        event = json.loads(letter.tuple, parse_float=WrittenFloat)
    except (ValueError, RecursionError) as error:
        raise InputError("bad-event", place, letter.tuple[:60], "a JSON object: correct it") from error
    if letter.reason.startswith(_DECODED) and isinstance(event, dict):
        for name, kind in stream.columns:
            if kind is ColumnType.BINARY and isinstance(event.get(name), str):
                event[name] = base64.b64encode(bytes.fromhex(event[name])).decode()
    return event


def _note(account: User, action: str, record: Stream, topologies: Sequence[str]) -> None:
    subject = Subject.of("stream", record)
    for topology, number in sorted(Counter(topologies).items()):
        said = f"{number} dead letter{'' if number == 1 else 's'} of {record.name}"
        note(account, action, subject, topology=topology, detail=said)
