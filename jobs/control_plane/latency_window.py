"""Latencies of the last minute's results, counted on a logarithmic scale.

A batch's results leave together, so percentiles of one batch are nearly equal and say nothing of the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from jobs.driver.batch_totals import Waits

_LENGTH_US = 60_000_000
_STEP = 1.02
"""Between neighbouring latencies that are told apart: percentiles are within 1 % of their values."""
_STEPS = 1_100
"""From a millisecond to about a month."""

Counts: TypeAlias = npt.NDArray[np.int64]
"""Results by step of the scale."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Of results, in milliseconds."""

    p50: float
    p99: float


class LatencyWindow:
    """Latencies of the results of the last minute, by query and of all together.

    Counts are added up as batches come and go, so that a batch costs the same however many are in the minute.

    >>> window = LatencyWindow()
    >>> window.add(0, {"q": Waits(np.array([10.0, 200.0]), np.array([97, 3]))})
    >>> found = window.of("q")
    >>> round(found.p50), round(found.p99, -1)
    (10, 200.0)
    >>> window.add(61_000_000, {})
    >>> window.of("q") is None
    True
    """

    def __init__(self) -> None:
        self._batches: deque[tuple[int, dict[str, Counts]]] = deque()
        self._by_query: dict[str, Counts] = {}
        self._together = np.zeros(_STEPS, np.int64)

    def add(self, committed_us: int, waits: Mapping[str, Waits]) -> None:
        """Take a batch's results in, and leave out those of more than a minute before.

        Args:
            committed_us: wall clock of the commit, microseconds since 1970.
            waits: of the queries with results.
        """
        counts = {query: _counts(waited) for query, waited in waits.items()}
        self._batches.append((committed_us, counts))
        for query, added in counts.items():
            self._by_query[query] = self._by_query.get(query, 0) + added
            self._together += added
        while self._batches[0][0] <= committed_us - _LENGTH_US:
            for query, old in self._batches.popleft()[1].items():
                self._by_query[query] -= old
                self._together -= old
                if not self._by_query[query].any():
                    del self._by_query[query]

    def of(self, query: str) -> Latency | None:
        """The latency of a query; None if it had no results."""
        return _latency(self._by_query[query]) if query in self._by_query else None

    def of_all(self) -> Latency | None:
        """The latency of all results; None if there were none."""
        return _latency(self._together)


def _counts(waits: Waits) -> Counts:
    steps = np.log(np.maximum(waits.ms, 1.0)) / np.log(_STEP)
    places = np.minimum(np.rint(steps).astype(np.int64), _STEPS - 1)
    return np.bincount(places, waits.results, _STEPS).astype(np.int64)


def _latency(counts: Counts) -> Latency | None:
    if not counts.any():
        return None
    p50, p99 = _quantiles(counts, (0.5, 0.99))
    return Latency(p50, p99)


def _quantiles(counts: Counts, at: Sequence[float]) -> list[float]:
    """The latencies below which the given shares of the results lie."""
    upto = np.cumsum(counts)
    return [round(float(_STEP**place), 3) for place in np.searchsorted(upto, np.asarray(at) * upto[-1])]
