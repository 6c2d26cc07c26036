"""Statistics providers: rates and selectivities of streams and predicates.

A provider answers with an `Interval` or with None for *unknown*; providers are layered and the
first that knows wins, with `DefaultStatistics` at the bottom so that a plan is always possible.
A selectivity is a property of streams, not of the aliases in one query.
"""

from __future__ import annotations

from optimizer.statistics.defaults import DefaultStatistics
from optimizer.statistics.fixed import FixedStatistics
from optimizer.statistics.interval import Interval
from optimizer.statistics.layered import LayeredStatistics
from optimizer.statistics.observation.measured import Measured, observe
from optimizer.statistics.observation.observed import ObservedStatistics, ObservedStep
from optimizer.statistics.provider import StatisticsProvider
from optimizer.statistics.sample import SampleStatistics
from optimizer.statistics.workload import statistics_of_workload

__all__ = [
    "DefaultStatistics",
    "FixedStatistics",
    "Interval",
    "LayeredStatistics",
    "Measured",
    "ObservedStatistics",
    "ObservedStep",
    "SampleStatistics",
    "StatisticsProvider",
    "observe",
    "statistics_of_workload",
]
