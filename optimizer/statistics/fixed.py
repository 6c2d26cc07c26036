"""Fixed statistics, as streams.yaml or a test writes them down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from optimizer.algebra.expression import Expression
from optimizer.logical.canonical_inputs import blank_ordinals
from optimizer.statistics.interval import Interval


@dataclass(frozen=True, slots=True)
class FixedStatistics:
    """Known numbers, unknown everything else.

    Predicates match modulo the order of their arguments and the ordinals of their inputs:
    a selectivity of `r.a = s.a` is found for `s.a = r#2.a` too.

    >>> FixedStatistics(rates={"departures": 2.0}).rate("departures").expected
    2.0
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    """Tuples per second by stream."""
    selectivities: Mapping[Expression, float] = field(default_factory=dict)
    """By predicate over stream names."""
    top_shares: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Share of the most frequent value, by stream and column."""

    def __post_init__(self) -> None:
        normal = {blank_ordinals(predicate): value for predicate, value in self.selectivities.items()}
        object.__setattr__(self, "selectivities", normal)

    def rate(self, stream: str) -> Interval | None:
        value = self.rates.get(stream)
        return None if value is None else Interval.exactly(value)

    def top_share(self, stream: str, column: str) -> float | None:
        return self.top_shares.get((stream, column))

    def selectivity(self, predicate: Expression) -> Interval | None:
        value = self.selectivities.get(blank_ordinals(predicate))
        return None if value is None else Interval.exactly(value)
