"""Everything that is known when a plan is made, as one document that can be kept.

For each statistic the best evidence wins:

1. what the installed probe orders observed, in the epoch and, fading, in those before it, once that
   says more than what there is without it, or contradicts it
   (`optimizer.statistics.observation.evidence.is_better`);
2. what somebody declared, as long as a sample of the epoch does not contradict it: a sample of two
   thousand tuples cannot tell 1e-7 from 1e-6, so it only overrules what lies outside its confidence
   interval;
3. the sample;
4. the documented default.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from optimizer.algebra.expression import Expression, columns_of, inputs_of, rename_inputs
from optimizer.algebra.render import to_sql
from optimizer.logical.canonical_inputs import blank_ordinals, canonical_names, conjuncts, sort_key, stream_of
from optimizer.logical.event_time.share import event_time_condition
from optimizer.logical.query import Query, derived_of
from optimizer.statistics.defaults import DefaultStatistics
from optimizer.statistics.interval import Interval
from optimizer.statistics.observation.daily import Rate
from optimizer.statistics.observation.evidence import is_better
from optimizer.statistics.observation.observed import ObservedStatistics
from optimizer.statistics.provider import StatisticsProvider
from optimizer.statistics.skew import top_share

Source: TypeAlias = Literal["observed", "remembered", "sampled", "declared", "assumed"]
"""By an installed probe order in this epoch; by one in an earlier epoch; on a sample; by a person;
by nobody."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """A learnt rate (tuples per second) of a stream, or selectivity of a predicate."""

    name: str
    """`rate of departures`, or the predicate as SQL over streams."""
    value: float
    low: float
    high: float
    source: Source
    stream: str | None = None
    predicate: Expression | None = None

    @property
    def interval(self) -> Interval:
        return Interval(self.low, self.value, self.high)


@dataclass(frozen=True, slots=True)
class TopShare:
    """The share of a stream's tuples that have the most frequent value of a column."""

    stream: str
    column: str
    value: float
    source: Literal["sampled", "remembered", "declared"]
    """On a sample of the epoch; on one of an earlier epoch; by a person."""


@dataclass(frozen=True, slots=True)
class LearntStatistics:
    """A `StatisticsProvider` of exactly what a set of queries needs.

    Anything else is unknown.
    """

    statistics: tuple[Learnt, ...]
    """Rates by stream, then selectivities by predicate; no two of the same."""
    top_shares: tuple[TopShare, ...] = ()
    """Of columns in predicates, where something is known; by stream and column."""
    memory: ObservedStatistics | None = None
    """What epochs until now observed, for the next one to go on from."""
    _rates: dict[str, Learnt] = field(init=False, repr=False, compare=False)
    _shares: dict[Expression, Learnt] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rates = {s.stream: s for s in self.statistics if s.stream is not None}
        shares = {blank_ordinals(s.predicate): s for s in self.statistics if s.predicate is not None}
        object.__setattr__(self, "_rates", rates)
        object.__setattr__(self, "_shares", shares)

    @property
    def measured(self) -> LearntStatistics:
        """Only what was seen in the data, nothing that a person declared."""
        seen = ("observed", "remembered", "sampled")
        shares = tuple(share for share in self.top_shares if share.source in seen)
        return LearntStatistics(tuple(s for s in self.statistics if s.source in seen), shares, self.memory)

    @property
    def coming(self) -> LearntStatistics:
        """With the rates of the coming epoch, by the hour, in place of means."""
        return self._with_rates(lambda rate: rate.next)

    @property
    def ahead(self) -> LearntStatistics:
        """With rates as any epoch may have them, in place of means."""
        return self._with_rates(lambda rate: rate.of_another)

    def _with_rates(self, of: Callable[[Rate], Interval]) -> LearntStatistics:
        seen = {} if self.memory is None else {name: of(rate) for name, rate in self.memory.rates.items()}
        found = [(s, seen.get(s.stream or "")) for s in self.statistics]
        return replace(
            self,
            statistics=tuple(
                s if rate is None else replace(s, value=rate.expected, low=rate.low, high=rate.high)
                for s, rate in found
            ),
        )

    def batch_s(self, epoch_batches: int) -> float | None:
        """Seconds of event time that a batch of the newest epoch spanned.

        None before there was an epoch.
        """
        rates = {} if self.memory is None else self.memory.rates
        longest = max((rate.seconds for rate in rates.values()), default=0.0)
        return longest / epoch_batches if longest > 0 else None

    def top_share(self, stream: str, column: str) -> float | None:
        found = (s.value for s in self.top_shares if (s.stream, s.column) == (stream, column))
        return next(found, None)

    def rate(self, stream: str) -> Interval | None:
        found = self._rates.get(stream)
        return None if found is None else found.interval

    def selectivity(self, predicate: Expression) -> Interval | None:
        found = self.find(predicate)
        return None if found is None else found.interval

    def step(self, chain: str) -> Interval | None:
        return None if self.memory is None else self.memory.step(chain)

    def find(self, predicate: Expression) -> Learnt | None:
        """What is known about a predicate, whichever occurrences of its streams it reads."""
        found = self._shares.get(blank_ordinals(predicate))
        if found is None:
            bare = conjuncts(predicate)
            found = self._shares.get(blank_ordinals(next(iter(bare)))) if len(bare) == 1 else None
        return found

    def find_rate(self, stream: str) -> Learnt | None:
        return self._rates.get(stream)


