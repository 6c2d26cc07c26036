"""Tuples that wait tell a job that stands still from one that has nothing to do."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from backend.live.state import LiveState
from backend.redis import connection, read_entries
from backend.topologies.models import Topology
from jobs.protocol import entry_order, stream_key
from optimizer.physical.graph import PhysicalGraph


def waiting_since(topology: Topology, state: LiveState) -> datetime | None:
    """When the oldest entry arrived that no committed batch of the topology can hold.

    Entries that arrived while the last batch was at work are not looked at: it may hold them. Before the
    first batch of all counts what arrived since the job began. Topics are not looked at.

    Returns: None if nothing waits, and while there is neither a batch nor a job.

    Raises: `redis.RedisError` and `Unavailable` where Redis does not answer.
    """
    run = topology.current_run
    if state.history:
        committed = state.history[-1].at
    elif run is not None and run.started_at is not None:
        committed = run.started_at
    else:
        return None
    first = (_first_after(stream, committed) for stream in _streams(topology, state))
    return min(filter(None, first), default=None)


def _streams(topology: Topology, state: LiveState) -> Collection[str]:
    """What the topology reads, by its newest batch or else by its plan."""
    if state.batch is not None:
        return state.batch.streams
    plan = topology.active_plan or topology.plan
    if plan is None:
        return ()
    return [stream.name for stream in PhysicalGraph.from_json(plan.graph, f"plan {plan.plan_id}").streams]


def _first_after(stream: str, moment: datetime) -> datetime | None:
    milliseconds = int(moment.timestamp() * 1000)
    entries = read_entries(connection().xrange(stream_key(stream), min=f"{milliseconds + 1}-0", count=1))
    return datetime.fromtimestamp(entry_order(entries[0][0])[0] / 1000, UTC) if entries else None
