"""Sinks beside result files: what each has to say, and where they are found.

A sink is one module with a `SINK`, which adds its options to `python -m jobs run` and, if they ask for it,
opens a `Sink`.
"""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import ClassVar, Protocol
from urllib.parse import unquote

SINKS: Mapping[str, str] = {
    "kafka": "jobs.sinks.kafka.connector",
    "postgres": "jobs.sinks.postgres.connector",
    "iceberg": "jobs.sinks.iceberg.connector",
}
"""By name the module of each."""


@dataclass(frozen=True, slots=True)
class BatchResults:
    """What a committed batch has for sinks."""

    batch: int
    files: tuple[Path, ...]
    """Result files; `query_of` says whose each is."""
    complete_since_us: Mapping[str, int]
    """By query, since which event time of their newest tuples results are all there; absent if all are."""


class Sink(Protocol):
    """Takes the results of committed batches in order, each whole or not at all."""

    def connect(self) -> int:
        """Finish or undo what a dead process left.

        Returns the last batch that the sink has, or -1.

        Asked again after `jobs.sources.connector.Away`, which may come from here too.
        """
        ...

    def publish(self, results: BatchResults) -> None:
        """Take a batch's results. Raises `Away`."""
        ...


class SinkConnector(ABC):
    """A kind of sink; its module's `SINK` is the only object of it."""

    option: ClassVar[str]
    """The option of `jobs run` that asks for it."""

    @abstractmethod
    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Its options, with defaults from the environment."""

    @abstractmethod
    def open(self, given: argparse.Namespace, identity: str) -> Sink:
        """The sink that the options describe, for the checkpoint with this id.

        Raises `InputError` if the deployment lacks what it needs.
        """

    def wanted(self, given: argparse.Namespace) -> bool:
        return getattr(given, self.option.lstrip("-").replace("-", "_")) is not None


def sink_connectors() -> Iterator[SinkConnector]:
    """Every kind of sink, in the order of `SINKS`."""
    for module in SINKS.values():
        found: SinkConnector = import_module(module).SINK
        yield found


def open_sinks(given: argparse.Namespace, identity: str) -> dict[str, Sink]:
    """The sinks that the options ask for, by name. Raises `InputError`."""
    connectors = {name: import_module(module).SINK for name, module in SINKS.items()}
    return {name: one.open(given, identity) for name, one in connectors.items() if one.wanted(given)}


def query_of(file: Path) -> str:
    """The query of a result file, whose folder has its quoted name.

    >>> query_of(Path("out/results/late%20flights/0.parquet"))
    'late flights'
    """
    return unquote(file.parent.name)
