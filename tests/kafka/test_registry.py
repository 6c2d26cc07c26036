"""Topics whose schemas are in a registry, of each format, with a real broker and a real registry."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from jobs.protocol import Stop
from tests.kafka.broker import Broker
from tests.kafka.registered import QUERIES, RegisteredLive, avro_schema, encode_avro
from tests.registry.apicurio import Apicurio, Unavailable, program
from tests.registry.stand_in import framed
from tests.runtime.live import BEGIN


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Apicurio]:
    try:
        program()
    except Unavailable as error:
        pytest.skip(f"no schema registry here: {error}")
    server = Apicurio(tmp_path / "registry")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def live(
    broker: Broker, registry: Apicurio, redis_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RegisteredLive]:
    monkeypatch.setenv("MILLRACE_KAFKA_SERVERS", broker.servers)
    monkeypatch.setenv("MILLRACE_SCHEMA_REGISTRY_URL", registry.url)
    monkeypatch.setenv("MILLRACE_SCHEMA_REGISTRY_USERNAME", "millrace")
    monkeypatch.setenv("MILLRACE_SCHEMA_REGISTRY_PASSWORD", SECRET)
    topology = RegisteredLive(broker, registry, redis_port, tmp_path)
    topology.client.flushall()
    yield topology
    topology.close()


SECRET = "a-secret-of-the-registry"


def _letters(folder: Path) -> pl.DataFrame:
    files = list((folder / "out" / "dead_letters").glob("*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files]) if files else pl.DataFrame()


def _ended_right(live: RegisteredLive) -> None:
    live.wait_for_tuples("rst")
    live.send(Stop(mode="now"))
    assert live.wait_until_ended() == 0
    for query in QUERIES:
        assert live.expected(query), query
        assert live.found(query) == live.expected(query), query


def test_writers_change_their_schemas_amid_a_batch(live: RegisteredLive, tmp_path: Path) -> None:
    live.produce(60)
    live.evolve()
    live.produce(60)
    live.start("1", "p", live.graph("ilp", *QUERIES))
    live.wait_for_tuples("rst")
    live.produce(60)
    _ended_right(live)
    assert _letters(tmp_path).is_empty()


def test_what_does_not_fit_is_a_dead_letter_that_says_why(live: RegisteredLive, tmp_path: Path) -> None:
    other = avro_schema([("ts", {"type": "long", "logicalType": "timestamp-micros"}), ("n", "string")])
    number = live.registry.register("other", other)
    lacking = avro_schema([("n", "long")])
    without_time = live.registry.register("lacking", lacking)
    live.send_record("r", encode_avro(number, other, {"ts": BEGIN, "n": "seven"}), 0)
    live.send_record("r", encode_avro(without_time, lacking, {"n": 7}), 0)
    live.send_record("s", framed(4711, b"\0"), 1)
    live.send_record("s", framed(number, b"\0"), 1)
    live.send_record("t", framed(live.numbers["t"], json.dumps({"ts": 5}).encode()), 0)
    live.producer.flush()
    live.produce(50)
    live.start("1", "p", live.graph("ilp", *QUERIES))
    _ended_right(live)
    r, s, t = (live.topics[stream] for stream in "rst")
    reasons = set(_letters(tmp_path)["reason"].to_list())
    known = live.numbers["t"]
    expected = {
        f"n is not bigint: 'seven', string in schema {number} ({r}, partition 0, offset 0)",
        f"schema {without_time} has no ts, which is the event time ({r}, partition 0, offset 1)",
        f"schema {number} cannot be used: it is Avro instead of Protobuf ({s}, partition 1, offset 1)",
        f"ts is not timestamp: 5, string (date-time) in schema {known} ({t}, partition 0, offset 0)",
    }
    (unknown,) = reasons - expected
    assert expected < reasons
    assert unknown.startswith("schema 4711 is not in the registry: ")
    assert unknown.endswith(f"({s}, partition 1, offset 0)")


def test_a_registry_that_is_away_holds_batches_up_also_over_a_kill(
    live: RegisteredLive, tmp_path: Path
) -> None:
    graph = live.graph("ilp", *QUERIES)
    live.produce(60)
    live.start("1", "p", graph)
    live.wait_for_tuples("rst")
    live.evolve()
    live.registry.stop()
    live.produce(60)
    told = live.wait_for(lambda event: event.type == "batch_waits")
    assert "the schema registry does not answer" in told.reason
    live.signal(signal.SIGKILL)
    live.start("2", "p", graph)
    again = live.wait_for(lambda event: event.type == "batch_waits" and event.run == "2")
    assert again.batch == told.batch
    live.registry.start()
    live.wait_for(lambda event: event.type == "batch" and event.run == "2")
    live.produce(30)
    live.signal(signal.SIGKILL)
    live.start("3", "p", graph)
    _ended_right(live)
    assert _letters(tmp_path).is_empty()


def test_the_password_is_written_nowhere(live: RegisteredLive, tmp_path: Path) -> None:
    live.produce(20)
    live.start("1", "p", live.graph("ilp", *QUERIES))
    live.wait_for_tuples("rst")
    live.registry.stop()
    live.send_record("r", framed(4711, b""), 0)
    live.producer.flush()
    live.wait_for(lambda event: event.type == "batch_waits")
    live.send(Stop(mode="now"))
    assert live.wait_until_ended() == 0
    assert SECRET not in "".join(event.model_dump_json() for event in live.events())
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file
