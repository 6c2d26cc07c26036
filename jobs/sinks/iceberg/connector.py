"""Iceberg: each query's results go to a table of the deployment's catalog.

pyiceberg is loaded with the first sink: topologies without tables do without it.
"""

from __future__ import annotations

import argparse
import os

from jobs.sinks.connector import Sink, SinkConnector
from jobs.sinks.pattern import check_pattern
from optimizer.algebra.errors import InputError, Place

CATALOG = "MILLRACE_ICEBERG_CATALOG"
"""The catalog's name in pyiceberg's own configuration, which has its address and credentials."""
RETENTION = "MILLRACE_ICEBERG_SNAPSHOT_HOURS"
_OPTION = "--results-iceberg"
_EXAMPLE = "millrace.{query}"


class IcebergResults(SinkConnector):
    option = _OPTION

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            _OPTION, metavar="PATTERN", default=os.environ.get("MILLRACE_ICEBERG_RESULTS") or None,
            help="also publish results to tables of the deployment's Iceberg catalog, NAMESPACE.NAME; "
            "{query} in NAME is the query's name (default: MILLRACE_ICEBERG_RESULTS)",
        )  # fmt: skip

    def open(self, given: argparse.Namespace, identity: str) -> Sink:
        pattern = check_pattern(_OPTION, given.results_iceberg, _EXAMPLE)
        namespace = pattern.partition("{")[0].rpartition(".")[0]
        if not namespace:
            raise InputError(
                "bad-option", Place("command line", path=_OPTION), pattern, f"such as {_EXAMPLE}"
            )
        catalog = os.environ.get(CATALOG, "").strip()
        if not catalog:
            place = Place("environment", path=CATALOG)
            raise InputError(
                "bad-option", place, "nothing", "the name of a catalog in pyiceberg's configuration"
            )
        from jobs.sinks.iceberg.snapshots import SnapshotSink

        return SnapshotSink(catalog, namespace, pattern[len(namespace) + 1 :], identity, _retention_hours())


def _retention_hours() -> float | None:
    written = os.environ.get(RETENTION, "").strip()
    if not written:
        return None
    try:
        hours = float(written)
    except ValueError:
        hours = 0.0
    if not 0 < hours < float("inf"):
        expected = "hours after which old snapshots are forgotten, such as 48"
        raise InputError("bad-option", Place("environment", path=RETENTION), written, expected)
    return hours


SINK = IcebergResults()
