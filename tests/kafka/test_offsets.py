"""Which offsets a batch takes, and what is read of them, against a real broker and without Spark."""

from __future__ import annotations

import io
import json
import struct
import uuid
from datetime import UTC, datetime

import fastavro
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewPartitions

from jobs.sources.connector import Away, Position
from jobs.sources.kafka.cluster import Cluster, configured
from jobs.sources.kafka.offsets import TopicOffsets
from jobs.sources.kafka.source import read_records, type_values
from jobs.sources.kafka.topic import KafkaTopic, RecordRange
from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType
from optimizer.physical.graph import GraphStream
from tests.kafka.broker import PASSWORD, USER, Broker
from tests.kafka.topology import make_topic, wait_for_topic

_MANY = 1_000


@pytest.fixture
def topic(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MILLRACE_KAFKA_SERVERS", broker.servers)
    name = f"offsets-{uuid.uuid4().hex[:8]}"
    admin = broker.admin()
    make_topic(admin, name, 1)
    return name


@pytest.fixture
def offsets(broker: Broker) -> TopicOffsets:
    return TopicOffsets(Cluster(broker.servers))


def _send(broker: Broker, topic: str, rows: int, partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    for number in range(rows):
        producer.produce(topic, str(number).encode(), partition=partition)
    assert producer.flush(60) == 0


def _delete_before(broker: Broker, topic: str, offset: int) -> None:
    # A client that nothing refers to any more ends, and its requests with it.
    admin = broker.admin()
    (done,) = admin.delete_records([TopicPartition(topic, 0, offset)]).values()
    assert done.result().low_watermark == offset


def _next(offsets: TopicOffsets, topic: KafkaTopic, position: Position | None = None) -> Position | None:
    return offsets.ends({"r": topic}, {} if position is None else {"r": position}, _MANY).get("r")


def test_partitions_that_come_later_are_read_from_their_beginning(
    broker: Broker, topic: str, offsets: TopicOffsets
) -> None:
    _send(broker, topic, 3)
    first = _next(offsets, KafkaTopic(topic))
    assert first is not None
    assert first["ranges"] == [[0, 0, 3]]
    admin = broker.admin()
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result()
    _send(broker, topic, 2, partition=1)

    later = _next(offsets, KafkaTopic(topic, start="latest"), first)

    assert later is not None
    assert later["ranges"] == [[1, 0, 2]]
    assert later["offsets"] == {"0": 3, "1": 2}
    assert _next(offsets, KafkaTopic(topic), later) is None


def test_a_stream_may_begin_with_what_comes_next(broker: Broker, topic: str, offsets: TopicOffsets) -> None:
    _send(broker, topic, 3)
    first = _next(offsets, KafkaTopic(topic, start="latest"))
    assert first is not None
    assert first["ranges"] == []
    _send(broker, topic, 4)

    later = _next(offsets, KafkaTopic(topic, start="latest"), first)

    assert later is not None
    assert later["ranges"] == [[0, 3, 4]]


def test_deleted_records_end_the_job_or_are_passed_over(
    broker: Broker, topic: str, offsets: TopicOffsets
) -> None:
    _send(broker, topic, 2)
    first = _next(offsets, KafkaTopic(topic))
    _send(broker, topic, 8)
    _delete_before(broker, topic, 5)

    with pytest.raises(InputError, match=r"partition 0: found offset 5.*expected offset 2"):
        _next(offsets, KafkaTopic(topic), first)
    later = _next(offsets, KafkaTopic(topic, lost="skip"), first)

    assert later is not None
    assert (later["gaps"], later["ranges"]) == ([[0, 2, 5]], [[0, 5, 5]])


def test_records_deleted_between_planning_and_reading(broker: Broker, topic: str) -> None:
    _send(broker, topic, 10)
    _delete_before(broker, topic, 6)
    wanted = RecordRange("r", topic, 0, 2, 8)

    with pytest.raises(InputError, match="offset 6"):
        read_records(wanted, skip=False)
    records, first = read_records(wanted, skip=True)

    assert first == 6
    assert records.values == [b"6", b"7", b"8", b"9"]


def test_a_topic_that_was_made_anew_is_refused(broker: Broker, topic: str, offsets: TopicOffsets) -> None:
    _send(broker, topic, 3)
    first = _next(offsets, KafkaTopic(topic))
    admin = broker.admin()
    admin.delete_topics([topic])[topic].result()
    wait_for_topic(admin, topic, there=False)
    assert _next(offsets, KafkaTopic(topic), first) is None
    make_topic(admin, topic, 1)

    with pytest.raises(InputError, match="a topic with id"):
        _next(offsets, KafkaTopic(topic), first)


def test_a_broker_that_is_killed_is_waited_for(broker: Broker, topic: str, offsets: TopicOffsets) -> None:
    _send(broker, topic, 3)
    first = _next(offsets, KafkaTopic(topic))
    broker.kill()
    try:
        with pytest.raises(Away):
            _next(offsets, KafkaTopic(topic), first)
    finally:
        broker.start()
    _send(broker, topic, 2)

    later = _next(offsets, KafkaTopic(topic), first)

    assert later is not None
    assert later["ranges"] == [[0, 3, 2]]
    assert read_records(RecordRange("r", topic, 0, 0, 5), skip=False)[0].offsets == [0, 1, 2, 3, 4]


def test_a_cluster_with_tls_and_a_password(broker: Broker, topic: str) -> None:
    _send(broker, topic, 3)
    cluster = configured(
        {
            "MILLRACE_KAFKA_SERVERS": broker.guarded_servers,
            "MILLRACE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "MILLRACE_KAFKA_SSL_CA": str(broker.authority),
            "MILLRACE_KAFKA_SASL_MECHANISM": "PLAIN",
            "MILLRACE_KAFKA_SASL_USERNAME": USER,
            "MILLRACE_KAFKA_SASL_PASSWORD": PASSWORD,
        }
    )
    assert cluster is not None
    assert PASSWORD not in repr(cluster)

    found = _next(TopicOffsets(cluster), KafkaTopic(topic))

    assert found is not None
    assert found["ranges"] == [[0, 0, 3]]


def test_keys_times_and_numbers_of_schemas(broker: Broker, topic: str) -> None:
    schema = '{"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]}'
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(json.loads(schema)), {"n": 7})
    columns = (("at", ColumnType.TIMESTAMP), ("n", ColumnType.BIGINT), ("who", ColumnType.STRING))
    stream = GraphStream("r", "at", columns, 0, "drop")
    read = KafkaTopic(topic, format="avro", schema=schema, schema_id=3, key="who", record_time=True)
    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    # The broker deletes what is older than a week.
    moment = datetime.now(UTC).replace(microsecond=0)
    for key, number in ((b"ann", 3), (b"\xff", 3), (b"bob", 4)):
        value = struct.pack(">bI", 0, number) + body.getvalue()
        producer.produce(topic, value, key, timestamp=int(moment.timestamp() * 1000))
    assert producer.flush(60) == 0

    wanted = RecordRange("r", topic, 0, 0, 3)
    table, kept, letters = type_values(read_records(wanted, skip=False)[0], wanted, stream, read)

    assert table.to_pylist() == [{"at": moment, "n": 7, "who": "ann"}]
    assert kept == [0]
    place = f"({topic}, partition 0, offset"
    assert [reason for reason, _ in letters] == [
        f"schema 4 instead of 3 {place} 2)",
        f"the key is not UTF-8, as who is {place} 1)",
    ]
