"""Reading the records of a topic's partition, inside an ingesting task.

The task's process keeps one consumer. It belongs to no group and commits nothing: which offsets it
reads is the descriptor's business.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, TopicPartition

from jobs.sources.formats.arrow_types import cast_column, stream_schema
from jobs.sources.formats.avro import FROM_AVRO, avro_records
from jobs.sources.formats.decode import FROM_JSON, json_records, type_records
from jobs.sources.kafka.cluster import required
from jobs.sources.kafka.offsets import lost
from jobs.sources.kafka.topic import KafkaTopic, RecordRange
from optimizer.algebra.types import ColumnType
from optimizer.physical.graph import GraphStream

_PATIENCE_S = 300.0
"""Without a further record; then the batch fails and is repeated."""
_RECORDS_AT_ONCE = 10_000
"""Messages that one call of the client hands over."""
_POLL_S = 0.05
"""`consume` waits for so long unless it has as many records as it was asked for."""
_GONE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)


class Records:
    """What `read` returns, as lists beside each other."""

    __slots__ = ("keys", "offsets", "times_ms", "values")

    def __init__(self) -> None:
        self.values: list[bytes | None] = []
        self.keys: list[bytes | None] = []
        self.offsets: list[int] = []
        self.times_ms: list[int | None] = []

    def add(self, message: Any) -> None:
        kind, at_ms = message.timestamp()
        self.values.append(message.value())
        self.keys.append(message.key())
        self.offsets.append(message.offset())
        self.times_ms.append(None if kind == TIMESTAMP_NOT_AVAILABLE else at_ms)

    def arrived_ms(self, kept: Sequence[int]) -> npt.NDArray[np.int64]:
        """When the cluster got the records here, or their producer made them, by topic."""
        return np.asarray([self.times_ms[n] or 0 for n in kept], np.int64)


def read_records(wanted: RecordRange, skip: bool) -> tuple[Records, int]:
    """The committed records of a range, and the offset from which the topic had them.

    A cluster that is away for a while makes the batch wait, not fail. Raises `KafkaException` when it
    stays away, and `InputError` for records that are gone, unless `skip`.
    """
    consumer = _consumer(os.getpid())
    first, before = wanted.first, wanted.first + wanted.rows
    records = Records()
    consumer.assign([TopicPartition(wanted.topic, wanted.partition, first)])
    give_up_at = time.monotonic() + _PATIENCE_S
    try:
        while True:
            reached = records.offsets[-1] + 1 if records.offsets else first
            for message in consumer.consume(min(_RECORDS_AT_ONCE, before - reached), _POLL_S):
                error = message.error()
                offset = message.offset() or 0
                if error is None:
                    if offset >= before:
                        return records, first
                    records.add(message)
                    give_up_at = time.monotonic() + _PATIENCE_S
                    if offset == before - 1:
                        return records, first
                elif error.code() == KafkaError._PARTITION_EOF:
                    # The end of what may be read: records that were rolled back may lie before it.
                    if offset >= before:
                        return records, first
                elif error.code() in _GONE:
                    earliest, _ = consumer.get_watermark_offsets(
                        TopicPartition(wanted.topic, wanted.partition), timeout=_PATIENCE_S
                    )
                    if not skip or not first < earliest:
                        raise lost(wanted.stream, wanted.topic, wanted.partition, first, earliest)
                    first = min(earliest, before)
                    if first == before:
                        return records, first
                    consumer.assign([TopicPartition(wanted.topic, wanted.partition, first)])
                elif error.fatal() or not _passes(error):
                    raise KafkaException(error)
            if time.monotonic() > give_up_at:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, _missing(wanted, records)))
    finally:
        consumer.unassign()


def _passes(error: KafkaError) -> bool:
    return bool(error.retriable() or error.code() in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN))


def _missing(wanted: RecordRange, records: Records) -> str:
    reached = records.offsets[-1] + 1 if records.offsets else wanted.first
    return (
        f"{wanted.topic}, partition {wanted.partition}: nothing for {_PATIENCE_S:.0f} s from {reached} "
        f"on, expected records up to {wanted.first + wanted.rows - 1}"
    )


@cache
def _consumer(process: int) -> Consumer:
    """The process's consumer; a child that was forked makes its own."""
    return Consumer(
        required("streams that are topics").client(
            group_id="millrace",
            enable_auto_commit=False,
            enable_auto_offset_store=False,
            enable_partition_eof=True,
            auto_offset_reset="error",
            isolation_level="read_committed",
            # The next range is assigned at once: nothing is fetched for later than this one.
            queued_max_messages_kbytes=16_384,
            fetch_wait_max_ms=50,
        )
    )


