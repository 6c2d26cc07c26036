"""What a topology did in a period, as a value that adds up.

    merged(merged(a, b), c) == merged(a, merged(b, c))

so a period is the same, whether it is folded from its events or from shorter periods.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import Annotated

from jobs.protocol import BatchCompleted, EpochCompleted
from jobs.protocol.metrics import Metric, metrics_of
from jobs.protocol.metrics import newest as greatest

_LATENCY = "Greatest that a batch told, each of the last minute's results."


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Sums of a period's batches, their greatest, or what the last one said.

    None is unknown.
    """

    batches: Annotated[int, Metric("batches", "Committed batches.", add)] = 0
    seconds: Annotated[float, Metric("seconds", "Duration of all batches together.", add)] = 0.0
    tuples_in: Annotated[int, Metric("tuples", "Tuples that batches read.", add)] = 0
    results: Annotated[int, Metric("results", "Results of all queries.", add)] = 0
    late: Annotated[int, Metric("tuples", "Late tuples.", add)] = 0
    undecodable: Annotated[
        int, Metric("tuples", "Unreadable tuples, with those that were set aside.", add)
    ] = 0
    backlog: Annotated[int | None, Metric("tuples", "Most tuples that waited at the sources.", greatest)] = (
        None
    )
    latency_ms_p50: Annotated[float | None, Metric("ms", f"Median latency. {_LATENCY}", greatest)] = None
    latency_ms_p99: Annotated[float | None, Metric("ms", f"99th percentile. {_LATENCY}", greatest)] = None
    state_tuples: Annotated[int | None, Metric("tuples", "Tuples in all stores, at the end.")] = None
    state_bytes: Annotated[int | None, Metric("bytes", "Bytes of all stores, at the end.")] = None
    epochs: Annotated[int, Metric("epochs", "Completed epochs whose processor time is known.", add)] = 0
    cores_of_epochs: Annotated[
        float, Metric("cores", "Processor seconds per second of each such epoch, added up.", add)
    ] = 0.0
    plan_id: Annotated[str | None, Metric("id", "The plan in use, at the end.")] = None
    switches: Annotated[int, Metric("switches", "Times that another plan took over.", add)] = 0

    @property
    def cores(self) -> float | None:
        """Processor seconds per second of the clock: the mean of its epochs.

        None without one.
        """
        return self.cores_of_epochs / self.epochs if self.epochs else None


MEASURES = tuple(metrics_of(Measures))
"""The names, in order."""


def merged(first: Measures, second: Measures) -> Measures:
    """Two periods as one, the second being the later one.

    >>> merged(Measures(batches=2, backlog=7, state_bytes=10), Measures(batches=1, state_bytes=4))
    ... # doctest: +ELLIPSIS
    Measures(batches=3, ..., backlog=7, ..., state_bytes=4, ...)
    """
    found = {}
    for name, metric in metrics_of(Measures).items():
        before, after = getattr(first, name), getattr(second, name)
        if metric.adds is not None:
            found[name] = metric.adds(before, after)
        else:
            found[name] = before if after is None else after
    return Measures(**found)


def of_batch(event: BatchCompleted) -> Measures:
    """What one batch adds to its period."""
    return Measures(
        batches=1,
        seconds=event.seconds,
        tuples_in=event.tuples_in,
        results=sum(query.results for query in event.queries.values()),
        late=sum(stream.late for stream in event.streams.values()),
        undecodable=sum(stream.undecodable for stream in event.streams.values()),
        backlog=event.backlog,
        latency_ms_p50=event.latency_ms_p50,
        latency_ms_p99=event.latency_ms_p99,
        state_tuples=sum(store.tuples for store in event.stores.values()),
        state_bytes=sum(store.bytes for store in event.stores.values()),
        plan_id=event.plan_id,
    )


def of_epoch(event: EpochCompleted) -> Measures:
    """What one epoch adds to the period in which it ended."""
    if event.total_cores is None:
        return Measures()
    return Measures(epochs=1, cores_of_epochs=event.total_cores.measured)
