"""The source of a running topology, planned by its streams' connectors.

Batches have a share of each stream.

Which streams are read is the active plan's business: the planner looks at the checkpoint before
every batch, so that a stream joins and leaves a running topology with the plan that needs it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from jobs.recovery.active import ACTIVE
from jobs.sources.connector import (
    Away,
    Descriptor,
    LiveConnector,
    Offsets,
    Position,
    Servers,
    live_connector,
)
from jobs.sources.generator import Generated
from jobs.sources.planner import PlannedBatch
from optimizer.logical.source import CONNECTORS

Wanted: TypeAlias = Mapping[str, Mapping[str, Any]]
"""By connector, the settings of its streams."""

Arrived: TypeAlias = Mapping[str, Mapping[str, Position]]
"""By connector and stream, behind everything that has arrived."""

_RETRY_S = (0.1, 0.2, 0.5, 1.0, 2.0)
_LIVE = ("redis", "generator", *CONNECTORS)


@dataclass(frozen=True, slots=True)
class LiveSource:
    batch_rows: int
    """At most so many entries of all streams together form a batch, spread evenly."""
    generated: tuple[Generated, ...] = ()
    kind: Literal["live"] = "live"


class LiveOffsets:
    """The offsets of a topology's streams, each asked of its connector.

    Arguments: where servers are; the streams that are made up, whatever their documents say.
    """

    def __init__(self, servers: Servers, generated: tuple[Generated, ...]) -> None:
        self._servers = servers
        self._generated = {made.stream: made for made in generated}
        self._offsets: dict[str, Offsets] = {}

    def of(self, connector: str) -> Offsets:
        if connector not in self._offsets:
            self._offsets[connector] = live_connector(connector).offsets(self._servers)
        return self._offsets[connector]

    def by_connector(self, checkpoint: Path) -> tuple[int, Wanted, int]:
        """The newest change, settings by connector, and batches until nothing waits."""
        active = ACTIVE.validate_json((checkpoint / "active.json").read_bytes())
        found: dict[str, dict[str, Any]] = {}
        for stream in active.streams:
            source = active.sources.get(stream)
            if stream in self._generated:
                found.setdefault("generator", {})[stream] = self._generated[stream]
            else:
                found.setdefault("redis" if source is None else source.connector, {})[stream] = source
        return active.change, found, active.settling

    def ends(
        self, wanted: Wanted, positions: Mapping[str, Position], share: int, *, remote: bool
    ) -> dict[str, Position]:
        """Where the next batch ends, for remote connectors or for the others.

        Raises `Away`.
        """
        found: dict[str, Position] = {}
        for name, streams in wanted.items():
            if live_connector(name).remote is remote:
                own = {stream: _own(name, positions.get(stream, {})) for stream in streams}
                found |= self.of(name).ends(streams, own, share)
        return found

    def planned(self, stream: str, before: Position, after: Position) -> Sequence[Descriptor]:
        """What lies between two positions, of the connector that made the later one."""
        name = _whose(after)
        return live_connector(name).planned(stream, self._generated.get(stream), _own(name, before), after)

    def in_history(self, positions: Mapping[str, Position]) -> tuple[str, ...]:
        """The streams that still read what lies before all that comes now."""
        return tuple(name for name, p in positions.items() if p and maker_of(p).history(p) is not None)

    def backlog(self, positions: Mapping[str, Position]) -> dict[str, int] | None:
        """Tuples behind each position if cheap to say; None while a server is away."""
        with suppress(Away):
            return {stream: self.of(_whose(p)).backlog(stream, p) for stream, p in positions.items() if p}
        return None

    def newest(self, checkpoint: Path) -> Arrived:
        """What the newest plan's streams have received by now. Raises `Away`."""
        _, wanted, _ = self.by_connector(checkpoint)
        return {name: self.of(name).newest(streams) for name, streams in wanted.items()}

    def have_come(self, positions: Mapping[str, Position], newest: Arrived) -> bool:
        """True if all streams have read what `newest` tells of."""
        return all(
            live_connector(name).has_come(_own(name, positions.get(stream, {})), end)
            for name, ends in newest.items()
            for stream, end in ends.items()
        )