def learn(
    queries: Sequence[Query],
    declared: StatisticsProvider,
    observed: StatisticsProvider | None = None,
    sample: StatisticsProvider | None = None,
    earlier: LearntStatistics | None = None,
) -> LearntStatistics:
    """The statistics that planning `queries` needs, each from its best source.

    Section 7.2.1.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> from optimizer.statistics import statistics_of_workload
    >>> known = statistics_of_workload(catalog)
    >>> [(one.name, one.value, one.source) for one in learn([query], known).statistics]
    [('rate of r', 10.0, 'declared'), ('rate of s', 10.0, 'declared'), ('r.a = s.a', 0.01, 'assumed')]

    Args:
        queries: those to be planned.
        declared: rates and selectivities that somebody wrote down.
        observed: what the probe orders of the last whole epoch tell; None before there is one.
        sample: of the same epoch.
        earlier: what was known for the epoch before.
    """
    memory = None if earlier is None else earlier.memory
    if isinstance(observed, ObservedStatistics):
        memory = observed if memory is None else memory.then(observed)
    queries = (*queries, *(one.query for one in derived_of(queries)))
    streams = sorted({item.stream for query in queries for item in query.inputs})
    rates = [_rate(stream, declared, observed, memory, earlier) for stream in streams]
    predicates = _predicates(queries)
    times = frozenset() if memory is None else memory.event_times
    shares = [
        _share(p, declared, observed, memory, sample, earlier, is_of_windows=_is_of_windows(p, times))
        for p in predicates
    ]
    compared = sorted({(stream_of(c.input), c.name) for p in predicates for c in columns_of(p)})
    tops = [_top_share(*column, declared, sample, earlier) for column in compared]
    return LearntStatistics((*rates, *shares), tuple(top for top in tops if top is not None), memory)


def _top_share(
    stream: str,
    column: str,
    declared: StatisticsProvider,
    sample: StatisticsProvider | None,
    earlier: LearntStatistics | None,
) -> TopShare | None:
    counted = top_share(sample, stream, column) if sample is not None else None
    if counted is not None:
        return TopShare(stream, column, counted, "sampled")
    before = [] if earlier is None else earlier.top_shares
    for known in before:
        if (known.stream, known.column) == (stream, column) and known.source != "declared":
            return replace(known, source="remembered")
    stated = top_share(declared, stream, column)
    return None if stated is None else TopShare(stream, column, stated, "declared")


