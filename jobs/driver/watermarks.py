"""Watermarks: how far event time has come, as the last commit tells.

A stream's watermark is the largest event time seen up to the end of the batch before, minus the
stream's allowed lateness; the topology's is the least of those that count.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.plan.event_time import LAST_US, earlier
from jobs.protocol.metrics import newest
from jobs.recovery.manifest import Manifest, StreamState
from optimizer.physical.graph import PhysicalGraph


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Under which a batch drops and evicts: those of the end of the batch before it."""

    topology_us: int | None
    """What is older, by the retention of its store, leaves; None evicts nothing."""
    late_below_us: tuple[tuple[str, int], ...]
    """Per stream, sorted: tuples strictly older are late; streams without a watermark are missing."""

    @staticmethod
    def of(
        graph: PhysicalGraph,
        previous: Manifest | None,
        now_us: int,
        idle_timeout_us: int | None,
        reachable_since_us: int,
    ) -> Watermarks:
        """The watermarks of the batch behind `previous`.

        The topology's is the least of its streams'; a stream that has ended or has been silent for the
        idle timeout, and reads no history, is passed over, and so is one that is joining, whose tuples are
        late by its own watermark alone. Tables have none of their own, as versions may be of any time: they
        are late behind the topology's, which begins once what they had is read. It never goes back. Time in
        which nobody looked, because the job or the source was away, does not count as silence. Once all
        streams have ended, a plan that holds combinations has the end of time as its watermark.

        Args:
            graph: the plan of the batch.
            previous: the manifest before it; None before the first batch.
            now_us: wall clock, microseconds since 1970, like `reachable_since_us`.
            idle_timeout_us: None if silence never ends a stream's say.
            reachable_since_us: since when the source has been there without a break.
        """
        if previous is None:
            return Watermarks(None, ())
        tables = graph.tables
        own: dict[str, int | None] = {}
        holding: list[int | None] = []
        for stream in graph.sources:
            state = previous.streams.get(stream.name, StreamState())
            seen = state.max_event_time_us
            is_table = stream.name in tables
            own[stream.name] = None if is_table or seen is None else earlier(seen, stream.lateness_us)
            silent_since = state.active_at_us if state.active_at_us is not None else previous.started_us
            silent_since = max(silent_since, reachable_since_us)
            idle = idle_timeout_us is not None and now_us - silent_since >= idle_timeout_us
            # The history of a stream is older than what others bring now, and would be late behind it.
            idle = idle and not state.in_history
            first = state.joining and previous.watermark_us is None
            if first or not (is_table or state.ended or idle or state.joining):
                holding.append(own[stream.name])
        known = [previous.streams.get(stream.name, StreamState()) for stream in graph.sources]
        if graph.waits and all(state.ended for state in known):
            # Nothing comes any more that what is held could wait for; silent streams may come back.
            return Watermarks(LAST_US, tuple((name, LAST_US) for name in own))
        if not holding:
            # Nobody holds it back: it stands where the streams got to.
            holding = [mark for mark in own.values() if mark is not None]
        marks = [mark for mark in holding if mark is not None]
        least = min(marks) if marks and len(marks) == len(holding) else None
        topology = newest(previous.watermark_us, least)
        if graph.waits and topology is not None:
            # Behind what is found at the end of time there is a moment left in which it falls due.
            topology = min(topology, LAST_US - 1)
        late = {
            name: mark if previous.joining([name]) else newest(mark, topology) for name, mark in own.items()
        }
        return Watermarks(topology, tuple((name, mark) for name, mark in late.items() if mark is not None))
