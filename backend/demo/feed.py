"""Replay the demo's streams into Redis, faster than they happened.

`python -m backend.demo.feed`.

One simulated hour passes per second (MILLRACE_DEMO_SPEED: simulated seconds per second). After
2013 the year starts over with all times moved on, for ever. The position is stored in Redis in
the same transaction as the tuples, so a restarted feeder goes on where it stopped, and neither
skips nor repeats a tuple.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa
import redis

from backend.demo import flights
from jobs.protocol import stream_key

POSITION_KEY = "millrace:demo:position"
"""Simulated seconds since `flights.START` up to which (exclusive) tuples were sent."""
TICK_SECONDS = 0.25
"""Of wall time between two sends: half of the trigger interval of new topologies."""
KEPT_ENTRIES = 500_000
"""Tuples that each Redis stream keeps at least; about an hour at the default speed."""
DEFAULT_SPEED = 3600.0
"""Simulated seconds per second: an hour of flights each second."""
_LAP_SECONDS = flights.LAP.total_seconds()


@dataclass(frozen=True, slots=True)
class Schedule:
    """One stream's tuples by their place within a lap."""

    stream: str
    tuples: pa.Table
    offsets_s: pd.Series
    """Seconds from the start of a lap, ascending."""
    carried: pd.Series
    """1 where a tuple of one lap falls into the next, as a flight that lands in the new year."""

    @staticmethod
    def of(stream: str) -> Schedule:
        tuples = flights.table(stream)
        since = (tuples["at"].to_pandas() - flights.START).dt.total_seconds()
        order = (since % _LAP_SECONDS).sort_values(kind="stable").index
        return Schedule(
            stream,
            tuples.take(pa.array(order)),
            (since % _LAP_SECONDS).loc[order].reset_index(drop=True),
            (since // _LAP_SECONDS).astype(int).loc[order].reset_index(drop=True),
        )

    def between(self, start_s: float, end_s: float) -> Iterator[str]:
        """JSON objects of the tuples whose simulated time is in [start_s, end_s)."""
        for lap in range(int(start_s // _LAP_SECONDS), int(end_s // _LAP_SECONDS) + 1):
            first, last = self.offsets_s.searchsorted(
                [start_s - lap * _LAP_SECONDS, end_s - lap * _LAP_SECONDS]
            )
            moved = [flights.LAP * (lap - carried) for carried in self.carried[first:last]]
            for row, shift in zip(self.tuples.slice(first, last - first).to_pylist(), moved, strict=True):
                if shift >= pd.Timedelta(0):
                    yield json.dumps({name: _plain(value, shift) for name, value in row.items()})


def _plain(value: object, shift: pd.Timedelta) -> object:
    """A JSON value; moments move on with the laps."""
    if hasattr(value, "isoformat"):
        return (pd.Timestamp(value) + shift).strftime("%Y-%m-%dT%H:%M:%SZ")
    return value


def feed(client: redis.Redis, speed: float, stopped: threading.Event) -> None:
    """Sends tuples until `stopped` is set.

    Args:
        client: where the streams are.
        speed: simulated seconds per second, above 0.
        stopped: ends the replay after the running tick.
    """
    schedules = [Schedule.of(stream) for stream in flights.STREAMS]
    position = float(client.get(POSITION_KEY) or 0.0)
    sys.stdout.write(f"feeding from {position:.0f} s on\n")
    sys.stdout.flush()
    origin, began = position, time.monotonic()
    while not stopped.wait(TICK_SECONDS):
        target = origin + (time.monotonic() - began) * speed
        with client.pipeline(transaction=True) as pipeline:
            for schedule in schedules:
                for text in schedule.between(position, target):
                    pipeline.xadd(
                        stream_key(schedule.stream), {"json": text}, maxlen=KEPT_ENTRIES, approximate=True
                    )
            pipeline.set(POSITION_KEY, repr(target))
            pipeline.execute()
        position = target


def main() -> int:
    text = os.environ.get("MILLRACE_DEMO_SPEED", str(DEFAULT_SPEED))
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    url = os.environ.get("REDIS_URL")
    if not 0 < speed <= 1e6 or not url:
        place, found = ("REDIS_URL", "nothing") if not url else ("MILLRACE_DEMO_SPEED", text)
        expected = "a Redis URL" if not url else "simulated seconds per second, above 0 and at most 1000000"
        sys.stderr.write(f"{place}: found {found}, expected {expected}\n")
        return 2
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    feed(redis.Redis.from_url(url, decode_responses=True), speed, stopped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
