"""The statistics that stream declarations and workload directories state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optimizer.algebra.expression import Expression
from optimizer.logical.stream import Stream
from optimizer.statistics.fixed import FixedStatistics


@dataclass(frozen=True, slots=True)
class SelectivityEstimate:
    """The fraction of pairs for which a predicate holds; its inputs are stream names."""

    predicate: Expression
    value: float


def statistics_of_workload(
    streams: Iterable[Stream], selectivities: Iterable[SelectivityEstimate] = ()
) -> FixedStatistics:
    """Statistics of a workload: declared rates and skew, listed selectivities.

    Rates and skew are from the streams' declarations, selectivities from streams.yaml's list.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.stream import Stream
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> known = statistics_of_workload([Stream("r", columns, "at", tuples_per_second=10.0)])
    >>> known.rate("r")
    Interval(low=10.0, expected=10.0, high=10.0)

    Args:
        streams: those without a rate stay unknown.
        selectivities: `Workload.selectivities`; of several for one predicate the last counts.
    """
    streams = tuple(streams)
    rates = {s.name: s.tuples_per_second for s in streams if s.tuples_per_second is not None}
    shares = {(stream.name, column): share for stream in streams for column, share in stream.top_shares}
    return FixedStatistics(rates, {one.predicate: one.value for one in selectivities}, shares)
