"""The job's side of the control plane, whatever Redis does: events and messages.

Events wait in a bounded buffer while Redis cannot be reached and are sent in order once it
can. Neither thread ever holds up a batch.
"""

from __future__ import annotations

import itertools
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import redis
from pydantic import ValidationError

from jobs.control_plane.run_log import log_event
from jobs.metrics.reports import Tail
from jobs.protocol import (
    CONTROL,
    Control,
    Deploy,
    EpochCompleted,
    Event,
    Heartbeat,
    Phase,
    StreamsSampled,
    control_key,
    events_key,
    samples_key,
    statistics_key,
)
from jobs.sinks.connector import TableChanges
from jobs.sinks.redis_table import CurrentTables
from jobs.sinks.redis_tail import ResultTail

State: TypeAlias = Literal["starting", "running", "idle", "stopping"]
MOST_EVENTS = 10_000
"""Events kept in Redis, and events that wait at most while it is away; the oldest go first."""
MOST_EPOCHS = 100
"""Epochs kept apart from the other events: planning again takes the newest one."""
HEARTBEAT_S = 2.0
_BACK_OFF_S = (0.1, 0.2, 0.5, 1.0, 2.0)
_IDLE_AFTER_S = 5.0


def connect(url: str) -> redis.Redis:
    """A client that gives up on a silent server after a few seconds."""
    return redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=2, health_check_interval=30)


@dataclass(frozen=True, slots=True)
class _Results:
    batch: int
    plan_id: str
    tails: Mapping[str, Sequence[Tail]]
    dead: Sequence[pa.Table]
    tables: Mapping[str, TableChanges]


