"""Every number that a running topology tells about itself, held against DuckDB and the files on disk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from jobs.control_plane.stream_samples import ROWS
from jobs.protocol import BatchCompleted, EpochCompleted, Stop, StreamsSampled, samples_key, stream_key
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, SourceRule, StoreRule
from tests.runtime.live import BEGIN, TOPOLOGY, Live, RedisServer, write_live_workload

WINDOW_S = 3
QUERIES = {
    "two": f"SELECT r.n AS rn, s.n AS sn FROM r [RANGE {WINDOW_S} SECONDS], s [RANGE {WINDOW_S} SECONDS] "
    "WHERE r.a = s.a",
    "three": "SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM "
    + ", ".join(f"{stream} [RANGE {WINDOW_S} SECONDS]" for stream in "rst")
    + " WHERE r.a = s.a AND s.b = t.b",
}


@dataclass(frozen=True)
class Told:
    """A topology that has ended, and what it said."""

    live: Live
    graph: PhysicalGraph
    batches: list[BatchCompleted]
    epochs: list[EpochCompleted]
    sample: StreamsSampled
    checkpoint: Path
    began: datetime

    def total(self, group: str, name: str, figure: str) -> int:
        """A figure of one store, edge, stream or query, over all batches."""
        return sum(getattr(getattr(batch, group)[name], figure) for batch in self.batches)

    def sql(self, query: str) -> Any:
        """DuckDB's one value over everything that was produced."""
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            for stream, rows in self.live.produced.items():
                connection.register(stream, pl.DataFrame(rows).to_arrow())
            row = connection.execute(query).fetchone()
        assert row is not None
        return row[0]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    folder = tmp_path_factory.mktemp("statistics")
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    live = Live(server.port, folder, write_live_workload(folder / "workload", QUERIES))
    try:
        began = datetime.now(UTC)
        document = live.graph("ilp", "two", "three")
        live.start("run-1", "plan-1", document)
        while not any(event.type == "epoch" for event in live.events()):
            live.produce(40)
            live.wait_for_tuples("rst")
        old = {"ts": (BEGIN - timedelta(days=1)).isoformat(), "n": 0, "a": 0}
        live.client.xadd(stream_key("r"), {"json": json.dumps(old)})
        live.client.xadd(stream_key("t"), {"json": "{"})
        live.produce(40)
        live.wait_for_tuples("rst")
        live.send(Stop(mode="drain"))
        assert live.wait_until_ended() == 0
        ((_, fields),) = live.client.xrange(samples_key(TOPOLOGY))
        yield Told(
            live,
            PhysicalGraph.from_json(json.dumps(document)),
            [event for event in live.events() if event.type == "batch"],
            [event for event in live.events() if event.type == "epoch"],
            StreamsSampled.model_validate_json(fields[b"message"]),
            folder / "checkpoint",
            began,
        )
    finally:
        live.close()
        server.stop()


def test_streams(told: Told) -> None:
    last = told.batches[-1]
    for stream in "rst":
        assert told.total("streams", stream, "accepted") == len(told.live.produced[stream])
        newest = told.sql(f"SELECT max(ts) FROM {stream}")
        assert last.streams[stream].max_event_time == newest
        # No stream of these may be late at all.
        assert last.streams[stream].watermark == newest
    assert [told.total("streams", stream, "late") for stream in "rst"] == [1, 0, 0]
    assert [told.total("streams", stream, "undecodable") for stream in "rst"] == [0, 0, 1]
    assert sum(b.tuples_in for b in told.batches) == sum(map(len, told.live.produced.values())) + 2


def test_stores(told: Told) -> None:
    last = told.batches[-1]
    watermark = min(s.watermark for s in last.streams.values() if s.watermark is not None)
    targets = {edge.id: edge.target for edge in told.graph.edges}
    copies = {
        edge.id: (
            next(s.tasks for s in told.graph.stores if s.id == edge.target) if edge.kind == "all" else 1
        )
        for edge in told.graph.edges
    }
    received: Counter[str] = Counter()
    matched: Counter[str] = Counter()
    for rule in told.graph.rules:
        if isinstance(rule, ProbeRule):
            received[rule.store] += told.total("edges", rule.edge, "tuples") * copies[rule.edge]
            matched[rule.store] += sum(epoch.rules[rule.id] for epoch in told.epochs)
        assert not isinstance(rule, StoreRule) or targets[rule.edge] == rule.store
    for store in told.graph.stores:
        inserted, evicted = (told.total("stores", store.id, f) for f in ("inserted", "evicted"))
        metrics = last.stores[store.id]
        assert metrics.tuples == inserted - evicted == sum(metrics.per_task)
        assert len(metrics.per_task) == store.tasks
        files = (told.checkpoint / "state" / store.id).rglob("*.arrow")
        assert metrics.bytes == sum(file.stat().st_size for file in files) > 0
        assert told.total("stores", store.id, "probes") == received[store.id]
        assert told.total("stores", store.id, "matches") >= matched[store.id]
        if store.is_base:
            (stream,) = (stored.stream for stored in store.inputs)
            assert inserted == len(told.live.produced[stream])
            young = f"epoch_us(ts) >= {int((watermark - timedelta(seconds=WINDOW_S)).timestamp() * 1e6)}"
            # Whole runs are evicted, so some older tuples may still be there.
            assert told.sql(f"SELECT count(*) FROM {stream} WHERE {young}") <= metrics.tuples
    assert sum(told.total("stores", store.id, "evicted") for store in told.graph.stores) > 0


