"""The sinks that there are, and those that a topology's options ask for."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module

from jobs.sinks.choice import EVERY, ChosenQueries, QueryChoice
from jobs.sinks.connector import Sink, SinkConnector, said

SINKS: Mapping[str, str] = {
    "kafka": "jobs.sinks.kafka.connector",
    "postgres": "jobs.sinks.postgres.connector",
    "iceberg": "jobs.sinks.iceberg.connector",
    "webhook": "jobs.sinks.webhook.connector",
}
"""By name the module of each."""


def add_sink_options(parser: argparse.ArgumentParser) -> None:
    """Options of every kind of sink, in the order of `SINKS`."""
    for sink in _connectors().values():
        sink.add_options(parser)
        parser.add_argument(
            _queries_option(sink), metavar="NAMES", default=EVERY,
            help=f"of which queries {sink.option} publishes results, comma-separated, * in them for anything "
            "(default: *)",
        )  # fmt: skip


def open_sinks(given: argparse.Namespace, identity: str) -> dict[str, Sink]:
    """The sinks that the options ask for, by name. Raises `InputError`."""
    return {name: _opened(one, given, identity) for name, one in _connectors().items() if one.wanted(given)}


def _opened(connector: SinkConnector, given: argparse.Namespace, identity: str) -> Sink:
    option = _queries_option(connector)
    choice = QueryChoice.of(option, said(given, option) or "")
    return ChosenQueries(connector.open(given, identity), choice)


def _queries_option(connector: SinkConnector) -> str:
    return f"{connector.option}-queries"


def _connectors() -> dict[str, SinkConnector]:
    return {name: import_module(module).SINK for name, module in SINKS.items()}
