from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.broker import Broker, Unavailable, jars
from tests.kafka.topology import KafkaLive
from tests.runtime.live import RedisServer


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    try:
        jars()
    except Unavailable as error:
        pytest.skip(f"no Kafka broker here: {error}")
    server = Broker(tmp_path_factory.mktemp("kafka") / "broker")
    server.format()
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server.port
    server.stop()


@pytest.fixture
def live(
    broker: Broker, redis_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[KafkaLive]:
    """A topology whose stream r is a JSON topic, s an Avro topic, and t in Redis."""
    monkeypatch.setenv("MILLRACE_KAFKA_SERVERS", broker.servers)
    topology = KafkaLive(broker, redis_port, tmp_path)
    topology.client.flushall()
    yield topology
    topology.close()