def test_edges(told: Told) -> None:
    rules = {rule.id: rule for rule in told.graph.rules}
    for edge in told.graph.edges:
        tuples, messages, size = (told.total("edges", edge.id, f) for f in ("tuples", "messages", "bytes"))
        origin = rules[edge.origin]
        if isinstance(origin, SourceRule):
            assert tuples == len(told.live.produced[origin.stream])
        assert (tuples > 0) == (messages > 0) == (size > 0)
        # A number, a time and the arrival are 24 bytes at least.
        assert size >= 24 * tuples
        assert messages <= tuples * max(store.tasks for store in told.graph.stores)


def test_queries_and_what_steps_find(told: Told) -> None:
    for query in QUERIES:
        expected = told.live.expected(query)
        assert told.total("queries", query, "results") == len(expected) > 0
        assert told.live.found(query) == expected
    # What the epochs' rules produced adds up to the results of the epochs' batches.
    told_batches = {b for epoch in told.epochs for b in range(epoch.first_batch, epoch.last_batch + 1)}
    for query in QUERIES:
        leaves = [
            r.id for r in told.graph.rules if r.kind == "probe" and any(e.query == query for e in r.emits)
        ]
        produced = sum(epoch.rules[rule] for epoch in told.epochs for rule in leaves)
        answered = sum(b.queries[query].results for b in told.batches if b.batch in told_batches)
        if all(len(rules_of(told.graph, rule)) == 1 for rule in leaves):
            assert produced == answered


def rules_of(graph: PhysicalGraph, rule: str) -> list[str]:
    (found,) = (r for r in graph.rules if r.id == rule)
    assert isinstance(found, ProbeRule)
    return [emit.query for emit in found.emits]


def test_times(told: Told) -> None:
    for batch in told.batches:
        assert len(batch.level_seconds) == told.graph.depth + 1
        assert all(0 <= seconds <= batch.seconds for seconds in batch.level_seconds)
        for metrics in batch.queries.values():
            assert (metrics.latency_ms_p50 is None) == (metrics.latency_ms_p99 is None)
            assert metrics.results == 0 or metrics.latency_ms_p50 is not None
            if metrics.latency_ms_p50 is not None and metrics.latency_ms_p99 is not None:
                most = (batch.at - told.began).total_seconds() * 1000
                # They are those of a minute, and steps of a scale.
                assert 0 < metrics.latency_ms_p50 <= metrics.latency_ms_p99 <= 1.02 * most


def test_an_epoch_adds_its_batches_up(told: Told) -> None:
    epoch = told.epochs[0]
    own = [b for b in told.batches if epoch.first_batch <= b.batch <= epoch.last_batch]
    assert len(own) == epoch.last_batch - epoch.first_batch + 1
    for stream in "rst":
        assert epoch.accepted[stream] == sum(b.streams[stream].accepted for b in own)
    assert epoch.edges == {edge: sum(b.edges[edge].tuples for b in own) for edge in own[0].edges}
    assert epoch.held == {s: sum(b.stores[s].tuples for b in own) // len(own) for s in own[0].stores}
    for element, rate in epoch.rates.items():
        counted = epoch.edges.get(element, epoch.rules.get(element))
        assert counted is not None
        assert rate.actual == pytest.approx(counted / epoch.event_seconds)
    assert epoch.q_error is not None
    worst = epoch.rates[epoch.q_error.worst]
    assert epoch.q_error.actual == pytest.approx(max(worst.actual, 0.5 / epoch.event_seconds))


def test_samples_are_tuples_of_the_epoch_and_only_what_predicates_read(told: Told) -> None:
    epoch = told.epochs[-1]
    assert (told.sample.epoch, told.sample.plan_id) == (epoch.epoch, epoch.plan_id)
    columns = {"r": ["a"], "s": ["a", "b"], "t": ["b"]}
    for stream, body in told.sample.streams.items():
        frame = pl.read_ipc_stream(BytesIO(body))
        assert sorted(frame.columns) == columns[stream]
        assert 0 < frame.height <= min(ROWS, epoch.accepted[stream])
        produced = Counter(tuple(row[c] for c in frame.columns) for row in told.live.produced[stream])
        assert not Counter(frame.rows()) - produced
    assert set(told.sample.streams) == set("rst")
