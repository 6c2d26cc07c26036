"""A job's part, told by a test: what it read, what it published, what it said of its batches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import redis

from jobs.protocol import (
    BatchCompleted,
    QueryMetrics,
    StoreMetrics,
    StreamMetrics,
    events_key,
    results_key,
    stream_key,
)

START = datetime(2013, 1, 1, 10, tzinfo=UTC)


def at(minute: float) -> str:
    """A moment of the tests' day."""
    return f"2013-01-01T{10 + int(minute) // 60:02d}:{int(minute) % 60:02d}:{int(minute * 60) % 60:02d}Z"


class ToldJob:
    """Batches of the topology `flights`; the query's results are whatever the test says."""

    def __init__(self, bus: redis.Redis, plan_id: str, query: str, streams: Sequence[str]) -> None:
        self._bus = bus
        self.plan_id = plan_id
        self._query = query
        self._positions = dict.fromkeys(streams, "0-0")
        self._newest: dict[str, datetime | None] = dict.fromkeys(streams)
        self._batch = -1

    def batch(
        self,
        arrived: Mapping[str, Sequence[Mapping[str, Any]]],
        results: Sequence[Mapping[str, Any]],
        late: Mapping[str, int] | None = None,
        missing_before: datetime | None = None,
        told: int | None = None,
        stores: Mapping[str, int] | None = None,
        watermark: datetime | None = None,
    ) -> int:
        """Read these tuples, publish these results, and say so; returns the batch's number.

        Args:
            late: of the tuples, how many were too late, by stream.
            told: how many results the event tells of, if not those that are published.
            stores: how many tuples each holds.
            watermark: the topology's.
        """
        self._batch += 1
        late = late or {}
        for stream, rows in arrived.items():
            for row in rows:
                entry = self._bus.xadd(stream_key(stream), {"json": json.dumps(row)})
                self._positions[stream] = str(entry)
                moment = datetime.fromisoformat(row["at"])
                self._newest[stream] = max(self._newest[stream] or moment, moment)
        for row in results:
            fields = {"json": json.dumps(row), "batch": str(self._batch)}
            self._bus.xadd(results_key("flights", self._query), fields)
        event = BatchCompleted(
            run="0193f5a1c0de0001",
            at=datetime.now(UTC),
            batch=self._batch,
            epoch=0,
            plan_id=self.plan_id,
            seconds=0.1,
            tuples_in=sum(len(rows) for rows in arrived.values()),
            backlog=0,
            level_seconds=[0.1],
            streams={
                stream: StreamMetrics(
                    accepted=len(arrived.get(stream, ())) - late.get(stream, 0),
                    late=late.get(stream, 0),
                    undecodable=0,
                    watermark=self._newest[stream],
                    max_event_time=self._newest[stream],
                    position=position,
                )
                for stream, position in self._positions.items()
            },
            stores={store: _holding(tuples) for store, tuples in (stores or {}).items()},
            edges={},
            watermark=watermark,
            queries={
                self._query: QueryMetrics(
                    results=len(results) if told is None else told,
                    latency_ms_p50=None,
                    latency_ms_p99=None,
                    complete_since=None,
                    missing_before=missing_before,
                )
            },
        )
        self._bus.xadd(events_key("flights"), {"message": event.model_dump_json()})
        return self._batch


def _holding(tuples: int) -> StoreMetrics:
    return StoreMetrics(
        tuples=tuples, bytes=70 * tuples, inserted=0, evicted=0, probes=0, matches=0, per_task=[tuples]
    )
