"""Files, and then a topic from stated offsets on, with a real broker and a topology that is killed."""

from __future__ import annotations

import json
import signal
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from confluent_kafka import Producer, TopicPartition

from jobs.protocol import AnyEvent, Stop
from jobs.recovery.manifest import read_manifest
from jobs.sources.connector import Away, Servers
from jobs.sources.history.offsets import HistoryOffsets
from jobs.sources.history.settings import FolderHistory
from jobs.sources.kafka.cluster import Cluster
from jobs.sources.kafka.offsets import TopicOffsets
from jobs.sources.kafka.topic import KafkaTopic
from jobs.sources.start import Edge, Moment, OffsetsStart, Start
from optimizer.algebra.errors import InputError
from optimizer.logical.source import source_of
from optimizer.workload import Workload
from tests.kafka.broker import Broker
from tests.kafka.topology import make_topic
from tests.runtime.live import BEGIN, CHAIN, Live, write_live_workload

SENT_MS = 1767225600000


@pytest.fixture
def topic(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> str:
    """Five records a second apart in partition 0, two in partition 1."""
    monkeypatch.setenv("MILLRACE_KAFKA_SERVERS", broker.servers)
    name = f"history-{uuid.uuid4().hex[:8]}"
    # The broker forgets what is a week old, by the records' own time.
    make_topic(broker.admin(), name, 2, retention_ms="-1")
    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    for number in range(5):
        producer.produce(name, b"{}", partition=0, timestamp=SENT_MS + 1000 * number)
    for number in range(2):
        producer.produce(name, b"{}", partition=1, timestamp=SENT_MS + 1000 * number)
    assert producer.flush(60) == 0
    return name


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (Edge.EARLIEST, {"0": 0, "1": 0}),
        (Edge.LATEST, {"0": 5, "1": 2}),
        (Moment(SENT_MS + 1001), {"0": 2, "1": 2}),
        (Moment(SENT_MS + 9000), {"0": 5, "1": 2}),
        (OffsetsStart(((0, 3), (1, 7))), {"0": 3, "1": 7}),
    ],
)
def test_a_place_is_an_offset_of_every_partition(
    broker: Broker, topic: str, start: Start, expected: dict[str, int]
) -> None:
    offsets = TopicOffsets(Cluster(broker.servers))
    position = offsets.seek("r", KafkaTopic(topic), start)
    assert position is not None
    assert (position["topic"], position["offsets"], position["ranges"]) == (topic, expected, [])
    later = offsets.ends({"r": KafkaTopic(topic)}, {"r": position}, 100).get("r", position)
    assert [tuple(taken) for taken in later["ranges"]] == [
        (number, expected[str(number)], there - expected[str(number)])
        for number, there in ((0, 5), (1, 2))
        if there > expected[str(number)]
    ]


def test_offsets_of_other_partitions_and_deleted_ones_are_told(broker: Broker, topic: str) -> None:
    offsets = TopicOffsets(Cluster(broker.servers))
    with pytest.raises(InputError, match="found the partitions 0, 1, expected the partitions 0, 2"):
        offsets.seek("r", KafkaTopic(topic), OffsetsStart(((0, 3), (2, 7))))
    admin = broker.admin()
    (done,) = admin.delete_records([TopicPartition(topic, 0, 2)]).values()
    assert done.result().low_watermark == 2
    with pytest.raises(InputError, match="found offset 2 as the oldest one, expected offset 1"):
        offsets.seek("r", KafkaTopic(topic), OffsetsStart(((0, 1), (1, 0))))
    skipping = KafkaTopic(topic, lost="skip")
    position = offsets.seek("r", skipping, OffsetsStart(((0, 1), (1, 0))))
    assert position is not None
    assert offsets.ends({"r": skipping}, {"r": position}, 100)["r"]["gaps"] == [[0, 1, 2]]


