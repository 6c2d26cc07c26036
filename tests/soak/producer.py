"""The producer: a process of its own that writes tuples into Redis Streams and notes what it sent.

It names its entries itself. When Redis goes away nobody knows whether the last ones were taken; once it
is back the newest entry says so, and only what lies behind it is sent again. So everything is there
exactly once, whenever Redis ends.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobs.protocol import stream_key
from tests.soak.tuples import ARROW_STREAM, STREAMS, Drawing, Drawn

TICK_S = 0.05
KEPT_S = 240.0
"""Redis keeps the entries of about this time: more than the longest time without a job, because what is
trimmed before it was read is lost."""
_LEAST_KEPT = 200_000
"""At a low rate for much longer: on a busy machine a job may take minutes to start."""
_MOST_AT_ONCE = 4000
"""Tuples of a stream in one go, when it has to catch up."""
_ARROW_ROWS = 20
_GARBAGE_EVERY = 5000
_NOTED_EVERY_S = 5.0
_GARBAGE = ("{", "[1, 2]", '{"ts": "yesterday", "id": 1}', "\\u0000", "")


@dataclass(slots=True)
class _Stream:
    name: str
    drawing: Drawing
    last_ms: int = 0
    sequence: int = 0
    owed: float = 0.0
    since_garbage: int = 0
    noted: list[pa.Table] = field(default_factory=list)
    files: int = 0

    def next_id(self) -> tuple[int, int]:
        now_ms = time.time_ns() // 1_000_000
        if now_ms > self.last_ms:
            self.last_ms, self.sequence = now_ms, 0
        else:
            self.sequence += 1
        return self.last_ms, self.sequence


class Producer:
    """Starts, paces and ends the process.

    What was sent is noted in FOLDER/STREAM-NUMBER.parquet: the tuples' columns, `entry_ms` and
    `entry_seq`; of garbage only the entry, with a NULL id.
    """

    def __init__(self, port: int, folder: Path, seed: int) -> None:
        folder.mkdir(parents=True)
        context = multiprocessing.get_context("spawn")
        self._rate: Synchronized[float] = context.Value("d", 0.0)
        self._sent: Synchronized[int] = context.Value("q", 0)
        self._ready, self._ending = context.Event(), context.Event()
        shared = (self._rate, self._sent, self._ready, self._ending)
        self._process = context.Process(target=_produce, args=(port, folder, seed, *shared), daemon=True)

    def start(self) -> None:
        """Returns once it is able to send."""
        self._process.start()
        while not self._ready.wait(1.0):
            if not self.is_running:
                raise RuntimeError(f"the producer ended with {self._process.exitcode}")

    def pace(self, tuples_per_second: float) -> None:
        """Of all streams together, from now on."""
        self._rate.value = tuples_per_second

    @property
    def sent(self) -> int:
        """Tuples so far, duplicates counted."""
        return self._sent.value

    @property
    def is_running(self) -> bool:
        return self._process.is_alive()

    def end(self) -> None:
        """Lets it send what it owes; all that was sent is noted when this returns."""
        self._ending.set()
        self._process.join()
        if self._process.exitcode != 0:
            raise RuntimeError(f"the producer ended with {self._process.exitcode}")


def _produce(
    port: int,
    folder: Path,
    seed: int,
    rate: Synchronized[float],
    sent: Synchronized[int],
    ready: Event,
    ending: Event,
) -> None:
    # Whether to send again is decided here, by the newest entry.
    once = Retry(NoBackoff(), 0)
    client = redis.Redis(port=port, socket_timeout=10, socket_connect_timeout=2, retry=once)
    streams = [_Stream(name, Drawing(name, seed)) for name in STREAMS]
    before_us = time.time_ns() // 1000
    noted_at = time.monotonic()
    ready.set()
    while not ending.wait(TICK_S):
        now_us = time.time_ns() // 1000
        each = rate.value / len(streams)
        for stream in streams:
            stream.owed += each * (now_us - before_us) / 1e6
            began_us = before_us
            while stream.owed >= 1:
                many = min(int(stream.owed), _MOST_AT_ONCE)
                until_us = now_us - int((now_us - began_us) * (1 - many / stream.owed))
                drawn = stream.drawing.draw(many, began_us, until_us, each)
                stream.owed -= many
                began_us = until_us
                _send(client, stream, drawn, each)
                with sent.get_lock():
                    sent.value += len(drawn)
        before_us = now_us
        if time.monotonic() - noted_at > _NOTED_EVERY_S:
            _note(streams, folder)
            noted_at = time.monotonic()
    _note(streams, folder)


def _send(client: redis.Redis, stream: _Stream, drawn: Drawn, per_second: float) -> None:
    """Writes the tuples, and notes them once they are all there."""
    entries: list[tuple[tuple[int, int], str, Any]] = []
    table = drawn.table()
    rows_of: list[int] = []
    if stream.name == ARROW_STREAM:
        for first in range(0, len(drawn), _ARROW_ROWS):
            part = table.slice(first, _ARROW_ROWS)
            entries.append((stream.next_id(), "arrow", _body(part)))
            rows_of.append(part.num_rows)
        # The last entry of every tick is not full.
        per_second = per_second / _ARROW_ROWS + 1 / TICK_S
    else:
        for text in drawn.texts():
            entries.append((stream.next_id(), "json", text))
            rows_of.append(1)
    ids = np.repeat(np.array([number for number, _, _ in entries], np.int64), rows_of, axis=0)
    stream.since_garbage += len(drawn)
    garbage: list[tuple[int, int]] = []
    if stream.since_garbage >= _GARBAGE_EVERY:
        stream.since_garbage -= _GARBAGE_EVERY
        number = stream.next_id()
        garbage.append(number)
        entries.append((number, "json", _GARBAGE[number[0] % len(_GARBAGE)]))
    _write(client, stream_key(stream.name), entries, int(max(_LEAST_KEPT, per_second * KEPT_S)))
    noted = table.append_column("entry_ms", pa.array(ids[:, 0])).append_column(
        "entry_seq", pa.array(ids[:, 1])
    )
    stream.noted.append(noted)
    if garbage:
        empty = {name: pa.nulls(1, noted.schema.field(name).type) for name in noted.column_names}
        entry = {"entry_ms": pa.array([garbage[0][0]]), "entry_seq": pa.array([garbage[0][1]])}
        stream.noted.append(pa.table(empty | entry, schema=noted.schema))


def _write(
    client: redis.Redis, key: str, entries: Sequence[tuple[tuple[int, int], str, Any]], kept: int
) -> None:
    while entries:
        pipeline = client.pipeline(transaction=False)
        for (ms, sequence), name, body in entries:
            pipeline.xadd(key, {name: body}, id=f"{ms}-{sequence}", maxlen=kept, approximate=True)
        try:
            # A server that still reads its file refuses one command and may take the next.
            client.ping()
            pipeline.execute()
            return
        except (redis.ConnectionError, redis.TimeoutError):
            entries = _behind(_newest(client, key), entries)
        except redis.ResponseError as error:
            # What was sent to a Redis that was only stopped arrives after all, also in the meantime.
            if "equal or smaller" not in str(error):
                raise
            entries = _behind(_newest(client, key), entries)


def _behind(
    newest: tuple[int, int], entries: Sequence[tuple[tuple[int, int], str, Any]]
) -> Sequence[tuple[tuple[int, int], str, Any]]:
    return [entry for entry in entries if entry[0] > newest]


def _newest(client: redis.Redis, key: str) -> tuple[int, int]:
    """The newest entry of a stream, as soon as Redis is back."""
    while True:
        try:
            found: Any = client.xrevrange(key, count=1)
        except (redis.ConnectionError, redis.TimeoutError):
            time.sleep(TICK_S)
            continue
        if not found:
            return 0, 0
        ms, _, sequence = found[0][0].decode().partition("-")
        return int(ms), int(sequence)


def _body(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _note(streams: Sequence[_Stream], folder: Path) -> None:
    for stream in streams:
        if stream.noted:
            pq.write_table(
                pa.concat_tables(stream.noted), folder / f"{stream.name}-{stream.files:06d}.parquet"
            )
            stream.files += 1
            stream.noted = []
