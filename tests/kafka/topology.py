"""A topology's process that reads topics and Redis together, its producers, and what it left in topics."""

from __future__ import annotations

import io
import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fastavro
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from optimizer.workload import Workload, load_workload
from tests.kafka.broker import Broker
from tests.runtime.live import PATIENCE_S, Live

SCHEMA = {
    "type": "record",
    "name": "s",
    "fields": [
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "n", "type": "long"},
        {"name": "a", "type": ["null", "long"]},
        {"name": "b", "type": "int"},
        {"name": "unused", "type": "string"},
    ],
}
QUERIES = {
    "chain": "SELECT r.n AS rn, s.n AS sn, t.n AS tn FROM r [RANGE 30 SECONDS], s [RANGE 30 SECONDS], "
    "t [RANGE 30 SECONDS] WHERE r.a = s.a AND s.b = t.b",
    "pair": "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 30 SECONDS], s [RANGE 30 SECONDS] WHERE r.a = s.a",
}


def encode_avro(row: Mapping[str, Any]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(SCHEMA), {**row, "unused": "x"})
    return body.getvalue()


def write_topic_workload(folder: Path, topics: dict[str, str], more: str = "") -> Workload:
    """Streams r, s and t, whose event time, numbers and keys `Live` makes up."""
    (folder / "queries").mkdir(parents=True)
    (folder / "s.avsc").write_text(json.dumps(SCHEMA))
    (folder / "streams.yaml").write_text(
        f"""\
streams:
  # A topic's partitions are flushed one after the other, and each has its own part of the event times.
  r:
    event_time: ts
    lateness: 1 minute
    rate: 100
    columns: {{ts: timestamp, n: bigint, a: bigint}}
    kafka: {{topic: {topics["r"]}{more}}}
  s:
    event_time: ts
    lateness: 1 minute
    rate: 100
    columns: {{ts: timestamp, n: bigint, a: bigint, b: bigint}}
    kafka: {{topic: {topics["s"]}, format: avro, schema_file: s.avsc}}
  t: {{event_time: ts, rate: 100, columns: {{ts: timestamp, n: bigint, b: bigint}}}}
"""
    )
    for name, sql in QUERIES.items():
        (folder / "queries" / f"{name}.sql").write_text(sql)
    return load_workload(folder)


class KafkaLive(Live):
    def __init__(self, broker: Broker, redis_port: int, folder: Path) -> None:
        unique = uuid.uuid4().hex[:8]
        self.topics = {"r": f"r-{unique}", "s": f"s-{unique}"}
        self.broker = broker
        super().__init__(redis_port, folder, write_topic_workload(folder / "workload", self.topics))
        make_topic(broker.admin(), self.topics["r"], 3)
        make_topic(broker.admin(), self.topics["s"], 2)
        self.producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})

    def produce(self, rows: int, streams: str = "rst") -> int:
        first = super().produce(rows, streams)
        self.producer.flush()
        return first

    def send_row(self, stream: str, row: Mapping[str, Any]) -> None:
        if stream == "t":
            super().send_row(stream, row)
        elif stream == "s":
            self.send_record(stream, encode_avro(row))
        else:
            self.send_record(stream, json.dumps({**row, "ts": row["ts"].isoformat()}).encode())

    def send_record(self, stream: str, value: bytes | None, partition: int | None = None) -> None:
        """To a partition, or to one after the other."""
        if partition is None:
            partition = self._number % (3 if stream == "r" else 2)
        self.producer.produce(self.topics[stream], value, partition=partition)


def make_topic(admin: AdminClient, name: str, partitions: int, **settings: str) -> None:
    config = {key.replace("_", "."): value for key, value in settings.items()}
    made = admin.create_topics([NewTopic(name, partitions, 1, config=config)])
    made[name].result(30)
    wait_for_topic(admin, name, there=True)


def wait_for_topic(admin: AdminClient, name: str, *, there: bool) -> None:
    """Until the broker knows what its controller has decided, which takes it a moment."""
    give_up_at = time.monotonic() + PATIENCE_S
    while _is_there(admin, name) != there:
        assert time.monotonic() < give_up_at, f"{name}: expected {there}"


def _is_there(admin: AdminClient, name: str) -> bool:
    try:
        admin.describe_topics(TopicCollection([name]), request_timeout=30)[name].result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise
        return False
    return True


def committed_values(servers: str, topic: str) -> list[bytes]:
    """Everything in a topic that a consumer sees that reads what transactions have committed."""
    return [message.value() for message in committed_records(servers, topic)]


def committed_records(servers: str, topic: str) -> list[Any]:
    """As `committed_values`, whole records."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    try:
        partitions = consumer.list_topics(topic, 30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found, ended = [], set()
        while len(ended) < len(partitions):
            message = consumer.poll(30)
            assert message is not None, "the broker is silent"
            error = message.error()
            if error is None:
                found.append(message)
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
        return found
    finally:
        consumer.close()
