"""Spark's own chained stream-stream joins, set up as its documentation advises.

RocksDB state store with changelog checkpoints, join state format 4 (the newest, keyed by time), one
shuffle partition per core, watermarks on every stream and range conditions on every pair, so that
state is bounded. After the first join, the second event-time column becomes a plain timestamp: two
of them in one input are an error (MULTIPLE_EVENT_TIME_COLUMNS).

`python -m tests.bench.linear3.native DATA OUT` prints one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime
from pathlib import Path

import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import LongType, StructField, StructType, TimestampType

from tests.bench.linear3.data import BATCHES, FILES, STREAMS, WINDOW_S

WARM_UP_BATCHES = 2
"""Left out of the steady figure, as in `jobs replay`'s."""


def session() -> SparkSession:
    cores = len(os.sched_getaffinity(0))
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
    builder = SparkSession.builder.master(f"local[{cores}]").appName("native chained joins")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def stream(spark: SparkSession, data: Path, name: str) -> DataFrame:
    keys = STREAMS[name]
    schema = StructType(
        [
            StructField("ts", TimestampType()),
            StructField("id", LongType()),
            *(StructField(k, LongType()) for k in keys),
        ]
    )
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", FILES // BATCHES)
    renamed = read.parquet(str(data / name))
    for column in ("ts", "id", *keys):
        renamed = renamed.withColumnRenamed(column, f"{name}_{column}")
    return renamed.withWatermark(f"{name}_ts", "0 seconds")


def near(one: str, other: str) -> str:
    return f"{one} BETWEEN {other} - INTERVAL {WINDOW_S} SECONDS AND {other} + INTERVAL {WINDOW_S} SECONDS"


def run(data: Path, out: Path) -> dict[str, float]:
    """Answers the query over all files and returns the figures."""
    spark = session()
    r, s, t = (stream(spark, data, name) for name in STREAMS)
    rs = r.join(s, f.expr(f"r_b = s_b AND {near('s_ts', 'r_ts')}"))
    # Arithmetic on a column drops its mark as event time.
    rs = rs.withColumn("s_time", f.timestamp_micros(f.unix_micros("s_ts"))).drop("s_ts")
    rst = rs.join(t, f.expr(f"s_c = t_c AND {near('t_ts', 'r_ts')} AND {near('t_ts', 's_time')}"))
    query = (
        rst.select("r_id", "s_id", "t_id")
        .writeStream.format("parquet")
        .option("path", str(out / "results"))
        .option("checkpointLocation", str(out / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    batches = [p for p in query.recentProgress if p.numInputRows > 0]
    starts = [datetime.fromisoformat(p.timestamp.replace("Z", "+00:00")).timestamp() for p in batches]
    ends = [
        start + p.durationMs["triggerExecution"] / 1000 for start, p in zip(starts, batches, strict=True)
    ]
    rows = [p.numInputRows for p in batches]
    spark.stop()
    seconds = ends[-1] - starts[0]
    steady_s = ends[-1] - starts[WARM_UP_BATCHES]
    return {
        "seconds": seconds,
        "tuples_per_second": sum(rows) / seconds,
        "steady_tuples_per_second": sum(rows[WARM_UP_BATCHES:]) / steady_s,
        "batches": len(batches),
        "results": ds.dataset(out / "results", exclude_invalid_files=True).count_rows(),
    }


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), Path(sys.argv[2]))))
