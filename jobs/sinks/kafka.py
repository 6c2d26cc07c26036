"""Results to topics, each batch in one transaction.

A batch is published behind its commit, from its result files, so whatever a topic has is part of the
checkpoint. The batch's transaction also writes which batch it was, under the checkpoint's id, to the
compacted topic `COMMITS`. Whoever starts next first has the cluster finish or undo the transaction
that a dead process left (its producer has the same transactional id), then reads that record: batches
up to it are in the topics, and those behind it are not. So a consumer that reads committed records
sees every result once. `outbox/BATCH.json` in the checkpoint lists what is still to be published.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import ascii_letters, digits
from typing import Literal
from urllib.parse import unquote

import pyarrow.parquet as pq
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from jobs.recovery.manifest import Manifest, write_durably
from jobs.sinks.avro import avro_schema, to_avro
from jobs.sinks.parquet import DEAD_LETTER_FOLDER
from jobs.sinks.redis_tail import to_json
from jobs.sources.kafka.cluster import Cluster

COMMITS = "millrace.commits"
"""By checkpoint the last batch that is in the topics; by topic, `schema/TOPIC`, the schema of Avro values."""
_LEGAL = frozenset(f"{ascii_letters}{digits}_-")
_PATIENCE_S = 60.0
_BACK_OFF_S = (0.2, 0.5, 1.0, 2.0, 5.0)
_POLL_S = 0.2
_FENCED = (
    KafkaError._FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.PRODUCER_FENCED,
)


@dataclass(frozen=True, slots=True)
class Topics:
    """Where results go."""

    pattern: str
    """The topics' name; `{query}` in it stands for the query's."""
    format: Literal["json", "avro"] = "json"

    def of(self, query: str) -> str:
        """The topic of a query, which no other query has.

        What is neither a letter, a digit, `_` nor `-` is written as its bytes, and so is all of a name that
        would stand for `COMMITS`.

        >>> Topics("millrace.{query}").of("late_flights"), Topics("millrace.{query}").of("late flights")
        ('millrace.late_flights', 'millrace.late.20flights')
        """
        topic = self.pattern.replace("{query}", "".join(c if c in _LEGAL else _bytes(c) for c in query))
        if topic == COMMITS:
            return self.pattern.replace("{query}", _bytes(query))
        return topic


def _bytes(text: str) -> str:
    return "".join(f".{byte:02x}" for byte in text.encode())


class TopicResults:
    """Publishes committed batches from a thread of its own, in order.

    Arguments: the cluster; where results go; the checkpoint's directory and id; the directory of the
    result files, and whether they are only there to be published; how many batches may wait.
    """

    def __init__(
        self,
        cluster: Cluster,
        topics: Topics,
        checkpoint: Path,
        identity: str,
        output: Path,
        passing: bool,
        most: int,
    ) -> None:
        self._cluster = cluster
        self._topics = topics
        self._identity = identity
        self.output = output
        self._passing = passing
        self._most = most
        self._released = threading.Event()
        self._outbox = checkpoint / "outbox"
        self._outbox.mkdir(exist_ok=True)
        self._changed = threading.Event()
        self._closing = False
        self._known: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="topics", daemon=True)
        self.error: BaseException | None = None
        """What ended publishing for good, if anything did."""

    def start(self, last: Manifest | None) -> None:
        """Begin, with the last commit: its process may have died before it was put into the outbox."""
        if last is not None:
            self.add(last)
        self._thread.start()

    def add(self, manifest: Manifest) -> None:
        """Have a committed batch published. It is on the disk when this returns."""
        files = [file.path for file in manifest.files if not file.path.startswith(f"{DEAD_LETTER_FOLDER}/")]
        if self._passing:
            for file in manifest.files:
                if file.path not in files:
                    (self.output / file.path).unlink(missing_ok=True)
        if files:
            entry = self._outbox / f"{manifest.batch}.json"
            write_durably(entry, json.dumps(files).encode())
            self._changed.set()

    def waiting(self) -> int:
        """Batches that are not in the topics yet."""
        return sum(1 for _ in self._outbox.glob("[0-9]*.json"))

    def wait_for_room(self) -> None:
        """Return once fewer batches wait than may, publishing has ended, or after `release`.

        A cluster that is away for long so holds the topology up, whose input stays where it is, rather than
        fill the disk.
        """
        while self.waiting() >= self._most and self.error is None:
            if self._released.wait(_POLL_S):
                return

    def release(self) -> None:
        """Hold nobody up from now on: the topology is ending."""
        self._released.set()

    def close(self, patience_s: float) -> None:
        """End behind the transaction at hand; what waits is published by the next process."""
        self._closing = True
        self._changed.set()
        self._thread.join(patience_s)

    def _run(self) -> None:
        failures = 0
        while not self._closing:
            try:
                producer, published = self._connect()
                while not self._closing:
                    for batch in self._batches():
                        if batch > published:
                            self._publish(producer, batch)
                            published = batch
                        self._forget(batch)
                        failures = 0
                        if self._closing:
                            return
                    self._changed.wait(_POLL_S)
                    self._changed.clear()
            except KafkaException as error:
                cause = error.args[0]
                if isinstance(cause, KafkaError) and cause.code() in _FENCED:
                    self.error = error
                    return
                # Whether the transaction came about is not known here; connecting again finds out.
                time.sleep(_BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)])
                failures += 1
            except BaseException as error:
                self.error = error
                return

    def _batches(self) -> list[int]:
        return sorted(int(path.stem) for path in self._outbox.glob("[0-9]*.json"))

    def _connect(self) -> tuple[Producer, int]:
        """A producer without a transaction, and the last batch that is in the topics."""
        self._make_topic(COMMITS, 1, {"cleanup.policy": "compact"})
        producer = Producer(
            self._cluster.client(
                transactional_id=f"millrace-{self._identity}",
                linger_ms=20,
                compression_type="lz4",
            )
        )
        producer.init_transactions(_PATIENCE_S)
        return producer, self._last_published()

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

    def _publish(self, producer: Producer, batch: int) -> None:
        files = json.loads((self._outbox / f"{batch}.json").read_bytes())
        for topic in {self._topics.of(_query(file)) for file in files} - self._known:
            self._make_topic(topic, -1, {})
        producer.begin_transaction()
        number = 0
        for file in files:
            topic = self._topics.of(_query(file))
            for value in self._values(producer, topic, file):
                headers: dict[str, str | bytes | None] = {"millrace-id": f"{self._identity}-{batch}-{number}"}
                _patiently(producer, partial(producer.produce, topic, value, headers=headers))
                number += 1
        document = json.dumps({"batch": batch, "results": number})
        producer.produce(COMMITS, document, self._identity, partition=0)
        producer.commit_transaction(_PATIENCE_S)
        self._known |= {self._topics.of(_query(file)) for file in files}

    def _values(self, producer: Producer, topic: str, file: str) -> Iterator[str | bytes]:
        table = pq.read_table(self.output / file, partitioning=None)
        if self._topics.format == "json":
            yield from to_json(table)
            return
        schema = avro_schema(table.schema, _query(file))
        if topic not in self._known:
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

    def _forget(self, batch: int) -> None:
        entry = self._outbox / f"{batch}.json"
        if self._passing:
            for file in json.loads(entry.read_bytes()):
                (self.output / file).unlink(missing_ok=True)
        entry.unlink()


def _query(file: str) -> str:
    """The query of a result file, whose folder has its quoted name."""
    return unquote(Path(file).parent.name)


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
