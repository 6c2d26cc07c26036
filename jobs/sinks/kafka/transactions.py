"""Results to topics, each batch in one transaction.

The batch's transaction also writes which batch it was, under the checkpoint's id, to the compacted topic
`COMMITS`. Whoever starts next first has the cluster finish or undo the transaction that a dead process
left (its producer has the same transactional id), then reads that record: batches up to it are in the
topics, and those behind it are not. So a consumer that reads committed records sees every result once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import isfinite
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic  # type: ignore[attr-defined]

from jobs.sinks.avro import avro_schema, to_avro
from jobs.sinks.connector import BatchResults, query_of
from jobs.sinks.kafka.topics import COMMITS, Topics
from jobs.sinks.redis_tail import to_json
from jobs.sources.connector import Away
from jobs.sources.kafka.cluster import Cluster
from optimizer.physical.groups import DELETED

_PATIENCE_S = 60.0
_POLICY = "cleanup.policy"
_FENCED = (
    KafkaError._FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.PRODUCER_FENCED,
)


@contextmanager
def _away() -> Iterator[None]:
    """Errors after which to try again: all but that another process has the producer."""
    try:
        yield
    except KafkaException as error:
        cause = error.args[0]
        if isinstance(cause, KafkaError) and cause.code() in _FENCED:
            raise
        raise Away(str(error)) from error


class TopicSink:
    """Publishes to the topics of a cluster.

    Arguments: the cluster; the topics; the checkpoint's id.
    """

    def __init__(self, cluster: Cluster, topics: Topics, identity: str) -> None:
        self._cluster = cluster
        self._topics = topics
        self._identity = identity
        self._known: set[tuple[str, bool]] = set()
        """Topics that are there, and whether all records have the key of a group."""
        self._producer: Producer | None = None

    @_away()
    def connect(self) -> int:
        """Begin with a producer without a transaction."""
        self._make_topic(COMMITS, 1, {"cleanup.policy": "compact"})
        self._producer = Producer(
            self._cluster.client(
                transactional_id=f"millrace-{self._identity}",
                linger_ms=20,
                compression_type="lz4",
            )
        )
        self._producer.init_transactions(_PATIENCE_S)
        return self._last_published()

    def _last_published(self) -> int:
        consumer = Consumer(
            self._cluster.client(
                group_id="millrace",
                enable_auto_commit=False,
                enable_partition_eof=True,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
            )
        )
        try:
            partition = TopicPartition(COMMITS, 0)
            # Behind transactions of others that are still open there may be a commit of ours: what was
            # there is waited for.
            end = self._end(partition)
            consumer.assign([TopicPartition(COMMITS, 0, 0)])
            last, key = -1, self._identity.encode()
            give_up_at = time.monotonic() + 2 * _PATIENCE_S
            while time.monotonic() < give_up_at:
                message = consumer.poll(1.0)
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    if message.key() == key:
                        last = int(json.loads(message.value() or b"{}")["batch"])
                elif error.code() == KafkaError._PARTITION_EOF:
                    if (message.offset() or 0) >= end:
                        return last
                elif error.fatal():
                    raise KafkaException(error)
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{COMMITS} cannot be read to its end"))
        finally:
            consumer.close()

    def _end(self, partition: TopicPartition) -> int:
        watching = Consumer(self._cluster.client(group_id="millrace", isolation_level="read_uncommitted"))
        try:
            _, end = watching.get_watermark_offsets(partition, timeout=_PATIENCE_S)
            return int(end)
        finally:
            watching.close()

    @_away()
    def publish(self, results: BatchResults) -> None:
        """One transaction: the batch's results, and that they are there."""
        producer = self._producer
        assert producer is not None, "connected before anything is published"
        topics = {
            (self._topics.of(query), query in results.tables and self._topics.has_own)
            for query in results.by_query()
        }
        for topic, keyed in topics - self._known:
            self._make_topic(topic, -1, {_POLICY: "compact"} if keyed else {})
            if not keyed:
                self._check_keeps_all(topic)
        producer.begin_transaction()
        number = 0
        for file in results.files:
            topic, table = self._topics.of(query_of(file)), results.tables.get(query_of(file))
            for key, value in self._records(producer, topic, file, results):
                headers: dict[str, str | bytes | None] = {
                    "millrace-id": f"{self._identity}-{results.batch}-{number}"
                }
                if table is not None:
                    headers["millrace-begin"] = str(table.begin)
                _patiently(producer, partial(producer.produce, topic, value, key, headers=headers))
                number += 1
        document = json.dumps({"batch": results.batch, "results": number})
        producer.produce(COMMITS, document, self._identity, partition=0)
        producer.commit_transaction(_PATIENCE_S)
        self._known |= topics

    def _records(
        self, producer: Producer, topic: str, file: Path, results: BatchResults
    ) -> Iterator[tuple[str | None, str | bytes | None]]:
        """Keys and values of records.

        Results of running groups have the group's key, and no value once it has left the answer.
        """
        table = pq.read_table(file, partitioning=None)
        keyed = results.tables.get(query_of(file))
        if keyed is None:
            yield from ((None, value) for value in self._values(producer, topic, file, table))
            return
        gone = table.column(DELETED).to_pylist()
        values = self._values(producer, topic, file, table.drop_columns(DELETED))
        keys = _keys(table, keyed.key)
        for key, value, left in zip(keys, values, gone, strict=True):
            yield key, None if left else value

    def _values(self, producer: Producer, topic: str, file: Path, table: pa.Table) -> Iterator[str | bytes]:
        if self._topics.format == "json":
            yield from to_json(table)
            return
        schema = avro_schema(table.schema, query_of(file))
        if topic not in {name for name, _ in self._known}:
            producer.produce(COMMITS, json.dumps(schema), f"schema/{topic}", partition=0)
        yield from to_avro(table, schema)

    def _make_topic(self, name: str, partitions: int, config: dict[str, str]) -> None:
        admin = AdminClient(self._cluster.client())
        try:
            admin.describe_topics(TopicCollection([name]), request_timeout=_PATIENCE_S)[name].result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
            made = admin.create_topics([NewTopic(name, partitions, -1, config=config)])
            try:
                made[name].result(_PATIENCE_S)
            except KafkaException as refusal:
                if refusal.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

    def _check_keeps_all(self, name: str) -> None:
        """Raise `Away` of a compacted topic, which takes no records without a key."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        admin = AdminClient(self._cluster.client())
        asked = admin.describe_configs([resource], request_timeout=_PATIENCE_S)
        try:
            policy = str(asked[resource].result()[_POLICY].value)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                # We may not ask. The broker refuses the first record itself then.
                return
            raise
        if "compact" in policy:
            raise Away(f"topic {name} is compacted, expected {_POLICY}=delete for results that stay")


def _keys(table: pa.Table, key: Sequence[str]) -> list[str]:
    """The keys of groups as JSON.

    NaN and infinities are texts there: their groups are not that of NULL.
    """
    if not key:
        return ["{}"] * table.num_rows
    found, own = (
        to_json(table.select(key)),
        [c for c in key if pa.types.is_floating(table.schema.field(c).type)],
    )
    for number, row in enumerate(table.select(own).to_pylist()):
        odd = {name: str(value) for name, value in row.items() if value is not None and not isfinite(value)}
        if odd:
            found[number] = json.dumps(
                json.loads(found[number]) | odd, ensure_ascii=False, separators=(",", ":")
            )
    return found


def _patiently(producer: Producer, send: Callable[[], None]) -> None:
    """Send; while the client's queue is full, wait for the cluster to take some."""
    give_up_at = time.monotonic() + _PATIENCE_S
    while True:
        try:
            send()
        except BufferError:
            if time.monotonic() > give_up_at:
                raise KafkaException(
                    KafkaError(KafkaError._TIMED_OUT, "the cluster takes no records")
                ) from None
            producer.poll(0.1)
        else:
            producer.poll(0)
            return
