"""SIGKILL to what publishes results, at each point between the outbox and the end of its entry."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import pytest

from jobs.recovery.manifest import BatchFigures, Manifest, OutputFile
from jobs.sinks.kafka.topics import Topics
from jobs.sinks.kafka.transactions import TopicSink
from jobs.sinks.outbox import Outbox
from jobs.sinks.publisher import Publisher
from jobs.sources.kafka.cluster import Cluster
from tests.kafka.broker import Broker
from tests.kafka.publisher import BATCHES, POINTS, ROWS
from tests.kafka.topology import committed_values
from tests.runtime.linear import ROOT


@pytest.mark.parametrize("point", POINTS)
def test_every_result_is_seen_once(broker: Broker, tmp_path: Path, point: str) -> None:
    topic = f"out-{uuid.uuid4().hex[:8]}"
    checkpoint = tmp_path / topic
    environment = {**os.environ, "MILLRACE_KAFKA_SERVERS": broker.servers}

    def publish(*more: str) -> int:
        command = [sys.executable, "-m", "tests.kafka.publisher", str(checkpoint), topic, *more]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode

    assert publish(point) == -signal.SIGKILL
    assert publish() == 0
    numbers = [json.loads(value)["n"] for value in committed_values(broker.servers, topic)]
    assert sorted(numbers) == list(range(BATCHES * ROWS))
    assert not list((checkpoint / "outbox").iterdir())
    assert not list((checkpoint / "results").rglob("*.parquet"))


def test_a_full_outbox_holds_the_topology_up(tmp_path: Path) -> None:
    """Until there is room, or the topology ends. Nothing is sent: no cluster is asked."""

    def waits(results: Publisher) -> threading.Thread:
        thread = threading.Thread(target=results.wait_for_room)
        thread.start()
        thread.join(0.5)
        return thread

    sinks = {"kafka": TopicSink(Cluster("127.0.0.1:1"), Topics("out"), "checkpoint")}
    results = Publisher(sinks, Outbox(tmp_path, tmp_path / "results", True, sinks), most=2)
    for batch in range(2):
        assert not waits(results).is_alive()
        files = (OutputFile(f"results/q/{batch}.parquet", 1, ""),)
        figures = BatchFigures(0, {}, {}, 0, ())
        results.add(Manifest(batch, "p", 0, (), {}, {}, {}, files, None, 0, figures, ()))
    held = waits(results)
    assert held.is_alive()
    (tmp_path / "outbox" / "0.json").unlink()
    held.join(30)
    assert not held.is_alive()
    (tmp_path / "outbox" / "0.json").write_text("[]")
    held = waits(results)
    assert held.is_alive()
    results.release()
    held.join(30)
    assert not held.is_alive()