class Outgoing:
    """Sends events and result tails from one of its threads, heartbeats from another.

    Arguments: a client of its own (threads share none), the topology, the run's id, and where
    results and tables go. `start` before the first `send`; `close` sends what is left.
    """

    def __init__(
        self, client: redis.Redis, topology: str, run: str, tail: ResultTail, tables: CurrentTables
    ) -> None:
        self._client = client
        self._key = events_key(topology)
        self._statistics_key = statistics_key(topology)
        self._samples_key = samples_key(topology)
        self._run = run
        self._tail = tail
        self._tables = tables
        self._waiting: deque[Event | _Results] = deque(maxlen=MOST_EVENTS)
        self._changed = threading.Condition()
        self._closing = False
        self._stop_beating = threading.Event()
        self._state: State = "starting"
        self._phase: Phase | None = "checkpoint"
        self._batch = 0
        self._last_batch_at = time.monotonic()
        self._threads = [
            threading.Thread(target=self._deliver, name="events", daemon=True),
            threading.Thread(target=self._beat, name="heartbeat", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def send(self, event: Event) -> None:
        log_event(event)
        self._put(event)

    def send_results(
        self,
        batch: int,
        plan_id: str,
        tails: Mapping[str, Sequence[Tail]],
        dead: Sequence[pa.Table],
        tables: Mapping[str, TableChanges],
    ) -> None:
        """Send what a batch made: newest results, dead letters, changes of tables."""
        if tails or dead or tables:
            self._put(_Results(batch, plan_id, tails, dead, tables))

    def now(self, state: State, batch: int | None = None, phase: Phase | None = None) -> None:
        """Set what the next heartbeats report; a number means that this batch just ended.

        A phase that begins is told at once.
        """
        self._state, self._phase = state, phase
        if batch is not None:
            self._batch = batch
            self._last_batch_at = time.monotonic()
        if phase is not None:
            self._put(self._heartbeat())

    def close(self, patience_s: float) -> None:
        """Stop the heartbeats and send what waits, as far as that succeeds in time."""
        self._stop_beating.set()
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._threads[0].join(patience_s)

    def _put(self, item: Event | _Results) -> None:
        with self._changed:
            self._waiting.append(item)
            self._changed.notify_all()

    def _beat(self) -> None:
        while True:
            self._put(self._heartbeat())
            if self._stop_beating.wait(HEARTBEAT_S):
                return

    def _heartbeat(self) -> Heartbeat:
        state, phase = self._state, self._phase
        if state == "running" and time.monotonic() - self._last_batch_at > _IDLE_AFTER_S:
            # Also before the first batch: there may be no tuples to make one of.
            state, phase = "idle", None
        return Heartbeat(run=self._run, at=datetime.now(UTC), state=state, batch=self._batch, phase=phase)

    def _deliver(self) -> None:
        failures = 0
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if not self._waiting:
                    return
            try:
                self.deliver_next()
            except redis.RedisError:
                # Away, starting, or full: the item keeps its place.
                time.sleep(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
                failures += 1
                continue
            failures = 0

    def deliver_next(self) -> bool:
        """Send what has waited longest; False if nothing waits.

        Raises `redis.RedisError` if Redis cannot be reached: it then goes on waiting.
        """
        with self._changed:
            if not self._waiting:
                return False
            item = self._waiting[0]
        if isinstance(item, _Results):
            self._tail.append(item.batch, item.plan_id, item.tails, item.dead)
            for query in sorted(item.tails.keys() - item.tables.keys()):
                self._tables.forget(query)
            for query, changes in sorted(item.tables.items()):
                self._tables.change(item.batch, query, changes)
        else:
            fields = {"message": item.model_dump_json()}
            key, most = self._key, MOST_EVENTS
            if isinstance(item, StreamsSampled):
                key, most = self._samples_key, 1
            # An epoch is both at once, so that a retry sends neither twice.
            both = self._client.pipeline(transaction=True)
            both.xadd(key, fields, maxlen=most, approximate=most > 1)  # type: ignore[arg-type]
            if isinstance(item, EpochCompleted):
                both.xadd(self._statistics_key, fields, maxlen=MOST_EPOCHS)  # type: ignore[arg-type]
            both.execute()
        with self._changed:
            # The buffer may have pushed it out meanwhile.
            if self._waiting and self._waiting[0] is item:
                self._waiting.popleft()
        return True


class Incoming:
    """Reads control messages in a thread and hands them to `handle` in order.

    Reports whether each was carried out.

    Messages written before the job began are not for it: whoever launched it gave it its plan.
    A message that cannot be read is reported through `refuse` and passed over. Of plans that are read
    together the last usable one is carried out, and those before it are not looked at.
    """

    def __init__(
        self,
        client: redis.Redis,
        topology: str,
        handle: Callable[[Control], bool],
        refuse: Callable[[str, str], None],
    ) -> None:
        self._client = client
        self._key = control_key(topology)
        self._handle = handle
        self._refuse = refuse
        self._closing = threading.Event()
        self._after = f"{time.time_ns() // 1_000_000}-0"
        self._thread = threading.Thread(target=self._read, name="control", daemon=True)

    def start(self) -> None:
        self.pass_over_earlier()
        self._thread.start()

    def pass_over_earlier(self) -> None:
        """Read only what is written from now on."""
        # Its own clock has to do until a server that is away is back.
        with suppress(redis.RedisError):
            seconds, microseconds = self._client.time()
            self._after = f"{seconds * 1000 + microseconds // 1000}-0"

    def close(self) -> None:
        self._closing.set()

    def _read(self) -> None:
        failures = 0
        while not self._closing.is_set():
            try:
                self.take_new(block_ms=1000)
            except redis.RedisError:
                self._closing.wait(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
                failures += 1
                continue
            failures = 0

    def take_new(self, block_ms: int | None = None) -> None:
        """Read the messages that were written meanwhile, and carry them out.

        Waits for them at most `block_ms`, by default not at all.

        Raises `redis.RedisError` if Redis cannot be reached.
        """
        answer: Any = self._client.xread({self._key: self._after}, count=100, block=block_ms)
        read: list[Control] = []
        for _, entries in answer or ():
            for entry, fields in entries:
                self._after = entry.decode()
                message = self._message(fields.get(b"message", b""))
                read += [] if message is None else [message]
        for deploys, group in itertools.groupby(read, lambda m: isinstance(m, Deploy)):
            if deploys:
                any(self._take(message) for message in reversed(list(group)))
            else:
                for message in group:
                    self._take(message)

    def _message(self, text: bytes) -> Control | None:
        try:
            return CONTROL.validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            path = ".".join(str(part) for part in first["loc"])
            self._refuse("", f"a control message that cannot be read: {path}: {first['msg']}")
            return None

    def _take(self, message: Control) -> bool:
        try:
            return self._handle(message)
        except Exception:
            # A defect, if anything: its place stands in the job's log, and the page says the reason.
            traceback.print_exc()
            plan_id = getattr(message, "plan_id", "")
            self._refuse(plan_id, traceback.format_exc(limit=-1).strip().splitlines()[-1])
            return False