def type_values(
    records: Records, wanted: RecordRange, stream: GraphStream, topic: KafkaTopic
) -> tuple[pa.Table, list[int], list[tuple[str, str]]]:
    """Records as typed rows, their positions, and (reason with place, text) of others.

    The text is the value as it came, hexadecimal unless it is JSON alone.
    """
    table, kept, broken = _typed(records.values, stream, topic)
    if topic.record_time:
        table, kept, unreadable = _with_times(table, kept, records, stream)
        broken += unreadable
    if topic.key is not None:
        table, kept, unreadable = _with_keys(table, kept, records, stream, topic.key)
        broken += unreadable
    letters = []
    for position, reason in broken:
        place = f"{wanted.topic}, partition {wanted.partition}, offset {records.offsets[position]}"
        value = records.values[position] or b""
        readable = topic.format == "json" and not topic.registry
        text = value.decode("utf-8", "replace") if readable else value.hex()
        letters.append((f"{reason} ({place})", text))
    return table, kept, letters


def _typed(
    values: Sequence[bytes | None], stream: GraphStream, topic: KafkaTopic
) -> tuple[pa.Table, list[int], list[tuple[int, str]]]:
    """What values say, whatever they are, as `type_records` has it."""
    columns = stream.columns
    converters, kind = (FROM_JSON, "a JSON object") if topic.format == "json" else (FROM_AVRO, "a record")
    if topic.registry:
        # The registry's client is 15 MB of a process that needs none.
        from jobs.sources.registry.client import schemas
        from jobs.sources.registry.values import WrittenValues

        event_time = None if topic.record_time else stream.event_time
        written = WrittenValues(values, topic.format, columns, event_time, schemas())
        return type_records(written.records, columns, converters, kind, written.written_as)
    if topic.format == "avro":
        assert topic.schema is not None  # KafkaTopic sees to it
        return type_records(avro_records(values, topic.schema, topic.schema_id), columns, converters, kind)
    return type_records(json_records(values, columns), columns, converters, kind)


def _with_times(
    table: pa.Table, kept: list[int], records: Records, stream: GraphStream
) -> tuple[pa.Table, list[int], list[tuple[int, str]]]:
    """The records' timestamps as event times; producers may write any 64 bits."""
    stored = pa.chunked_array([pa.array([records.times_ms[n] for n in kept], pa.timestamp("ms", "UTC"))])
    times, outside = cast_column(stored, ColumnType.TIMESTAMP)
    table = _replaced(table, stream, stream.event_time, times)
    if outside is None:
        return table, kept, []
    broken = [
        (kept[row], f"{stream.event_time} is not timestamp: {records.times_ms[kept[row]]} ms since 1970")
        for row in np.flatnonzero(outside).tolist()
    ]
    rows = np.flatnonzero(~outside).tolist()
    return table.take(rows), [kept[row] for row in rows], broken


def _with_keys(
    table: pa.Table, kept: list[int], records: Records, stream: GraphStream, column: str
) -> tuple[pa.Table, list[int], list[tuple[int, str]]]:
    keys = [records.keys[n] for n in kept]
    if dict(stream.columns)[column] is ColumnType.BINARY:
        return _replaced(table, stream, column, pa.array(keys, pa.large_binary())), kept, []
    texts: list[str | None] = []
    rows: list[int] = []
    broken: list[tuple[int, str]] = []
    for row, key in enumerate(keys):
        try:
            texts.append(None if key is None else key.decode())
            rows.append(row)
        except UnicodeDecodeError:
            broken.append((kept[row], f"the key is not UTF-8, as {column} is"))
    table = table.take(rows) if broken else table
    column_of_keys = pa.array(texts, pa.large_string())
    return _replaced(table, stream, column, column_of_keys), [kept[row] for row in rows], broken


def _replaced(
    table: pa.Table, stream: GraphStream, column: str, values: pa.Array | pa.ChunkedArray
) -> pa.Table:
    field = stream_schema(stream.columns).field(column)
    return table.set_column(table.column_names.index(column), field, values.cast(field.type))