def maker_of(position: Position) -> LiveConnector:
    """The connector that made a position, perhaps not the stream's present one."""
    return live_connector(_whose(position))


def _whose(position: Position) -> str:
    makers = [name for name in _LIVE if live_connector(name).position_key in position]
    if len(makers) != 1:
        raise ValueError(f"{' and '.join(makers) or 'no connector here'} has positions such as {position}")
    return makers[0]


def _own(connector: str, position: Position) -> Position:
    """A position, or an empty one if another connector made it.

    Then the stream begins anew.
    """
    return position if live_connector(connector).position_key in position else {}


class LivePlanner:
    """Plans batches over the streams that the active plan reads.

    A position holds each stream's own, and the serial number of the newest plan change, so that a change
    begins a batch even when nothing arrives. While a server cannot be reached the position stands still;
    nothing is lost, because sources keep tuples until they are read. If one goes away between two streams,
    the batch takes nothing of either: the streams' watermarks would drift apart. A batch that begins
    meanwhile, with a plan, says so.
    """

    def __init__(self, source: LiveSource, redis_url: str, checkpoint: Path) -> None:
        self._source = source
        self._checkpoint = checkpoint
        self.offsets = LiveOffsets(Servers(redis_url), source.generated)
        self._next_try = 0.0
        self._failures = 0
        self._reachable_since_us: int | None = None

    def initial(self) -> Position:
        # No plan change has this number, so the first batch always moves. Spark works on a first batch
        # even if it moves nothing, and every batch after it would begin, and end, where that one did.
        return {"batch": 0, "change": -1, "streams": {}}

    def advance(self, start: Position) -> Position:
        change, wanted, settling = self.offsets.by_connector(self._checkpoint)
        streams = {name: dict(position) for name, position in start["streams"].items()}
        share = max(1, self._source.batch_rows // max(1, sum(map(len, wanted.values()))))
        ask = partial(self.offsets.ends, wanted, streams, share)
        ends = ask(remote=False) | self._reached(partial(ask, remote=True))
        streams |= ends
        done = int(start.get("settled", 0))
        settles = not ends and start["batch"] > 0 and done < settling
        if not ends and change == start["change"] and not settles:
            return start
        # Spark keeps it with the position, so that a batch that is repeated has the same tuples ahead of it.
        now_ms = time.time_ns() // 1_000_000
        end = {"batch": start["batch"] + 1, "change": change, "streams": streams, "planned_ms": now_ms}
        if self._failures:
            end["away"] = True
        # Batches without tuples: what the last ones made due need not wait for the next.
        return {**end, "settled": done + 1} if settles else end

    def planned(self, start: Position, end: Position) -> PlannedBatch:
        descriptors: list[Descriptor] = []
        for name in sorted(end["streams"]):
            before, after = start["streams"].get(name, {}), end["streams"][name]
            if before != after:
                descriptors.extend(self.offsets.planned(name, before, after))
        reachable = self._reachable_since_us
        if reachable is None:
            reachable = time.time_ns() // 1000
        backlog = self.offsets.backlog(end["streams"])
        return PlannedBatch(
            start["batch"],
            end,
            tuple(descriptors),
            (),
            None if backlog is None else sum(backlog.values()),
            start,
            reachable,
            end.get("planned_ms"),
            None if backlog is None else tuple(name for name, left in backlog.items() if left),
            end.get("away", False),
            self.offsets.in_history(end["streams"]),
        )

    def _reached(self, ask: Callable[[], dict[str, Position]]) -> dict[str, Position]:
        """What asking servers gives; nothing at all while one is away."""
        if time.monotonic() < self._next_try:
            return {}
        try:
            ends = ask()
        except Away:
            self._next_try = time.monotonic() + _RETRY_S[min(self._failures, len(_RETRY_S) - 1)]
            self._failures += 1
            self._reachable_since_us = None
            return {}
        self._failures = 0
        if self._reachable_since_us is None:
            self._reachable_since_us = time.time_ns() // 1000
        return ends
