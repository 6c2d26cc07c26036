"""The protocol through which the optimizer learns about data."""

from __future__ import annotations

from typing import Protocol

from optimizer.algebra.expression import Expression
from optimizer.statistics.interval import Interval


class StatisticsProvider(Protocol):
    """Estimates by stream and by predicate; None is *unknown* and differs from zero."""

    def rate(self, stream: str) -> Interval | None:
        """Tuples per second of event time that arrive on `stream`, before any filter."""
        ...

    def selectivity(self, predicate: Expression) -> Interval | None:
        """The share of combinations of its inputs' tuples for which `predicate` is true.

        `predicate` reads canonical inputs (`departures`, `departures#2`). One input makes it a
        filter, two or more a join predicate. Its selectivity belongs to the streams: which
        occurrence it is asked for must not matter (`optimizer.logical.canonical_inputs.blank_ordinals`).
        """
        ...
