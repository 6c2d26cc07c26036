"""What one query may cost, so that one person's cross product does not sink everybody's topology."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from backend.catalog.language import parse_versions
from backend.catalog.models import QueryVersion
from backend.errors import Conflict
from backend.streams.queries import load_catalog, selectivities
from backend.topologies.planning import plan_quickly, registered_statistics
from optimizer.estimate import estimate
from optimizer.expression import Expression
from optimizer.statistics import DefaultStatistics
from optimizer.statistics.defaults import default_selectivity
from optimizer.statistics.interval import Interval
from optimizer.statistics.layered import LayeredStatistics


@dataclass(frozen=True, slots=True)
class LeastStatistics:
    """The low end of every default: what nobody declared is held in the query's favour."""

    def rate(self, stream: str) -> Interval:
        return Interval.exactly(DefaultStatistics().rate(stream).low)

    def selectivity(self, predicate: Expression) -> Interval:
        return Interval.exactly(default_selectivity(predicate).low)


def refuse_too_costly(version: QueryVersion) -> None:
    """Raises `Conflict` when the query alone is estimated to keep or to make too many tuples.

    Declared rates and selectivities count as they are, everything else with the least that is
    plausible: a guess must not keep a query out.
    """
    catalog = load_catalog()
    query = parse_versions([version], catalog)[version.pk]
    statistics = LayeredStatistics((registered_statistics(catalog, selectivities()), LeastStatistics()))
    expected = estimate(
        plan_quickly([query], catalog, statistics, {query.name: version.sql}).graph, statistics
    )
    if expected.stored > settings.MILLRACE_MAX_STATE_TUPLES:
        raise Conflict(
            "too-much-state",
            f"{query.name} alone would keep {expected.stored:.3g} tuples, as estimated; "
            f"at most {settings.MILLRACE_MAX_STATE_TUPLES:.3g} are allowed: shorten its windows, "
            "filter its streams, or ask for a higher MILLRACE_MAX_STATE_TUPLES",
        )
    most = max(expected.rules.values(), default=0.0)
    if most > settings.MILLRACE_MAX_TUPLE_RATE:
        raise Conflict(
            "too-many-tuples",
            f"{query.name} would make {most:.3g} tuples per second, as estimated; at most "
            f"{settings.MILLRACE_MAX_TUPLE_RATE:.3g} are allowed: join on more, declare selectivities "
            "that are known, or ask for a higher MILLRACE_MAX_TUPLE_RATE",
        )
