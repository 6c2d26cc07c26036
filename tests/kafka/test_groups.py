"""Changes of running groups in a topic: the last record of each key is its row."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]

from jobs.sinks.connector import BatchResults, KeyedTable
from jobs.sinks.kafka.topics import Topics
from jobs.sinks.kafka.transactions import TopicSink
from jobs.sources.connector import Away
from jobs.sources.kafka.cluster import Cluster
from tests.kafka.broker import Broker
from tests.kafka.topology import committed_records

COLUMNS = {"k": pa.float64(), "s": pa.string(), "n": pa.int64(), "_deleted": pa.bool_()}
NAN = float("nan")


def results(folder: Path, batch: int, table: pa.Table, keyed: KeyedTable | None) -> BatchResults:
    file = folder / "groups" / f"{batch}.parquet"
    file.parent.mkdir(exist_ok=True)
    pq.write_table(table, file)
    return BatchResults(batch, (file,), {}, {} if keyed is None else {"groups": keyed})


def changes(*rows: tuple[object, ...]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table({c: pa.array(v, kind) for (c, kind), v in zip(COLUMNS.items(), columns, strict=True)})


def test_the_last_record_of_a_key_is_its_row(broker: Broker, tmp_path: Path) -> None:
    prefix = f"out-{uuid.uuid4().hex[:8]}"
    sink = TopicSink(Cluster(broker.servers), Topics(prefix + ".{query}"), prefix)
    sink.connect()
    first = changes((1.5, "a", 1, False), (None, None, 1, False), (NAN, "ü", 1, False), (2.5, "b", 1, False))
    sink.publish(results(tmp_path, 0, first, KeyedTable(("k", "s"), 0, 4)))
    second = changes((None, None, 2, False), (2.5, "b", None, True))
    sink.publish(results(tmp_path, 1, second, KeyedTable(("k", "s"), 0, 6)))
    records = committed_records(broker.servers, f"{prefix}.groups")
    last = {record.key().decode(): record.value() for record in records}
    assert {key: None if value is None else json.loads(value)["n"] for key, value in last.items()} == {
        '{"k":1.5,"s":"a"}': 1,
        '{"k":null,"s":null}': 2,
        '{"k":"nan","s":"ü"}': 1,
        '{"k":2.5,"s":"b"}': None,
    }
    assert all("_deleted" not in json.loads(record.value() or b"{}") for record in records)
    assert {dict(record.headers())["millrace-begin"] for record in records} == {b"0"}
    resource = ConfigResource(ConfigResource.Type.TOPIC, f"{prefix}.groups")
    admin = AdminClient({"bootstrap.servers": broker.servers})
    assert admin.describe_configs([resource])[resource].result()["cleanup.policy"].value == "compact"
    # A later version of the query has results that stay, which brokers refuse there.
    with pytest.raises(Away, match=rf"topic {prefix}.groups is compacted, expected cleanup.policy=delete"):
        sink.publish(results(tmp_path, 2, pa.table({"n": [1]}), None))


def test_a_topic_of_all_queries_is_not_compacted(broker: Broker, tmp_path: Path) -> None:
    topic = f"out-{uuid.uuid4().hex[:8]}"
    sink = TopicSink(Cluster(broker.servers), Topics(topic), topic)
    sink.connect()
    sink.publish(results(tmp_path, 0, changes((1.5, "a", 1, False)), KeyedTable(("k", "s"), 0, 1)))
    sink.publish(results(tmp_path, 1, pa.table({"n": [1]}), None))
    assert len(committed_records(broker.servers, topic)) == 2