def test_a_topic_that_comes_later_is_read_from_its_beginning(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it has came behind the moment at which the stream began, so `latest` has it all."""
    monkeypatch.setenv("MILLRACE_KAFKA_SERVERS", broker.servers)
    monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", f"archive={tmp_path}")
    monkeypatch.setattr("jobs.sources.history.offsets.OVER_AFTER_S", 0.0)
    name = f"later-{uuid.uuid4().hex[:8]}"
    first = FolderHistory("archive", start="latest")
    settings = source_of({"history": first, "kafka": KafkaTopic(name)})
    assert isinstance(settings, FolderHistory)
    offsets = HistoryOffsets(Servers("redis://127.0.0.1:1/0"))
    position = offsets.ends({"r": settings}, {"r": {}}, 100)["r"]
    assert position["live"] is None
    make_topic(broker.admin(), name, 1)
    producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
    producer.produce(name, b"{}", partition=0)
    assert producer.flush(60) == 0
    # The broker tells of a topic's end a moment after it has taken its first record.
    give_up_at = time.monotonic() + 60
    while not (position["live"] or {}).get("ranges"):
        assert time.monotonic() < give_up_at, position
        position = offsets.ends({"r": settings}, {"r": position}, 100).get("r", position)
    assert position["live"]["ranges"] == [[0, 0, 1]]


def test_a_cluster_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.sources.kafka.offsets._TIMEOUT_S", 0.2)
    with pytest.raises(Away):
        TopicOffsets(Cluster("127.0.0.1:1")).seek("r", KafkaTopic("r"), Edge.EARLIEST)


class HistoryThenTopic(Live):
    """Tuples of r lie in files and in a topic that has some of them too, and all others are sent."""

    def __init__(self, broker: Broker, redis_port: int, folder: Path) -> None:
        self.topic = f"r-{uuid.uuid4().hex[:8]}"
        self.producer = Producer({"bootstrap.servers": broker.servers, "log_level": 0})
        self.sent = [0, 0]
        """Records, by partition."""
        make_topic(broker.admin(), self.topic, 2)
        self.folder = folder
        self.archive = folder / "archive" / "r"
        self.archive.mkdir(parents=True)
        super().__init__(redis_port, folder, self._workload(folder / "before", "earliest"))

    def _workload(self, folder: Path, start: str) -> Workload:
        streams = f"""\
streams:
  r:
    event_time: ts
    # Partitions are read side by side.
    lateness: 1 minute
    rate: 100
    columns: {{ts: timestamp, n: bigint, a: bigint}}
    history: {{folder: archive/r, start: "{start}"}}
    kafka: {{topic: {self.topic}}}
  s: {{event_time: ts, rate: 100, columns: {{ts: timestamp, n: bigint, a: bigint, b: bigint}}}}
  t: {{event_time: ts, rate: 100, columns: {{ts: timestamp, n: bigint, b: bigint}}}}
"""
        return write_live_workload(folder, CHAIN, streams)

    def begin_at_the_end(self) -> None:
        """Go live behind what the topic has by now."""
        start = ", ".join(f"{partition}: {offset}" for partition, offset in enumerate(self.sent))
        self.workload = self._workload(self.folder / "workload", start)

    def produce(self, rows: int, streams: str = "rst", *, to_files: bool = False) -> int:
        first = super().produce(rows, streams.replace("r", ""))
        made: list[dict[str, Any]] = []
        for _ in range(rows if "r" in streams else 0):
            self._number += 1
            row = {
                "ts": BEGIN + timedelta(milliseconds=10 * (self._number - rows)),
                "n": self._number,
                "a": (self._number * 7919 + ord("a")) % 97 % 23,
            }
            made.append(row)
            partition = self._number % 2
            self.producer.produce(
                self.topic, json.dumps({**row, "ts": row["ts"].isoformat()}), partition=partition
            )
            self.sent[partition] += 1
        assert self.producer.flush(60) == 0
        self.produced["r"] += made
        for begin in range(0, len(made) if to_files else 0, 50):
            file = self.archive / f"{len(list(self.archive.iterdir())):04}.parquet"
            pl.DataFrame(made[begin : begin + 50]).write_parquet(file.with_name(f".{file.name}"))
            file.with_name(f".{file.name}").rename(file)
        return first

    def position(self) -> dict[str, Any]:
        """Of r, as the newest commit has it."""
        commits = (self.folder / "checkpoint" / "commits").glob("*.json")
        newest = max(commits, key=lambda path: int(path.stem))
        found: dict[str, Any] = read_manifest(str(newest)).position["streams"]["r"]
        return found


@pytest.fixture
def live(
    broker: Broker, redis_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HistoryThenTopic]:
    monkeypatch.setenv("MILLRACE_KAFKA_SERVERS", broker.servers)
    monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", f"archive={tmp_path / 'archive'}")
    topology = HistoryThenTopic(broker, redis_port, tmp_path)
    topology.client.flushall()
    yield topology
    topology.close()


def _accepts(event: AnyEvent) -> bool:
    return event.type == "batch" and "r" in event.streams and event.streams["r"].accepted > 0


def test_files_and_topic_are_one_stream_over_kills_around_the_switch(live: HistoryThenTopic) -> None:
    # The topic still has what the files have: the stated offsets lie behind it.
    live.produce(200, to_files=True)
    live.begin_at_the_end()
    live.produce(150)
    graph = live.graph("ilp", "chain")
    options = ["--batch-rows", "90"]
    live.start("1", "p", graph, options=options)
    live.wait_for(_accepts)
    live.signal(signal.SIGKILL)
    assert not live.position()["is_live"]
    live.start("2", "p", graph, options=options)
    read = 0

    def is_behind(event: AnyEvent) -> bool:
        nonlocal read
        if event.type == "batch" and "r" in event.streams and event.run == "2":
            read += event.streams["r"].accepted
        return read > 170

    live.wait_for(is_behind)
    live.signal(signal.SIGKILL)
    assert live.position()["files"] == [4, 4]
    live.produce(100)
    live.start("3", "p", graph, options=options)
    live.wait_for_tuples("rst")
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    assert live.position()["live"]["offsets"] == {str(n): sent for n, sent in enumerate(live.sent)}
    assert len(live.expected("chain")) > 500
    assert live.found("chain") == live.expected("chain")