def _predicates(queries: Sequence[Query]) -> list[Expression]:
    """Every predicate of the queries over canonical inputs, each once."""
    found: dict[Expression, Expression] = {}
    ordered = sorted(queries, key=lambda query: query.name)
    for query, names in zip(ordered, canonical_names(ordered), strict=True):
        for predicate in query.predicates:
            for part in conjuncts(rename_inputs(predicate, names)):
                blank = blank_ordinals(part)
                found[blank] = min(found.get(blank, part), part, key=sort_key)
    return [found[blank] for blank in sorted(found, key=sort_key)]


def _rate(
    stream: str,
    declared: StatisticsProvider,
    observed: StatisticsProvider | None,
    memory: ObservedStatistics | None,
    earlier: LearntStatistics | None,
) -> Learnt:
    seen = observed.rate(stream) if observed is not None else None
    if seen is not None and memory is not None:
        seen = memory.rate(stream)
    if seen is not None:
        return _learnt(f"rate of {stream}", seen, "observed", stream=stream)
    before = earlier.find_rate(stream) if earlier is not None else None
    if before is not None:
        source: Source = "remembered" if before.source in ("observed", "remembered") else before.source
        return _learnt(before.name, before.interval, source, stream=stream)
    stated = declared.rate(stream)
    if stated is not None:
        return _learnt(f"rate of {stream}", stated, "declared", stream=stream)
    return _learnt(f"rate of {stream}", DefaultStatistics().rate(stream), "assumed", stream=stream)


def _share(
    predicate: Expression,
    declared: StatisticsProvider,
    observed: StatisticsProvider | None,
    memory: ObservedStatistics | None,
    sample: StatisticsProvider | None,
    earlier: LearntStatistics | None,
    *,
    is_of_windows: bool,
) -> Learnt:
    name = to_sql(blank_ordinals(predicate))
    seen = observed.selectivity(predicate) if observed is not None else None
    source: Source = "remembered" if seen is None else "observed"
    if memory is not None:
        seen = memory.selectivity(predicate)
    before = earlier.find(predicate) if earlier is not None else None
    if seen is None and before is not None and before.source in ("observed", "remembered"):
        seen = before.interval
    # Pairs of a sample lie as far apart as they like; windows tell what is left of those inside them.
    counted = sample.selectivity(predicate) if sample is not None and not is_of_windows else None
    prior, otherwise = _otherwise(predicate, declared, counted, None if is_of_windows else before)
    stale = source == "remembered" and counted is not None and seen is not None and not _lies(seen, counted)
    if seen is not None and not stale and is_better(seen, prior):
        return _learnt(name, seen, source, predicate=predicate)
    return _learnt(name, prior, otherwise, predicate=predicate)


def _is_of_windows(predicate: Expression, event_times: Collection[tuple[str, str]]) -> bool:
    times = dict(event_times)
    own = {name: times.get(stream_of(name), "") for name in inputs_of(predicate)}
    return event_time_condition(predicate, own) is not None


def _otherwise(
    predicate: Expression, declared: StatisticsProvider, counted: Interval | None, before: Learnt | None
) -> tuple[Interval, Source]:
    """What holds where nothing was observed."""
    stated = declared.selectivity(predicate)
    if stated is not None and (counted is None or _lies(stated, counted)):
        return stated, "declared"
    if counted is not None:
        return counted, "sampled"
    if before is not None and before.source == "sampled":
        return before.interval, "sampled"
    return DefaultStatistics().selectivity(predicate), "assumed"


def _lies(one: Interval, within: Interval) -> bool:
    return within.low <= one.expected <= within.high


def _learnt(
    name: str,
    value: Interval,
    source: Source,
    stream: str | None = None,
    predicate: Expression | None = None,
) -> Learnt:
    return Learnt(name, value.expected, value.low, value.high, source, stream, predicate)


def by_name(statistics: Iterable[Learnt]) -> dict[str, Learnt]:
    """Statistics by their name."""
    return {statistic.name: statistic for statistic in statistics}
