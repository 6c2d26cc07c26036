"""The Java process of Spark, started ahead of what can be imported beside it.

Java takes as long to start as the engine to import, and neither waits for the other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

from jobs.spark.class_archive import java_options

PACKAGE_ROOT = Path(__file__).resolve().parent.parent
"""The directory that holds the packages `jobs` and `optimizer`; workers on this host import them there."""
_WORKER_PYTHON = Path(__file__).resolve().with_name("worker_python")


def is_local(master: str) -> bool:
    """True if driver and executors share one host, with its files and shared memory.

    >>> is_local("local[4]"), is_local("spark://host:7077")
    (True, False)
    """
    return master == "local" or master.startswith("local[")


def environment(master: str) -> dict[str, str]:
    """The environment of Java and of Python workers, the same for every topology."""
    asked_for = os.environ.get("PYSPARK_PYTHON", sys.executable)
    # Executors of a cluster start the same program: the same path must exist there.
    elsewhere = sys.executable if asked_for == str(_WORKER_PYTHON) else asked_for
    return {
        "PYSPARK_PYTHON": str(_WORKER_PYTHON) if is_local(master) else elsewhere,
        # With it Java would only look for sources among all packages, for seconds; ours is registered.
        "PYSPARK_DRIVER_PYTHON": "none",
        # By default each of Java's many threads may keep freed memory of C libraries to itself.
        "MALLOC_ARENA_MAX": "2",
        "PYTHONPATH": os.pathsep.join(
            dict.fromkeys(
                [str(PACKAGE_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
            )
        ),
        "TZ": "UTC",
        # Where Polars panics, its traces would fill Spark's log; what is raised says enough.
        "RUST_BACKTRACE": "0",
    }


def java_settings(scratch: Path) -> dict[str, str]:
    """Spark's settings that Java must have when it starts."""
    log4j = scratch / "log4j2.properties"
    quiet = f"-Dlog4j2.configurationFile=file:{log4j} -Dlog4j.configurationFile=file:{log4j}"
    return {
        "spark.driver.memory": "768m",
        # A short-lived process with small heaps: C1 warms up sooner, the serial collector is enough. A
        # young generation is filled before it is collected, so a large one is only memory; the old one
        # starts small and is let shrink, because most of what it gets is from setting up.
        "spark.driver.extraJavaOptions": (
            "-XX:+UseSerialGC -Xms64m -Xmn32m -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=25 "
            f"-XX:TieredStopAtLevel=1 -Duser.timezone=UTC {quiet} {java_options()}"
        ),
    }


def start_java(master: str, settings: Mapping[str, str], scratch: Path) -> None:
    """Start Java, or wait until it has started, if that is not done.

    Its output goes to `spark.log` in `scratch`. Its Python workers' goes there too: they say little of use to
    people, and what matters reaches the driver as an exception.

    Args:
        master: a Spark URL.
        settings: Spark's, for a process that starts.
        scratch: a directory for its output and for how to log.
    """
    with SparkContext._lock:
        os.environ.update(environment(master))
        if SparkContext._gateway is not None:
            return
        os.environ["MILLRACE_PYTHON"] = sys.executable
        # Otherwise a script starts Python to find it.
        os.environ.setdefault("SPARK_HOME", _find_spark_home())
        scratch.mkdir(parents=True, exist_ok=True)
        (scratch / "log4j2.properties").write_text(_LOG4J)
        conf = SparkConf(loadDefaults=False).setMaster(master).setAll(list(settings.items()))
        with (scratch / "spark.log").open("wb") as log:
            gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
        SparkContext._ensure_initialized(gateway=gateway)


def start_java_ahead(scratch: Path) -> None:
    """Start the Java process of a local session, and return at once.

    What it needs to know only later, a session tells it.
    """

    def start() -> None:
        # What goes wrong here goes wrong again where the session waits for Java, and is told there.
        with suppress(OSError, PySparkRuntimeError):
            start_java("local", java_settings(scratch), scratch)

    Thread(target=start, name="java", daemon=True).start()


_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
# Python workers that are asked to stop, and tasks that are tried again, are reported by the topology.
logger.task.name = org.apache.spark.scheduler.TaskSetManager
logger.task.level = error
"""
