"""The job's program, of which Spark hears that its query is to stop only once it has called for another
batch: what happens by chance where a job is stopped while tuples arrive."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jobs.__main__ import main

_called = threading.Event()
_foreach_batch, _stop = DataStreamWriter.foreachBatch, StreamingQuery.stop


def _told(writer: DataStreamWriter, work: Callable[[DataFrame, int], None]) -> DataStreamWriter:
    def told(frame: DataFrame, batch: int) -> None:
        _called.set()
        try:
            work(frame, batch)
        finally:
            _called.clear()

    return _foreach_batch(writer, told)


def _late(query: StreamingQuery) -> None:
    while not _called.wait(0.05) and query.isActive:
        pass
    _stop(query)


if __name__ == "__main__":
    DataStreamWriter.foreachBatch, StreamingQuery.stop = _told, _late  # type: ignore[method-assign]
    sys.exit(main(sys.argv[1:]))
