"""One soak: start the product, find its rate, load it while things break, let it finish."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from backend.client.connection import Connection
from backend.client.errors import ClientError, Unreachable
from backend.client.millrace import Millrace
from tests.soak.churn import Churn
from tests.soak.faults import CAUGHT_UP_S, Faults
from tests.soak.producer import Producer
from tests.soak.product import TOPOLOGY, Product
from tests.soak.tuples import LATENESS_MS, STREAMS
from tests.soak.watching import Commit, CommitWatch, Sampler

_TOLD_EVERY_S = 10.0
_LOOK_S = 0.2
_DRAINED_WITHIN_S = 900.0
_STEP_S = 5.0
_STEPS = (100, 250, 500, 1000, 2000, 4000, 6000, 8000, 12000, 16000, 24000, 32000)
"""Tuples per second that are tried, one after the other."""
_LONGER_S = 900.0
_LAST_FAULT_S = 30.0
"""Before the end of the load nothing is broken any more for so long."""


@dataclass(frozen=True, slots=True)
class Options:
    folder: Path
    """For everything; must not exist yet."""
    minutes: float
    """Of load, calibration included."""
    rate: float | None
    """Tuples per second; None for half of what a calibration finds."""
    fault_every_s: float
    """0 for no faults."""
    change_every_s: float
    """Between two changes of what is deployed."""
    seed: int

    def command(self) -> str:
        """What to type to do it again."""
        given = [("--minutes", self.minutes), ("--rate", self.rate), ("--fault-every", self.fault_every_s)]
        given += [("--change-every", self.change_every_s), ("--seed", self.seed)]
        options = " ".join(f"{name} {value:g}" for name, value in given if value is not None)
        return f"python -m tests.soak {options}"


@dataclass(frozen=True, slots=True)
class Load:
    """What was measured, besides what the files say."""

    command: str
    seed: int
    began: float
    ended: float
    """Unix seconds."""
    tuples_per_second: float
    most_tuples_per_second: float | None
    """What the calibration found."""
    changes: int
    """Of what was deployed."""
    queries: int
    """That were ever deployed: their numbers are below this."""
    troubles: tuple[str, ...]
    """Of the soak itself; it then proves nothing."""


def run(options: Options, stopping: threading.Event) -> Load:
    """Runs a soak to its end, or until `stopping`; what was sent until then can be judged.

    Leaves in the folder: `home/` (the product's), `sent/`, `commits.jsonl`, `samples.jsonl`,
    `faults.jsonl`, `changes.jsonl`, `load.json`.
    """
    folder = options.folder
    folder.mkdir(parents=True)
    for name in ("faults", "changes"):
        (folder / f"{name}.jsonl").touch()
    product = Product(folder / "home")
    try:
        say("starting Redis, web, Celery worker and beat")
        token = product.start()
        client = Millrace(product.url, token)
        _register_streams(Connection(product.url, token))
        commits = CommitWatch(product, folder / "commits.jsonl")
        sampler = Sampler(product, folder / "samples.jsonl")
        churn = Churn(client, options.seed, options.change_every_s, folder / "changes.jsonl")
        faults = Faults(product, commits, options.seed, options.fault_every_s, folder / "faults.jsonl")
        producer = Producer(product.redis_port, folder / "sent", options.seed)
        commits.start()
        sampler.start()
        churn.begin()
        producer.start()
        say("the first queries are answered")
        end = time.time() + options.minutes * 60
        most = None if options.rate else _calibrate(producer, commits)
        rate = options.rate or (most or 0.0) / 2
        producer.pace(rate)
        began = time.time()
        say(f"load of {rate:.0f} tuples per second")
        churn.start()
        if options.fault_every_s:
            faults.start()
        troubles: list[BaseException] = []
        _noting(troubles, lambda: _watch(end, stopping, producer, commits, faults))
        faults.end()
        churn.end()
        ended = time.time()
        _noting(troubles, producer.end)
        say(f"sent {producer.sent} tuples; the topology works off what has arrived")
        _noting(troubles, lambda: _drain(client))
        commits.end()
        sampler.end()
        troubles += [one.error for one in (commits, churn, faults) if one.error is not None]
        changes = len((folder / "changes.jsonl").read_text().splitlines())
        load = Load(
            options.command(),
            options.seed,
            began,
            ended,
            rate,
            most,
            changes,
            len(churn.asked),
            tuple(f"{type(error).__name__}: {error}" for error in troubles),
        )
        (folder / "load.json").write_text(json.dumps(asdict(load)))
        return load
    finally:
        product.end()


def read_load(folder: Path) -> Load:
    """What `run` left in a folder."""
    found = json.loads((folder / "load.json").read_text())
    return Load(**found | {"troubles": tuple(found["troubles"])})


def say(what: str) -> None:
    """One line of progress."""
    sys.stdout.write(f"{datetime.now(UTC):%H:%M:%S}  {what}\n")
    sys.stdout.flush()


def _calibrate(producer: Producer, commits: CommitWatch) -> float:
    """The largest rate of `_STEPS` with which the topology keeps up, tuples per second."""
    producer.pace(_STEPS[0])
    # The first batches also compile what they run.
    commits.caught_up(time.time() + _STEP_S, CAUGHT_UP_S, _DRAINED_WITHIN_S)
    kept_up = 0.0
    for rate in _STEPS:
        # Once more before it counts: something else may have had the machine.
        if not (_keeps_up(producer, commits, rate) or _keeps_up(producer, commits, rate)):
            break
        kept_up = rate
    producer.pace(0)
    if not kept_up:
        raise RuntimeError(f"the topology does not keep up with {_STEPS[0]} tuples per second")
    give_up_at = time.monotonic() + _DRAINED_WITHIN_S
    while (last := commits.last) is None or producer.sent > _read(last):
        if time.monotonic() > give_up_at:
            raise RuntimeError(f"not read {_DRAINED_WITHIN_S:.0f} s after the calibration: {last}")
        time.sleep(_LOOK_S)
    return kept_up


def _keeps_up(producer: Producer, commits: CommitWatch, rate: float) -> bool:
    producer.pace(rate)
    before, began = producer.sent, time.monotonic()
    time.sleep(_STEP_S)
    made = (producer.sent - before) / (time.monotonic() - began)
    last = commits.last
    lag_s = float("inf") if last is None else last.lag_s
    waiting = producer.sent - (0 if last is None else _read(last))
    say(f"calibration: {rate} asked for, {made:.0f} sent, lag {lag_s:.1f} s, {waiting} not yet read")
    return lag_s <= CAUGHT_UP_S and made >= 0.9 * rate and waiting <= CAUGHT_UP_S * rate


def _read(commit: Commit) -> int:
    """Tuples that the topology has read."""
    return sum(sum(counts.values()) for counts in (commit.accepted, commit.late, commit.undecodable))


def _watch(
    end: float, stopping: threading.Event, producer: Producer, commits: CommitWatch, faults: Faults
) -> None:
    """Says how it goes until the load shall end: later than planned if some fault has not happened yet,
    but not by more than `_LONGER_S`."""
    told_at = 0.0
    while not stopping.wait(_LOOK_S):
        left = end - time.time()
        waiting = faults.is_alive() and not faults.all_kinds_happened and left > -_LONGER_S
        if left <= 0 and not waiting:
            return
        if left < _LAST_FAULT_S and not waiting:
            faults.stop_breaking()
        if not producer.is_running:
            raise RuntimeError("the producer has ended")
        last = commits.last
        if last is None or time.monotonic() - told_at < _TOLD_EVERY_S:
            continue
        told_at = time.monotonic()
        age_s = time.time() - last.committed_us / 1e6
        read = f"batch {last.batch}, {age_s:.1f} s ago, lag {last.lag_s:.1f} s, {len(last.queries)} queries"
        broken = f"{len(faults.done)} faults recovered from"
        say(f"{left:5.0f} s left: {producer.sent} sent, {_read(last)} read, {read}, {broken}")


def _noting(troubles: list[BaseException], what: Callable[[], None]) -> None:
    """Does it; what goes wrong becomes part of the verdict, and what was measured before is judged."""
    try:
        what()
    except (RuntimeError, ClientError) as error:
        troubles.append(error)


def _drain(client: Millrace) -> None:
    """Stops the topology with everything that has arrived."""
    give_up_at = time.monotonic() + _DRAINED_WITHIN_S
    state = ""
    while state != "stopped":
        try:
            if not state:
                client.stop(TOPOLOGY, drain=True)
            state = client.topology(TOPOLOGY).state
        except Unreachable as error:
            state = f"unknown: {error}" if state else ""
        if time.monotonic() > give_up_at:
            raise RuntimeError(f"{TOPOLOGY} is not stopped after {_DRAINED_WITHIN_S:.0f} s: {state}")
        time.sleep(_LOOK_S)


def _register_streams(connection: Connection) -> None:
    for name, columns in STREAMS.items():
        connection.post(
            "/api/streams/",
            {
                "name": name,
                "event_time": "ts",
                "lateness_ms": LATENESS_MS,
                "columns": [{"name": column, "type": kind} for column, kind in columns],
            },
        )
