"""A topology whose streams are topics with schemas in a registry, one of each format, and their producers."""

from __future__ import annotations

import io
import json
import uuid
from pathlib import Path
from typing import Any

import fastavro
from confluent_kafka import Producer
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from jobs.sources.registry.protobuf import compiled
from optimizer.workload import Workload, load_workload
from tests.kafka.broker import Broker
from tests.kafka.topology import make_topic
from tests.registry.apicurio import Apicurio
from tests.registry.stand_in import framed
from tests.runtime.live import Live

QUERIES = {
    "chain": "SELECT r.n AS rn, s.n AS sn, t.n AS tn, COALESCE(r.more, 0) AS rm, COALESCE(s.more, 0) AS sm, "
    "COALESCE(t.more, 0) AS tm FROM r [RANGE 30 SECONDS], s [RANGE 30 SECONDS], t [RANGE 30 SECONDS] "
    "WHERE r.a = s.a AND s.b = t.b",
    "pair": "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 30 SECONDS], s [RANGE 30 SECONDS] WHERE r.a = s.a",
}
FORMATS = {"r": "avro", "s": "protobuf", "t": "json"}
_AT = {"type": "long", "logicalType": "timestamp-micros"}
_AVRO = [("ts", _AT), ("n", "long"), ("a", ["null", "long"])]
_MORE = [("more", ["null", "long"]), ("undeclared", "string")]
_PROTOBUF = """
syntax = "proto3";
package s;
import "google/protobuf/timestamp.proto";
%s
message Row { google.protobuf.Timestamp ts = 1; int64 n = 2; int64 a = 3; int32 b = 4; %s }
"""
_JSON = {"ts": {"type": "string", "format": "date-time"}, "n": {"type": "integer"}, "b": {"type": "integer"}}


def avro_schema(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": n, "type": kind} for n, kind in fields]}


def encode_avro(number: int, schema: dict[str, Any], row: dict[str, Any]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), row)
    return framed(number, body.getvalue())


def _write_workload(folder: Path, topics: dict[str, str]) -> Workload:
    (folder / "queries").mkdir(parents=True)
    # A topic's partitions are flushed one after the other, and each has its own part of the event times.
    common = "event_time: ts, lateness: 1 minute, rate: 100"
    columns = {"r": "a: bigint", "s": "a: bigint, b: bigint", "t": "b: bigint"}
    lines = ["streams:"]
    for stream, form in FORMATS.items():
        lines.append(
            f"  {stream}: {{{common}, columns: {{ts: timestamp, n: bigint, {columns[stream]}, more: bigint}},"
        )
        lines.append(f"    kafka: {{topic: {topics[stream]}, format: {form}, registry: true}}}}")
    (folder / "streams.yaml").write_text("\n".join(lines))
    for name, sql in QUERIES.items():
        (folder / "queries" / f"{name}.sql").write_text(sql)
    return load_workload(folder)


class RegisteredLive(Live):
    """Producers begin with the first version of each schema; `evolve` has them go on with the second."""

    def __init__(self, broker: Broker, registry: Apicurio, redis_port: int, folder: Path) -> None:
        unique = uuid.uuid4().hex[:8]
        self.topics = {stream: f"{stream}-{unique}" for stream in "rst"}
        self.registry = registry
        super().__init__(redis_port, folder, _write_workload(folder / "workload", self.topics))
        for topic in self.topics.values():
            make_topic(broker.admin(), topic, 2)
        self.producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
        self._register(_AVRO, _PROTOBUF % ("", ""), _JSON)
        self._evolved = False

    def evolve(self) -> None:
        """Register the second version of each schema and write with it: a column more, and one undeclared.

        In the Protobuf file another message comes first, so that each value has another path before it.
        """
        another = "message Another { string text = 1; }"
        more = "optional int64 more = 5; repeated string undeclared = 6;"
        properties = {**_JSON, "more": {"type": ["null", "integer"]}, "undeclared": {}}
        self._register([*_AVRO, *_MORE], _PROTOBUF % (another, more), properties)
        self._evolved = True

    def _register(self, avro: list[tuple[str, Any]], protobuf: str, properties: dict[str, Any]) -> None:
        self._avro = avro_schema(avro)
        document = {"type": "object", "properties": properties}
        schemas = {"r": (self._avro, "AVRO"), "s": (protobuf, "PROTOBUF"), "t": (document, "JSON")}
        self.numbers = {
            stream: self.registry.register(f"{self.topics[stream]}-value", *given)
            for stream, given in schemas.items()
        }
        pool = DescriptorPool()
        for file in compiled(protobuf, {}):
            pool.AddSerializedFile(file.SerializeToString())
        self._message = GetMessageClass(pool.FindMessageTypeByName("s.Row"))

    def produce(self, rows: int, streams: str = "rst") -> int:
        first = self._number
        for stream, row in self.numbered(rows, streams):
            more = {"more": row["n"]} if self._evolved and row["n"] % 2 else {}
            value = self._encoded(stream, {**row, **more})
            row["more"] = more.get("more")
            self.send_record(stream, value, row["n"] // 3 % 2)
        self.producer.flush()
        return first

    def send_record(self, stream: str, value: bytes, partition: int) -> None:
        self.producer.produce(self.topics[stream], value, partition=partition)

    def _encoded(self, stream: str, row: dict[str, Any]) -> bytes:
        number = self.numbers[stream]
        if stream == "r":
            return encode_avro(number, self._avro, {"more": None, "undeclared": "x", **row})
        if stream == "s":
            # The place of the message in its file, zigzag: the second one once there is another before it.
            path = bytes([2, 2]) if self._evolved else b"\0"
            undeclared = {"undeclared": ["x"]} if self._evolved else {}
            return framed(number, path + self._message(**row, **undeclared).SerializeToString())
        text = {**row, "ts": row["ts"].isoformat(), **({"undeclared": [1]} if self._evolved else {})}
        return framed(number, json.dumps(text).encode())
