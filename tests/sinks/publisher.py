"""A program for test_crash_points.py: publishes three batches from an outbox, and kills itself at a point.

    python -m tests.sinks.publisher SINK PATTERN CHECKPOINT [POINT]

`outbox`: the third batch is in the outbox and nothing of it is sent; `sent`: all of it is written but for the
commit, or it is posted up to half at least, and the last post is not noted; `noted`: it is; `acknowledged`:
all is committed; `files gone`: its files are deleted, its entry is not; `recorded`: the entry is
deleted. A process that is started again has been told of the last batch anew, as by `jobs.cli.run`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.recovery.manifest import BatchFigures, Manifest, OutputFile
from jobs.sinks.configured import SINKS
from jobs.sinks.connector import BatchResults, Sink, SinkConnector
from jobs.sinks.outbox import Outbox
from jobs.sinks.publisher import Publisher
from jobs.sinks.webhook.record import Begun, Record

BATCHES = 3
ROWS = 40
POINTS = ("outbox", "sent", "acknowledged", "files gone", "recorded")
_LAST = BATCHES - 1
_PATIENCE_S = 120.0
_point = sys.argv[4] if len(sys.argv) > 4 else ""


def _reach(point: str) -> None:
    if point == _point:
        os.kill(os.getpid(), signal.SIGKILL)


class _Watched:
    """A sink that stops at points around its last batch."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def connect(self) -> int:
        return self._sink.connect()

    def publish(self, results: BatchResults) -> None:
        if results.batch == _LAST:
            _reach("outbox")
            if _point in ("sent", "noted"):
                _stop_before_commits()
        self._sink.publish(results)
        if results.batch == _LAST:
            _reach("acknowledged")


class _WatchedOutbox(Outbox):
    def has(self, sink: str, batch: int) -> None:
        if batch == _LAST and _point == "files gone":
            for file in self.results(batch).files:
                file.unlink()
            _reach("files gone")
        super().has(sink, batch)
        if batch == _LAST:
            _reach("recorded")


def _stop_before_commits() -> None:
    """Whatever commits next ends this process instead."""
    if sys.argv[1] == "postgres":
        from adbc_driver_postgresql import dbapi

        dbapi.Connection.commit = lambda _: _reach("sent")  # type: ignore[method-assign]
    elif sys.argv[1] == "webhook":
        Record.keep = _kept(Record.keep)  # type: ignore[method-assign]
    else:
        from pyiceberg.catalog.sql import SqlCatalog

        SqlCatalog.commit_table = lambda *_: _reach("sent")  # type: ignore[method-assign, assignment]


def _kept(keep: Callable[[Record, Begun], Begun]) -> Callable[[Record, Begun], Begun]:
    """What notes posts, stopped around half of them, or around the one that has all."""

    def stopping(record: Record, begun: Begun) -> Begun:
        half = begun.taken.get("numbers", 0) >= ROWS // 2
        if half:
            _reach("sent")
        kept = keep(record, begun)
        if half:
            _reach("noted")
        return kept

    return stopping


def _manifest(batch: int) -> Manifest:
    files = (OutputFile(_file(batch), ROWS, ""),)
    return Manifest(batch, "p", 0, (), {}, {}, {}, files, None, 0, BatchFigures(0, {}, {}, 0, ()), ())


def _file(batch: int) -> str:
    return f"results/numbers/{batch}.parquet"


def main(name: str, pattern: str, checkpoint: Path) -> None:
    output = checkpoint / "results"
    begun = checkpoint.exists()
    checkpoint.mkdir(parents=True, exist_ok=True)
    connector: SinkConnector = import_module(SINKS[name]).SINK
    parser = argparse.ArgumentParser()
    connector.add_options(parser)
    given = parser.parse_args([connector.option, pattern], argparse.Namespace(checkpoint=checkpoint))
    sink = connector.open(given, checkpoint.name)
    sinks = {name: _Watched(sink)}
    results = Publisher(sinks, _WatchedOutbox(checkpoint, output, True, sinks), most=10)
    if begun:
        results.start(_manifest(_LAST))
    else:
        for batch in range(BATCHES):
            (output / _file(batch)).parent.mkdir(parents=True, exist_ok=True)
            table = pa.table({"n": range(batch * ROWS, (batch + 1) * ROWS)})
            pq.write_table(table, output / _file(batch))
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
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
