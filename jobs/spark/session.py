"""The Spark session of a topology.

A batch of a topology is a handful of short stages that move names of messages, so Spark is
set up for little overhead: no page, no adaptive re-planning, Unix sockets to the Python
workers, which live on between batches and keep plans and runs open.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from jobs.sources.folder.allowed import DIRECTORIES
from jobs.spark.code_shipping import package_code
from jobs.spark.java import PACKAGE_ROOT, environment, is_local, java_settings, start_java
from jobs.spark.silence import silence_accumulators, silence_py4j
from optimizer.udf.reader import SETTING as FUNCTIONS


def processors() -> int:
    """The processors that this process may use.

    >>> processors() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local_slots(master: str) -> int:
    """How many tasks run at the same time under a local master.

    >>> local_slots("local"), local_slots("local[2]"), local_slots("local[4,4]")
    (1, 2, 4)
    """
    inside = master.removeprefix("local").strip("[]").split(",")[0]
    return processors() if inside == "*" else int(inside or 1)


def create_session(master: str, name: str, tasks: int, scratch: Path) -> SparkSession:
    """Start Spark for one topology.

    Arguments: `master` is a Spark URL; `name` is what cluster pages show; `tasks` is the number
    of tasks of every stage; `scratch` is where Spark may keep warehouse metadata that nobody reads.

    Only one session lives per process: Spark's own rule.
    """
    # A stage already runs one worker per core: threads inside each would only compete.
    threads = str(max(1, processors() // max(1, tasks)) if is_local(master) else 1)
    for_workers = {"POLARS_MAX_THREADS": threads, "OMP_NUM_THREADS": threads}
    os.environ.update(for_workers)
    scratch.mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **java_settings(scratch),
        "spark.default.parallelism": str(tasks),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(tasks),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "1",
        # The topology polls once per trigger; a shorter delay would only burn the driver's core.
        "spark.sql.streaming.pollingDelay": "10ms",
        "spark.sql.streaming.minBatchesToRetain": "10",
        # Spark's own logs, a few bytes per batch: Hadoop's local file systems start a process for
        # every chmod and readlink, some twenty per batch, unless they are asked for the raw one.
        # What a checkpoint must not lose is in our manifests.
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
        "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
        "spark.sql.ui.retainedExecutions": "1",
        "spark.ui.retainedJobs": "1",
        "spark.ui.retainedStages": "1",
        "spark.ui.retainedTasks": "1",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.worker.reuse": "true",
        "spark.shuffle.compress": "false",
        "spark.shuffle.spill.compress": "false",
        "spark.task.maxFailures": "4",
        "spark.cleaner.periodicGC.interval": "10min",
    }
    if is_local(master):
        # Local mode runs a task once by default; a killed Python worker must not fail the topology.
        if master in ("local", "local[*]"):
            master = f"local[{tasks},4]"
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
        settings["spark.local.dir"] = str(_spill_directory())
    else:
        for_workers |= {key: value for key, value in environment(master).items() if key != "PYTHONPATH"}
        # The same paths must exist there, as for the program.
        for_workers |= {key: os.environ[key] for key in (FUNCTIONS, DIRECTORIES) if key in os.environ}
        # As for the driver: executors only move messages between Python, files and the network. Compiling
        # with C2 was two fifths of their work in linear3's first batches, and each compiles for itself.
        settings["spark.executor.defaultJavaOptions"] = _EXECUTOR_JAVA
        # More cores than partitions would have nothing to do, and another topology none.
        settings["spark.cores.max"] = str(tasks)
        # `locality` says where a partition belongs; where most of its messages come from does not.
        settings["spark.shuffle.reduceLocality.enabled"] = "false"
        settings["spark.locality.wait"] = "100ms"
        # A lost executor's messages are made again rather than asked for during 15 s.
        settings["spark.shuffle.io.maxRetries"] = "2"
        settings["spark.shuffle.io.retryWait"] = "500ms"
    settings |= {f"spark.executorEnv.{key}": value for key, value in for_workers.items()}
    # What was asked for on the way in (spark-submit, SPARK_CONF_DIR) wins over nothing but defaults.
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    silence_py4j()
    start_java(master, settings, scratch)
    session = builder.getOrCreate()
    silence_accumulators(session)
    session.sparkContext.setLogLevel("ERROR")
    if is_local(master):
        # Read whenever workers are needed. Set so late because whatever `builder` sets wins over
        # spark-defaults.conf, and this is for those who did not ask for another one.
        session.sparkContext._conf.setIfMissing("spark.python.daemon.module", "jobs.spark.worker_daemon")
    else:
        session.sparkContext.addPyFile(str(package_code(PACKAGE_ROOT, scratch / "code.zip")))
    return session


def end_answered() -> None:
    """End the processes that Spark asked about the source once a first batch began.

    For each kind of question (what this source is, how to read it) Spark keeps a process of 35 MB for
    good, and one that it forked, as large, for a minute. Nothing is left to be asked then: a query asks
    while it starts.
    """
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # It has ended meanwhile.
            words = process.cmdline()
            if words[1:3] == ["-m", "pyspark.daemon"] and words[-1].startswith("pyspark.sql.worker."):
                process.terminate()


def _spill_directory() -> Path:
    """A directory for Spark's shuffle files that goes with this process.

    What a killed one left is deleted by the next topology on this host, see `exchange.remove_orphans`.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"millrace-{os.getpid()}-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_EXECUTOR_JAVA = "-XX:TieredStopAtLevel=1 -Duser.timezone=UTC"
"""What an operator sets as `spark.executor.extraJavaOptions` comes behind it and wins. Without a collector,
because Java does not start with two."""
