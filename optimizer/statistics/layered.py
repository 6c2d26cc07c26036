"""Several providers as one."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.algebra.expression import Expression
from optimizer.statistics.interval import Interval
from optimizer.statistics.observation.chains import partners
from optimizer.statistics.provider import StatisticsProvider
from optimizer.statistics.skew import top_share


@dataclass(frozen=True, slots=True)
class LayeredStatistics:
    """The first provider that knows wins; put what is measured before what is assumed."""

    layers: tuple[StatisticsProvider, ...]

    def rate(self, stream: str) -> Interval | None:
        for layer in self.layers:
            if (known := layer.rate(stream)) is not None:
                return known
        return None

    def top_share(self, stream: str, column: str) -> float | None:
        for layer in self.layers:
            if (known := top_share(layer, stream, column)) is not None:
                return known
        return None

    def step(self, chain: str) -> Interval | None:
        for layer in self.layers:
            if (known := partners(layer, chain)) is not None:
                return known
        return None

    def selectivity(self, predicate: Expression) -> Interval | None:
        for layer in self.layers:
            if (known := layer.selectivity(predicate)) is not None:
                return known
        return None
