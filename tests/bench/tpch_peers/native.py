"""One query of TPC-H as Spark's own chained joins; windows are unbounded, so there are no watermarks.

`python -m tests.bench.tpch_peers.native JOB.json OUT` prints one JSON object. The job names the data's
folder, the first table and the steps; see `benchmark.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tests.bench.joins.native import figures, session


def run(job: dict, out: Path) -> dict[str, float]:
    spark = session(job["name"])
    data = Path(job["data"])
    joined = _stream(spark, data / job["first"])
    for step in job["steps"]:
        condition = f.expr(" AND ".join(step["conditions"]))
        joined = joined.join(_stream(spark, data / step["table"]), condition)
    query = (
        joined.writeStream.format("parquet")
        .option("path", str(out / "results"))
        .option("checkpointLocation", str(out / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = figures(query)
    spark.stop()
    results = ds.dataset(out / "results", exclude_invalid_files=True).count_rows()
    return {"seconds": found["seconds"], "results": results}


def _stream(spark: SparkSession, folder: Path) -> DataFrame:
    schema = spark.read.parquet(str(folder)).schema
    # Large tables have four files, and a query is over as soon as all tables are read.
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


if __name__ == "__main__":
    print(json.dumps(run(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))))
