"""What a deployed query does right now, in the few numbers that its page shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from backend.catalog.models import Query, QueryVersion
from backend.live.queries import live_state
from backend.live.state import LiveState
from backend.oracle.queries import verified_until
from backend.topologies.query_search import deployment_of


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers of one query, from its topology's newest batch; None is unknown."""

    batch: int | None = None
    at: datetime | None = None
    """Wall time of the batch's commit."""
    latency_ms_p50: float | None = None
    """From a tuple's arrival to the commit of its results, over the last minute."""
    latency_ms_p99: float | None = None
    answered_until: datetime | None = None
    """Event time that all streams of the query have passed: no older tuple is waited for."""
    complete_since: datetime | None = None
    joining: tuple[str, ...] = ()
    """Streams of which older tuples are still being read."""
    verified_until: datetime | None = None
    """Event time up to which published results were last found equal to a batch join."""


def figures_of(record: Query) -> Figures:
    """The numbers of a query; all unknown for one that no running job answers.

    Raises: `redis.RedisError` and `Unavailable` where Redis does not answer.
    """
    deployment = deployment_of(record)
    if deployment is None:
        return Figures()
    verified = verified_until(deployment)
    state = live_state(deployment.topology)
    batch = state.batch
    metrics = None if batch is None else batch.queries.get(record.name)
    if batch is None or metrics is None:
        return Figures(verified_until=verified)
    return Figures(
        batch=batch.batch,
        at=batch.at,
        latency_ms_p50=metrics.latency_ms_p50,
        latency_ms_p99=metrics.latency_ms_p99,
        answered_until=_answered_until(state, deployment.version),
        complete_since=metrics.complete_since,
        joining=metrics.joining,
        verified_until=verified,
    )


def _answered_until(state: LiveState, version: QueryVersion) -> datetime | None:
    """The least watermark of the version's streams; None until each has one."""
    assert state.batch is not None
    names = {source.stream.name for source in version.inputs.select_related("stream")}
    told = [state.batch.streams.get(name) for name in names]
    marks = [None if one is None else one.watermark for one in told]
    return None if None in marks else min(cast("list[datetime]", marks), default=None)
