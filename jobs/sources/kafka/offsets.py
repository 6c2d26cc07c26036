"""How far a topology is in its topics, and how far the next batch goes.

A stream's position holds the next offset of every partition, so it lies in Spark's log and in the
commit manifest like the other sources' positions, and a repeated batch reads the same offsets. No
consumer group is involved.

Only what transactions have committed is read: a batch ends at the last stable offset at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from jobs.sources.connector import Away, Position, SeekableOffsets
from jobs.sources.kafka.cluster import Cluster
from jobs.sources.kafka.topic import KafkaTopic
from jobs.sources.start import Edge, Moment, OffsetsStart, Start
from optimizer.algebra.errors import InputError, Place

_TIMEOUT_S = 5.0
"""For an answer of the cluster; without one it counts as away."""
_AWAY = (
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError._RESOLVE,
    KafkaError._WAIT_COORD,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)


def is_away(error: KafkaException) -> bool:
    """True if the cluster may answer the same question later."""
    cause = error.args[0]
    return bool(cause.code() in _AWAY or cause.retriable())


@dataclass(frozen=True, slots=True)
class _Partition:
    earliest: int
    """The oldest offset that is still there."""
    end: int
    """Behind the newest one that may be read."""


class TopicOffsets(SeekableOffsets):
    """Plans topics, one per planning process; its clients connect when first asked."""

    def __init__(self, cluster: Cluster) -> None:
        self._admin = AdminClient(cluster.client(socket_timeout_ms=int(_TIMEOUT_S * 1000)))
        self._ends: dict[str, dict[int, _Partition]] = {}

    def ends(
        self, streams: Mapping[str, KafkaTopic], positions: Mapping[str, Position], share: int
    ) -> dict[str, Position]:
        """As any connector's.

        The stream's share is spread over its topic's partitions by what waits in each (one of each at least).

        Raises `Away` while the cluster does not answer, `InputError` for offsets that are gone under
        the policy `fail`, and for a topic that was made anew.
        """
        ends = {}
        for stream, (identity, partitions) in sorted(self._looked(streams).items()):
            position = positions.get(stream, {})
            end = _end(stream, streams[stream], identity, partitions, position, share)
            if end is not None:
                ends[stream] = end
        return ends

    def seek(self, stream: str, settings: KafkaTopic, start: Start) -> Position | None:
        """The offsets that are read first, of every partition that there is.

        Raises `InputError` for offsets of other partitions than the topic has and, under the policy `fail`,
        for one that the topic no longer keeps.
        """
        looked = self._looked({stream: settings})
        if stream not in looked:
            return None
        identity, partitions = looked[stream]
        offsets = self._sought(stream, settings.topic, identity, partitions, start)
        for number, offset in offsets.items():
            if settings.lost == "fail" and offset < partitions[number].earliest:
                raise lost(stream, settings.topic, number, offset, partitions[number].earliest)
        begin = {str(number): offset for number, offset in sorted(offsets.items())}
        return {"topic": settings.topic, "id": identity, "offsets": begin, "ranges": [], "gaps": []}

    def _sought(
        self, stream: str, topic: str, identity: str, partitions: Mapping[int, _Partition], start: Start
    ) -> dict[int, int]:
        match start:
            case Edge.EARLIEST:
                return {number: there.earliest for number, there in partitions.items()}
            case Edge.LATEST:
                return {number: there.end for number, there in partitions.items()}
            case Moment(at_ms):
                which = OffsetSpec.for_timestamp(at_ms)
                try:
                    found = self._offsets({topic: (identity, list(partitions))}, which)
                except KafkaException as error:
                    if is_away(error):
                        raise Away(str(error)) from error
                    raise
                # A partition without a record of that time or a later one says -1.
                return {n: found[topic, n] if found[topic, n] >= 0 else p.end for n, p in partitions.items()}
            case OffsetsStart(offsets) if {number for number, _ in offsets} == set(partitions):
                return dict(offsets)
            case OffsetsStart(offsets):
                given = ", ".join(str(number) for number, _ in offsets)
                raise InputError(
                    "other-partitions",
                    Place(f"stream {stream}", path=f"topic {topic}"),
                    f"the partitions {', '.join(map(str, partitions))}",
                    f"the partitions {given}, for which the history's start has offsets",
                )
            case other:
                raise TypeError(f"{other} is no place in the topic {topic}")

    def newest(self, streams: Mapping[str, KafkaTopic]) -> dict[str, Position]:
        """The offset behind everything that may be read now, of every partition."""
        return {
            stream: {"offsets": {str(n): there.end for n, there in partitions.items()}}
            for stream, (_, partitions) in self._looked(streams).items()
        }

    def _looked(self, streams: Mapping[str, KafkaTopic]) -> dict[str, tuple[str, dict[int, _Partition]]]:
        """By stream whose topic exists its id and partitions, kept for `backlog`."""
        try:
            present = self._present({topic.topic for topic in streams.values()})
        except KafkaException as error:
            if is_away(error):
                raise Away(str(error)) from error
            raise
        found = {stream: present[topic.topic] for stream, topic in streams.items() if topic.topic in present}
        self._ends |= {stream: partitions for stream, (_, partitions) in found.items()}
        return found

    def backlog(self, stream: str, position: Position) -> int:
        """Offsets behind a position when the topic was last looked at."""
        known = self._ends.get(stream, {})
        return sum(max(0, known[int(p)].end - o) for p, o in position["offsets"].items() if int(p) in known)

    def _present(self, names: set[str]) -> dict[str, tuple[str, dict[int, _Partition]]]:
        """Topics that exist, with their ids and partitions."""
        asked = self._admin.describe_topics(TopicCollection(sorted(names)), request_timeout=_TIMEOUT_S)
        found: dict[str, tuple[str, list[int]]] = {}
        for name, future in asked.items():
            try:
                described: Any = future.result()
            except KafkaException as error:
                # A topic may be made after the stream that reads it.
                if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    continue
                raise
            found[name] = (str(described.topic_id), sorted(p.id for p in described.partitions))
        earliest = self._offsets(found, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        latest = self._offsets(found, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        return {
            name: (identity, {n: _Partition(earliest[name, n], latest[name, n]) for n in numbers})
            for name, (identity, numbers) in found.items()
        }

    def _offsets(
        self, topics: Mapping[str, tuple[str, list[int]]], which: OffsetSpec
    ) -> dict[tuple[str, int], int]:
        asked = {TopicPartition(t, n): which for t, (_, numbers) in topics.items() for n in numbers}
        if not asked:
            return {}
        answers = self._admin.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_TIMEOUT_S
        )
        return {(a.topic, a.partition): future.result().offset for a, future in answers.items()}


def _end(
    stream: str,
    topic: KafkaTopic,
    identity: str,
    partitions: Mapping[int, _Partition],
    position: Position,
    share: int,
) -> Position | None:
    known = position.get("topic") == topic.topic
    if known and position["id"] != identity:
        raise InputError(
            "topic-made-anew",
            Place(f"stream {stream}", path=f"topic {topic.topic}"),
            f"a topic with id {identity}",
            f"the one with id {position['id']}, as this checkpoint began; let the stream read a topic of "
            "another name, or start the topology with an empty checkpoint",
        )
    offsets: dict[str, int] = dict(position["offsets"]) if known else {}
    gaps = []
    for number, there in sorted(partitions.items()):
        begin = there.end if not known and topic.start == "latest" else there.earliest
        offset = offsets.setdefault(str(number), begin)
        if offset < there.earliest:
            if topic.lost == "fail":
                raise lost(stream, topic.topic, number, offset, there.earliest)
            gaps.append([number, offset, there.earliest])
            offsets[str(number)] = there.earliest
    waiting = {n: max(0, there.end - offsets[str(n)]) for n, there in sorted(partitions.items())}
    total = sum(waiting.values())
    most = min(share, topic.most_per_batch or share)
    ranges = []
    for number, rows in waiting.items():
        taken = rows if total <= most else min(rows, max(1, most * rows // total))
        if taken:
            first = offsets[str(number)]
            ranges.append([number, first, taken])
            offsets[str(number)] = first + taken
    if known and not ranges and not gaps:
        return None
    return {"topic": topic.topic, "id": identity, "offsets": offsets, "ranges": ranges, "gaps": gaps}


def lost(stream: str, topic: str, partition: int, wanted: int, earliest: int | None) -> InputError:
    """What to tell people whose topic has deleted records before they were read."""
    where = "another range of offsets" if earliest is None else f"offset {earliest} as the oldest one"
    return InputError(
        "lost-offsets",
        Place(f"stream {stream}", path=f"topic {topic}, partition {partition}"),
        where,
        f"offset {wanted}, which comes next; give the stream the setting lost: skip to go on behind "
        "what the topic no longer keeps, and have the topic keep its records for longer",
    )
