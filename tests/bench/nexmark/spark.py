"""Nexmark as Spark's structured streaming, one query after the other in one session.

`python -m tests.bench.nexmark.spark DATA OUT QUERY...` prints one JSON object: seconds by query. DATA is what
`write_batches` wrote. Results leave when the watermark passes a window, and at the end of the input it does
not: so each stream ends with a tuple of the distant future, which is no part of the results.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.bench.joins.native import session
from tests.bench.nexmark.events import LATENESS_S, START
from tests.bench.nexmark.workload import FOLDER

_END = START + timedelta(days=1000)
_OFFERED = (
    "SELECT a.*, b.auction, b.bidder, b.price, unix_millis(b.dateTime) AS bid_ms, b.extra AS bid_extra, "
    "timestamp_millis(unix_millis(b.dateTime)) AS bid_dateTime FROM auction AS a JOIN bid AS b "
    "ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.dateTime + INTERVAL 4 SECONDS "
    "AND b.dateTime <= a.expires"
)
"""Bids for auctions that were open. Only one column of it is an event time: Spark takes no more."""


def write_batches(streams: Mapping[str, pl.DataFrame], folder: Path, batches: int) -> None:
    """Writes FOLDER/STREAM/batch-NN.parquet, equal parts of all arrivals; the last one ends the stream."""
    arrivals = sum(rows.height for rows in streams.values())
    # The side input is a table here.
    bounds = np.linspace(streams["side_input"].height, arrivals, batches + 1).astype(int)
    for name, rows in streams.items():
        (folder / name).mkdir(parents=True)
        if name == "side_input":
            rows.write_parquet(folder / name / "all.parquet")
            continue
        last = rows.tail(1).with_columns(dateTime=pl.lit(_END).cast(rows.schema["dateTime"]))
        parts = [
            rows.filter(pl.col("_arrival").is_between(first, end, closed="left"))
            for first, end in pairwise(bounds)
        ]
        for number, part in enumerate([*parts, last]):
            file = folder / name / f"batch-{number:02d}.parquet"
            part.drop("_arrival").write_parquet(file)
            # Spark reads files in the order of their times of change.
            os.utime(file, (START.timestamp() + number,) * 2)


def run(data: Path, out: Path, queries: list[str]) -> dict[str, float]:
    """Seconds of each query; its results are OUT/QUERY/*.parquet."""
    spark = session("nexmark")
    for name in ("person", "auction", "bid"):
        _view(spark, name, data / name)
    spark.read.parquet(str(data / "side_input")).createOrReplaceTempView("side_input")
    spark.sql(_OFFERED).createOrReplaceTempView("offered")
    found = {}
    for name in queries:
        text = (FOLDER / "peers" / "spark" / f"{name}.sql").read_text()
        query = (
            spark.sql(text)
            .writeStream.format("parquet")
            .option("path", str(out / name))
            .option("checkpointLocation", str(out / f"checkpoint-{name}"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        found[name] = _seconds(query)
    spark.stop()
    return found


def _seconds(query: StreamingQuery) -> float:
    """From the first batch's beginning to the end of the last, which has no tuples but ends windows."""
    first, *_, last = query.recentProgress
    begun, ended = (datetime.fromisoformat(batch.timestamp) for batch in (first, last))
    return (ended - begun).total_seconds() + last.durationMs["triggerExecution"] / 1000


def _view(spark: SparkSession, name: str, folder: Path) -> None:
    schema = spark.read.parquet(str(folder)).schema
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    # The condition stays behind the watermark, since it is about the event time.
    timed = read.withWatermark("dateTime", f"{LATENESS_S} seconds").where(f"dateTime < TIMESTAMP '{_END}'")
    timed.createOrReplaceTempView(name)


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])))
