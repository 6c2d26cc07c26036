"""Redis with faults, and a sink with transactions: what a simulated job speaks to.

The server is a real one. What it answers depends on nobody's clock: control messages are numbered.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from backend.run import redis_server
from jobs.protocol import control_key, events_key
from jobs.sinks.connector import BatchResults, query_of
from jobs.sources.connector import Away

TOPOLOGY = "simulated"
Row = tuple[object, ...]


class Network:
    """What fails on the way to a server, by the number of the command."""

    def __init__(self, socket: Path) -> None:
        self.socket = str(socket)
        self.backend = redis.Redis(unix_socket_path=self.socket)
        """The other side of the control plane: nothing fails for it."""
        self.begin()

    def begin(self) -> None:
        """Begin a schedule with an empty server."""
        self.backend.flushall()
        self.sent = 0
        self.faults: dict[int, str] = {}
        self.commands = 0
        self.counts: Counter[str] = Counter()

    def arm(self, faults: Sequence[tuple[str, int]]) -> None:
        """Begin a step, in which these commands fail."""
        self.commands, self.faults = 0, {at: kind for kind, at in faults}

    def connect(self, url: str) -> redis.Redis:
        """In place of `jobs.control_plane.channel.connect`."""
        pool = redis.ConnectionPool(
            connection_class=_Unreliable, network=self, path=self.socket, retry=Retry(NoBackoff(), 0)
        )
        return _Numbered(self, connection_pool=pool)

    def strike(self) -> str | None:
        """Count a command; what happens to it."""
        fault = self.faults.pop(self.commands, None)
        self.commands += 1
        if fault is not None:
            self.counts[f"Redis: {fault}"] += 1
        if fault == "emptied":
            self.backend.flushall()
        return fault

    def tell(self, message: str) -> None:
        """Write a control message."""
        self.sent += 1
        self.backend.xadd(control_key(TOPOLOGY), {"message": message}, id=f"{self.now_ms}-0")

    def events(self, after: str) -> list[tuple[str, bytes]]:
        """What the job has said behind an entry."""
        found: Any = self.backend.xrange(events_key(TOPOLOGY), min=f"({after}")
        return [(entry.decode(), fields[b"message"]) for entry, fields in found]

    @property
    def now_ms(self) -> int:
        return 1_000_000 + self.sent


class _Numbered(redis.Redis):
    def __init__(self, network: Network, **named: Any) -> None:
        super().__init__(**named)
        self._network = network

    def time(self, **named: Any) -> Any:
        super().time(**named)
        return divmod(self._network.now_ms * 1000, 1_000_000)


class _Unreliable(redis.UnixDomainSocketConnection):
    def __init__(self, network: Network, **named: Any) -> None:
        super().__init__(**named)
        self._network = network
        self._ready = False
        self._unanswered = False

    def connect_check_health(self, *given: Any, **named: Any) -> Any:
        # What the client says to begin with is no command of the job.
        self._ready = False
        try:
            return super().connect_check_health(*given, **named)
        finally:
            self._ready = True

    def send_packed_command(self, *given: Any, **named: Any) -> Any:
        fault = self._network.strike() if self._ready else None
        if fault == "refused":
            self.disconnect()
            raise redis.ConnectionError("simulated: refused")
        self._unanswered = fault == "unanswered"
        return super().send_packed_command(*given, **named)

    def read_response(self, *given: Any, **named: Any) -> Any:
        answer = super().read_response(*given, **named)
        if self._unanswered:
            self._unanswered = False
            self.disconnect()
            raise redis.ConnectionError("simulated: no answer")
        return answer


@contextmanager
def server() -> Iterator[Network]:
    """A Redis server of our own."""
    with tempfile.TemporaryDirectory(prefix="simulation-") as folder:
        socket = Path(folder, "redis")
        given = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", folder]
        process = subprocess.Popen(
            [redis_server.executable(), *given], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            assert process.stdout is not None
            if not any("eady to accept connections" in line for line in process.stdout):
                raise RuntimeError(f"redis-server ended with {process.wait()}")
            yield Network(socket)
        finally:
            process.kill()
            process.wait()


class TransactionalSink:
    """Takes batches in order, whole or not at all, and outlives the job."""

    def __init__(self) -> None:
        self.batches: dict[int, dict[str, Counter[Row]]] = {}
        self.away: deque[str] = deque()
        """Where it goes away next: `connect`, `publish` before a batch, `published` behind it."""
        self.there = True
        """False while it is away for longer."""
        self.counts: Counter[str] = Counter()

    def connect(self) -> int:
        self._reach("connect")
        return max(self.batches, default=-1)

    def publish(self, results: BatchResults) -> None:
        self._reach("publish")
        newest = max(self.batches, default=-1)
        assert results.batch > newest, f"batch {results.batch} is published again"
        taken: dict[str, Counter[Row]] = {}
        for file in results.files:
            taken.setdefault(query_of(file), Counter()).update(pl.read_parquet(file).rows())
        self.batches[results.batch] = taken
        self._reach("published")

    def _reach(self, point: str) -> None:
        if not self.there:
            self.counts["sink away for steps"] += 1
            raise Away(point)
        if self.away and self.away[0] == point:
            self.counts[f"sink away: {self.away.popleft()}"] += 1
            raise Away(point)
