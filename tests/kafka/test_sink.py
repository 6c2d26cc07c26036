"""Results in topics, as a consumer sees them that reads what transactions have committed."""

from __future__ import annotations

import io
import json
import signal
from pathlib import Path

import fastavro

from jobs.protocol import Stop
from tests.kafka.topology import QUERIES, KafkaLive, committed_records, committed_values


def _published(live: KafkaLive, prefix: str, query: str) -> list[tuple[int, ...]]:
    values = committed_values(live.broker.servers, f"{prefix}.{query}")
    return sorted(tuple(json.loads(value).values()) for value in values)


def test_a_killed_driver_publishes_every_result_once(live: KafkaLive, tmp_path: Path) -> None:
    prefix = live.topics["r"] + "-out"
    options = ["--batch-rows", "60", "--results-topic", prefix + ".{query}"]
    graph = live.graph("ilp", *QUERIES)
    live.start("1", "p", graph, files=False, options=options)
    for run in ("2", "3", "4"):
        live.produce(120)
        live.wait_for(
            lambda event, run=run: event.type == "batch" and event.run < run and bool(event.queries)
        )  # type: ignore[misc]
        live.signal(signal.SIGKILL)
        live.start(run, "p", graph, files=False, options=options)
    live.wait_for_tuples("rst")
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    for query in QUERIES:
        assert live.expected(query), query
        assert _published(live, prefix, query) == live.expected(query), query
    records = committed_records(live.broker.servers, f"{prefix}.pair")
    ids = [dict(record.headers())["millrace-id"] for record in records]
    assert len(set(ids)) == len(ids)
    # Files that were only there to be published are gone.
    assert not list((tmp_path / "checkpoint" / "results").glob("results/*/[0-9]*.parquet"))
    assert not list((tmp_path / "checkpoint" / "outbox").iterdir())


def test_avro_results_carry_their_schema(live: KafkaLive) -> None:
    prefix = live.topics["r"] + "-avro"
    options = ["--results-topic", prefix + ".{query}", "--results-format", "avro"]
    live.produce(100)
    live.start("1", "p", live.graph("ilp", *QUERIES), options=options)
    live.wait_for_tuples("rst")
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    records = committed_records(live.broker.servers, "millrace.commits")
    schemas = {record.key().decode(): record.value() for record in records}
    schema = fastavro.parse_schema(json.loads(schemas[f"schema/{prefix}.pair"]))
    values = committed_values(live.broker.servers, f"{prefix}.pair")
    rows = [fastavro.schemaless_reader(io.BytesIO(value), schema, None) for value in values]
    assert sorted(tuple(row.values()) for row in rows) == live.expected("pair")
    assert live.found("pair") == live.expected("pair")
