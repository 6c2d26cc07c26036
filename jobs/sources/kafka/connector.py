"""The Kafka connector: a stream is a topic of the deployment's cluster.

A record of the topic is a tuple of the stream.

The client library is loaded where offsets are asked for and records are read: it is 10 MB of every
process otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from jobs.sources.connector import Asked, Descriptor, LiveConnector, Offsets, Position, Raw, Servers
from jobs.sources.kafka.cluster import required
from jobs.sources.kafka.topic import KafkaTopic, LostRange, RecordRange


class Kafka(LiveConnector):
    settings = KafkaTopic
    descriptors = (RecordRange, LostRange)
    position_key = "offsets"

    def offsets(self, servers: Servers) -> Offsets:
        from jobs.sources.kafka.offsets import TopicOffsets

        return TopicOffsets(required("streams that are topics"))

    def planned(
        self, stream: str, settings: KafkaTopic | None, before: Position, after: Position
    ) -> Sequence[Descriptor]:
        topic = after["topic"]
        gaps = [LostRange(stream, topic, *gap) for gap in after["gaps"]]
        return [*gaps, *(RecordRange(stream, topic, *taken) for taken in after["ranges"])]

    def has_come(self, position: Position, newest: Position) -> bool:
        offsets = position.get("offsets", {})
        return all(offsets.get(partition, 0) >= offset for partition, offset in newest["offsets"].items())

    def read(self, descriptor: RecordRange | LostRange, asked: Asked) -> Raw:
        """Read whole tuples: they are decoded anyway.

        Every dead letter says which record it was.
        """
        from jobs.sources.kafka.source import read_records, type_values
        from jobs.sources.read import letters, only_letter

        if isinstance(descriptor, LostRange):
            return only_letter(asked.stream, *descriptor.letter)
        topic = asked.stream.source
        if not isinstance(topic, KafkaTopic):
            raise ValueError(f"the plan names no topic for the stream {descriptor.stream}")
        records, first = read_records(descriptor, topic.lost == "skip")
        table, kept, broken = type_values(records, descriptor, asked.stream, topic)
        if first > descriptor.first:
            gap = (descriptor.stream, descriptor.topic, descriptor.partition, descriptor.first, first)
            broken.append(LostRange(*gap).letter)
        return Raw(table, letters(broken), records.arrived_ms(kept))


CONNECTOR = Kafka()
