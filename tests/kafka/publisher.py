"""A program for test_crash_points.py: publishes three batches from an outbox, and kills itself at a point.

    python -m tests.kafka.publisher CHECKPOINT TOPIC [POINT]

`outbox`: the third batch is in the outbox and nothing of it is sent; `sent`: the cluster has its records, in
a transaction that is open; `acknowledged`: the transaction is committed; `files gone`: its files are deleted,
its entry in the outbox is not; `recorded`: the entry is deleted. A process that is started again has been
told of the last batch anew, as by `jobs.cli.run`.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer

from jobs.recovery.manifest import BatchFigures, Manifest, OutputFile
from jobs.sinks.connector import BatchResults
from jobs.sinks.kafka import transactions
from jobs.sinks.kafka.topics import Topics
from jobs.sinks.kafka.transactions import TopicSink
from jobs.sinks.outbox import Outbox
from jobs.sinks.publisher import Publisher
from jobs.sources.kafka.cluster import required

BATCHES = 3
ROWS = 40
POINTS = ("outbox", "sent", "acknowledged", "files gone", "recorded")
_PATIENCE_S = 120.0
_point = sys.argv[3] if len(sys.argv) > 3 else ""


def _reach(point: str) -> None:
    if point == _point:
        os.kill(os.getpid(), signal.SIGKILL)


class _Watched(TopicSink):
    """Stops nowhere but at the point, in the last batch."""

    def publish(self, results: BatchResults) -> None:
        last = results.batch == BATCHES - 1
        if last:
            _reach("outbox")
        super().publish(results)
        if last:
            _reach("acknowledged")


class _WatchedOutbox(Outbox):
    def has(self, sink: str, batch: int) -> None:
        last = batch == BATCHES - 1
        if last and _point == "files gone":
            for file in self.results(batch).files:
                file.unlink()
            _reach("files gone")
        super().has(sink, batch)
        if last:
            _reach("recorded")


class _Committing(Producer):
    """Its third transaction is the last batch's: nothing was in the topics before."""

    _transactions = 0

    def commit_transaction(self, *arguments: float) -> None:
        self._transactions += 1
        if self._transactions == BATCHES and _point == "sent":
            self.flush()
            _reach("sent")
        super().commit_transaction(*arguments)


def _manifest(batch: int) -> Manifest:
    """A committed batch with one file of results; the file may have been published and deleted."""
    files = (OutputFile(_file(batch), ROWS, ""),)
    figures = BatchFigures(0, {}, {}, 0, ())
    return Manifest(batch, "p", 0, (), {}, {}, {}, files, None, 0, figures, ())


def _file(batch: int) -> str:
    return f"results/numbers/{batch}.parquet"


def _write(batch: int, output: Path) -> None:
    path = _file(batch)
    (output / path).parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"n": range(batch * ROWS, (batch + 1) * ROWS)})
    pq.write_table(table, output / path)


def main(checkpoint: Path, topic: str) -> None:
    transactions.Producer = _Committing  # type: ignore[misc]
    output = checkpoint / "results"
    begun = checkpoint.exists()
    checkpoint.mkdir(parents=True, exist_ok=True)
    sinks = {"kafka": _Watched(required("this program"), Topics(topic), checkpoint.name)}
    results = Publisher(sinks, _WatchedOutbox(checkpoint, output, True, sinks), most=10)
    if begun:
        results.start(_manifest(BATCHES - 1))
    else:
        for batch in range(BATCHES):
            _write(batch, output)
            results.add(_manifest(batch))
        results.start(None)
    give_up_at = time.monotonic() + _PATIENCE_S
    while results.waiting() and results.error is None and time.monotonic() < give_up_at:
        time.sleep(0.05)
    results.close(_PATIENCE_S)
    if results.error is not None:
        raise results.error
    sys.exit(0 if not results.waiting() else 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
