"""Topics, held against what every connector has to do."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer

from jobs.sources.kafka.topic import KafkaTopic
from tests.kafka.broker import Broker
from tests.kafka.topology import make_topic
from tests.unit.sources.connector_kit import Bench, ConnectorKit

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class _Topic(Bench):
    def __init__(self, folder: Path, broker: Broker) -> None:
        super().__init__(folder)
        self.source = KafkaTopic(f"kit-{uuid.uuid4().hex[:8]}")
        make_topic(broker.admin(), self.source.topic, 1)
        self._producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})

    def send(self, numbers: Sequence[int]) -> None:
        for n in numbers:
            row = {"at": (BEGIN + timedelta(seconds=n)).isoformat(), "n": n}
            self._producer.produce(self.source.topic, json.dumps(row))
        assert self._producer.flush(60) == 0


class TestKafka(ConnectorKit):
    connector = "kafka"

    @pytest.fixture
    def bench(self, tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Bench:
        monkeypatch.setenv("MILLRACE_KAFKA_SERVERS", broker.servers)
        return _Topic(tmp_path, broker)
