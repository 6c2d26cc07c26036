"""A shape through Spark's own chained stream-stream joins, set up as its documentation advises.

RocksDB state store with changelog checkpoints, join state format 4 (the newest, keyed by time), one
shuffle partition per core, watermarks on every stream and range conditions on every pair, so that
state is bounded. After each join the new stream's event-time column becomes a plain timestamp: two of
them in one input are an error (MULTIPLE_EVENT_TIME_COLUMNS).

`python -m tests.bench.joins.native SHAPE DATA OUT --files-per-batch N` prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
from datetime import datetime
from pathlib import Path

import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import LongType, StructField, StructType, TimestampType

from jobs.spark.session import processors
from tests.bench.joins.shapes import SHAPES, Shape, Stream, flat

WARM_UP_BATCHES = 2
"""Left out of the steady figure, as in `jobs replay`'s."""


def session(name: str) -> SparkSession:
    cores = processors()
    settings = {
        "spark.driver.memory": "6g",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
        "spark.sql.streaming.join.stateFormatVersion": "4",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def figures(query: StreamingQuery) -> dict[str, float]:
    """Speed and number of batches of a query that has read everything."""
    batches = [p for p in query.recentProgress if p.numInputRows > 0]
    starts = [datetime.fromisoformat(p.timestamp.replace("Z", "+00:00")).timestamp() for p in batches]
    ends = [start + p.durationMs["triggerExecution"] / 1000 for start, p in zip(starts, batches, strict=True)]
    rows = [p.numInputRows for p in batches]
    seconds = ends[-1] - starts[0]
    found = {"seconds": seconds, "tuples_per_second": sum(rows) / seconds, "batches": len(batches)}
    if len(batches) > WARM_UP_BATCHES:
        steady_s = ends[-1] - starts[WARM_UP_BATCHES]
        found["steady_tuples_per_second"] = sum(rows[WARM_UP_BATCHES:]) / steady_s
    return found


def run(shape: Shape, data: Path, out: Path, files_per_batch: int) -> dict[str, float]:
    """Answers the query over all files and returns the figures."""
    spark = session(f"native {shape.name}")
    joined = _stream(spark, data, shape.first, files_per_batch)
    before = [shape.first.name]
    for join in shape.joins:
        name = join.stream.name
        conditions = [
            *map(flat, join.conditions),
            *(_near(shape, f"{name}_ts", _time(old, before)) for old in before),
        ]
        joined = joined.join(
            _stream(spark, data, join.stream, files_per_batch), f.expr(" AND ".join(conditions))
        )
        # Arithmetic on a column drops its mark as event time.
        plain = f.timestamp_micros(f.unix_micros(f"{name}_ts"))
        joined = joined.withColumn(f"{name}_time", plain).drop(f"{name}_ts")
        before.append(name)
    query = (
        joined.select(*(f"{name}_id" for name in before))
        .writeStream.format("parquet")
        .option("path", str(out / "results"))
        .option("checkpointLocation", str(out / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = figures(query)
    spark.stop()
    # Spark's log of the sink is in a folder of the results' own.
    results = ds.dataset(out / "results", exclude_invalid_files=True).count_rows()
    return found | {"results": results}


def _stream(spark: SparkSession, data: Path, stream: Stream, files_per_batch: int) -> DataFrame:
    names = [name for name, _ in stream.columns]
    schema = StructType(
        [
            StructField("ts", TimestampType()),
            StructField("id", LongType()),
            *(StructField(name, LongType()) for name in names),
        ]
    )
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", files_per_batch)
    renamed = read.parquet(str(data / stream.name))
    for column in ("ts", "id", *names):
        renamed = renamed.withColumnRenamed(column, f"{stream.name}_{column}")
    return renamed.withWatermark(f"{stream.name}_ts", "0 seconds")


def _time(stream: str, before: list[str]) -> str:
    return f"{stream}_ts" if stream == before[0] else f"{stream}_time"


def _near(shape: Shape, one: str, other: str) -> str:
    window = f"INTERVAL {shape.window_s} SECONDS"
    return f"{one} BETWEEN {other} - {window} AND {other} + {window}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.joins.native")
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--files-per-batch", type=int, required=True, help="of each stream")
    given = parser.parse_args()
    print(json.dumps(run(SHAPES[given.shape], given.data, given.out, given.files_per_batch)))


if __name__ == "__main__":
    main()
