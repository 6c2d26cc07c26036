"""Keep the tracebacks of a lost Java process out of a command's output.

Such errors are raised too, and told in one line where the command ends (`jobs.cli.ending.last_words`).
"""

from __future__ import annotations

import logging

from pyspark.sql import SparkSession

_MODULES = ("java_gateway", "clientserver")


def silence_py4j() -> None:
    """Drop py4j's log records; everybody else's pass.

    A lost connection is logged on the root logger, which then gets a handler for stderr, so records are kept
    from the root by where they come from.
    """
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    logging.getLogger("py4j").propagate = False
    logging.getLogger().addFilter(lambda record: record.module not in _MODULES)


def silence_accumulators(session: SparkSession) -> None:
    """End the thread that waits for accumulators, which no batch uses, silently."""
    server = session.sparkContext._accumulatorServer
    server.handle_error = lambda request, client_address: None
