"""Topics as sources: equal to DuckDB, over kills, restarts and bad values."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import polars as pl

from jobs.protocol import Stop
from tests.kafka.topology import QUERIES, KafkaLive


def test_json_and_avro_topics_and_redis_together_give_what_duckdb_gives(live: KafkaLive) -> None:
    live.produce(200)
    live.start("1", "p", live.graph("ilp", *QUERIES))
    live.wait_for_tuples("rst")
    live.produce(200)
    live.wait_for_tuples("rst")
    live.send(Stop(mode="now"))
    assert live.wait_until_ended() == 0
    for query in QUERIES:
        assert live.expected(query), query
        assert live.found(query) == live.expected(query), query


def test_the_checkpoint_has_the_next_offset_of_every_partition(live: KafkaLive, tmp_path: Path) -> None:
    live.produce(60)
    live.start("1", "p", live.graph("ilp", *QUERIES))
    live.wait_for_tuples("rst")
    live.signal(signal.SIGKILL)
    commits = sorted((tmp_path / "checkpoint" / "commits").glob("*.json"), key=lambda p: int(p.stem))
    last = json.loads(commits[-1].read_bytes().split(b"\n")[0])
    assert sum(last["position"]["streams"]["r"]["offsets"].values()) == 60
    assert len(last["position"]["streams"]["r"]["offsets"]) == 3
    assert sum(last["position"]["streams"]["s"]["offsets"].values()) == 60
    sparks = max((tmp_path / "checkpoint" / "spark" / "offsets").glob("[0-9]*"), key=lambda p: int(p.name))
    assert '"offsets"' in sparks.read_text()


def test_a_killed_driver_neither_loses_nor_doubles(live: KafkaLive) -> None:
    graph = live.graph("ilp", *QUERIES)
    live.start("1", "p", graph, options=["--batch-rows", "60"])
    for run in ("2", "3"):
        live.produce(150)
        # Killed while a backlog is being worked on: inside some batch or between two.
        live.wait_for(lambda event: event.type == "batch" and event.tuples_in > 0)
        live.signal(signal.SIGKILL)
        live.start(run, "p", graph, options=["--batch-rows", "60"])
    live.wait_for_tuples("rst")
    live.send(Stop(mode="now"))
    assert live.wait_until_ended() == 0
    for query in QUERIES:
        assert live.found(query) == live.expected(query), query


def test_bad_values_become_dead_letters_with_their_place(live: KafkaLive, tmp_path: Path) -> None:
    live.send_record("r", b'{"ts": "yesterday", "n": 1}', 0)
    live.send_record("r", b"{", 1)
    live.send_record("r", None, 2)
    live.send_record("s", b"\xff\xff", 1)
    live.producer.flush()
    live.produce(50)
    live.start("1", "p", live.graph("ilp", *QUERIES))
    live.wait_for_tuples("rst")
    live.send(Stop(mode="now"))
    assert live.wait_until_ended() == 0
    letters = pl.read_parquet(tmp_path / "out" / "dead_letters" / "*.parquet").sort("stream", "reason")
    r, s = live.topics["r"], live.topics["s"]
    reasons = letters["reason"].to_list()
    assert reasons[:3] == [
        f"no value ({r}, partition 2, offset 0)",
        f"not JSON ({r}, partition 1, offset 0)",
        f"ts is not timestamp: 'yesterday' ({r}, partition 0, offset 0)",
    ]
    assert reasons[3].startswith("not Avro of the schema: ")
    assert reasons[3].endswith(f"({s}, partition 1, offset 0)")
    assert letters["tuple"].to_list()[1:] == ["{", '{"ts": "yesterday", "n": 1}', "ffff"]
    for query in QUERIES:
        assert live.found(query) == live.expected(query), query


def test_a_backlog_comes_in_bounded_batches(live: KafkaLive) -> None:
    live.produce(400)
    live.start("1", "p", live.graph("ilp", *QUERIES), options=["--batch-rows", "90"])
    live.wait_for_tuples("rst")
    live.send(Stop(mode="now"))
    assert live.wait_until_ended() == 0
    batches = [event for event in live.events() if event.type == "batch"]
    # A third for each stream, and one record of each partition at least.
    assert 0 < max(event.tuples_in for event in batches) <= 90 + 5
    assert any(event.backlog for event in batches)
    for query in QUERIES:
        assert live.found(query) == live.expected(query), query
