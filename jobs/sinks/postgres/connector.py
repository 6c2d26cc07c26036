"""PostgreSQL: each query's results go to a table of the deployment's database.

The driver is loaded with the first sink: topologies without tables do without it.
"""

from __future__ import annotations

import argparse
import os

from jobs.sinks.connector import Sink, SinkConnector
from jobs.sinks.pattern import check_pattern
from optimizer.algebra.errors import InputError, Place

URL = "MILLRACE_POSTGRES_RESULTS_URL"
"""Names the database, perhaps with a password: it stands on no command line and in no plan."""
_OPTION = "--results-table"
_EXAMPLE = "public.{query}"


class PostgresResults(SinkConnector):
    option = _OPTION

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            _OPTION, metavar="PATTERN", default=os.environ.get("MILLRACE_POSTGRES_RESULTS") or None,
            help="also publish results to tables of the deployment's PostgreSQL database for results, "
            "SCHEMA.NAME; {query} in NAME is the query's name (default: MILLRACE_POSTGRES_RESULTS)",
        )  # fmt: skip

    def open(self, given: argparse.Namespace, identity: str) -> Sink:
        pattern = check_pattern(_OPTION, given.results_table, _EXAMPLE)
        schema, dot, name = (
            pattern.rpartition(".") if "." in pattern.partition("{")[0] else ("public", ".", pattern)
        )
        if not dot or not schema or "{" in schema:
            raise InputError(
                "bad-option", Place("command line", path=_OPTION), pattern, f"such as {_EXAMPLE}"
            )
        url = os.environ.get(URL, "").strip()
        if not url:
            place = Place("environment", path=URL)
            raise InputError(
                "bad-option", place, "nothing", f"postgresql://USER@HOST/DATABASE, for {_OPTION}"
            )
        from jobs.sinks.postgres.tables import TableSink

        return TableSink(url, schema, name, identity)


SINK = PostgresResults()
