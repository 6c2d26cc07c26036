"""The statistics that a workload directory states in its streams.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from optimizer.expression import Expression
from optimizer.statistics.fixed import FixedStatistics
from optimizer.stream import Stream


def statistics_of_workload(
    streams: Iterable[Stream], selectivities: Mapping[Expression, float]
) -> FixedStatistics:
    """Rates from the streams' declarations, selectivities from the file's list.

    Args:
        streams: those without a rate stay unknown.
        selectivities: by predicate over stream names, as streams.yaml writes them.
    """
    rates = {s.name: s.tuples_per_second for s in streams if s.tuples_per_second is not None}
    return FixedStatistics(rates, dict(selectivities))
