"""Every metric of a running topology, declared once.

Declared are the name, the unit, per what it is counted, how it adds up, and help.

A metric is a field of the class of what it is measured per (stream, store, edge, query), annotated with its
`Metric`. `*Counts` are what tasks count: their reports are maps that `jobs.metrics.tally` adds up by the
declared rules, and manifests keep the sums. `*Metrics` are those of a batch's event, with what the driver
adds. From here follow OpenAPI's schemas, the page's types and parsers (`python -m tests.generated`) and what
Prometheus is told.

A new metric takes a default that changes nothing when it is added: reports, events and manifests
without it stay readable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from operator import add
from typing import Annotated, Any, ClassVar, get_type_hints

from pydantic import ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


def newest(first: int | None, second: int | None) -> int | None:
    """The larger one, None standing for nothing.

    >>> newest(None, 3), newest(5, 3)
    (3, 5)
    """
    return second if first is None else first if second is None else max(first, second)


@dataclass(frozen=True, slots=True)
class Metric:
    """What a metric's number means; its field has the name and the thing measured."""

    unit: str
    help: str
    """One line, for Prometheus, OpenAPI and the page's types."""
    adds: Callable[[Any, Any], Any] | None = None
    """Makes one value of two tasks' or two batches'; None if only the newest batch's says something."""
    prometheus: str | None = None
    """The name after `millrace_`; milliseconds and moments are told in seconds. None to leave it out."""
    labels: tuple[tuple[str, str], ...] = ()
    """For Prometheus, beside the topology's and that of what it is measured per."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "description": f"{self.help} Unit: {self.unit}."}


@cache
def metrics_of(kind: type) -> dict[str, Metric]:
    """The metrics that a class declares or inherits, by name.

    >>> metrics_of(EdgeMetrics)["bytes"].unit
    'bytes'
    """
    return {
        name: metric
        for name, hint in get_type_hints(kind, include_extras=True).items()
        for metric in getattr(hint, "__metadata__", ())
        if isinstance(metric, Metric)
    }


def values(measured: object, kind: type) -> dict[str, Any]:
    """The metrics that `kind` declares, as keywords for a class that has them too.

    >>> values(StorePoint(inserted=3, tuples=5, bytes=640), StoreCounts)
    {'inserted': 3, 'evicted': 0, 'probes': 0, 'matches': 0}
    """
    return {name: getattr(measured, name) for name in metrics_of(kind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Whatever is measured; a newer release's metrics are passed over."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCounts(Measured):
    accepted: Annotated[int, Metric("tuples", "Accepted tuples of the last batch.", add)] = 0
    late: Annotated[
        int, Metric("tuples", "Late tuples of the last batch.", add, "stream_batch_late_tuples")
    ] = 0
    undecodable: Annotated[
        int,
        Metric(
            "tuples",
            "Unreadable tuples of the last batch, with those that were set aside.",
            add,
            "stream_batch_undecodable_tuples",
        ),
    ] = 0

    @property
    def read(self) -> int:
        """Tuples that came, whatever became of them."""
        return self.accepted + self.late + self.undecodable


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamProgress(StreamCounts):
    """How far a stream is; events tell it as a moment."""

    max_event_time_us: Annotated[
        int | None, Metric("microseconds since 1970", "The newest event time.", newest)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamMetrics(StreamCounts):
    watermark: Annotated[
        datetime | None,
        Metric(
            "UTC",
            "The stream's watermark; null before its first tuple.",
            None,
            "stream_watermark_timestamp_seconds",
        ),
    ]
    """At the end of this batch; None before the first tuple."""
    max_event_time: Annotated[datetime | None, Metric("UTC", "The newest event time so far.")]
    position: str | None = None
    """The last entry of the Redis stream that this batch or one before it has read, 0-0 before the first;
    None if its tuples come from elsewhere."""
    set_aside: Annotated[int, Metric("tuples", "Tuples that the batch failed with, see BatchFailed.")] = 0
    history_files_read: Annotated[
        int | None,
        Metric("files", "Files of its history that were read; null once it is live, or without one."),
    ] = None
    history_files: Annotated[
        int | None,
        Metric("files", "Files that its history has so far; null once it is live, or without one."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCounts(Measured):
    inserted: Annotated[int, Metric("tuples", "Tuples stored in the last batch.", add)] = 0
    evicted: Annotated[int, Metric("tuples", "Tuples evicted in the last batch.", add)] = 0
    probes: Annotated[
        int, Metric("tuples", "Tuples that came to probe in the last batch, copies counted.", add)
    ] = 0
    matches: Annotated[int, Metric("tuples", "Matches that probes found in the last batch.", add)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePoint(StoreCounts):
    """A store in one batch in single numbers, for sparklines."""

    tuples: Annotated[int, Metric("tuples", "Tuples that a store holds.", None, "store_tuples")]
    bytes: Annotated[int, Metric("bytes", "Bytes that a store holds.", None, "store_bytes")]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreMetrics(StorePoint):
    per_task: Annotated[list[int], Metric("tuples", "Tuples held by each task.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeMetrics(Measured):
    """What tasks received along an edge, in the edge's own columns."""

    tuples: Annotated[int, Metric("tuples", "Tuples sent in the last batch, before copies.", add)] = 0
    messages: Annotated[int, Metric("messages", "Messages sent in the last batch.", add)] = 0
    bytes: Annotated[
        int,
        Metric("bytes", "Bytes of the values sent in the last batch; a text counts with its length.", add),
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementCounts(Measured):
    """Of a store, and of a rule that receives tuples and stores none."""

    cpu_us: Annotated[
        int, Metric("microseconds", "Processor time that tasks took for it in the last batch.", add)
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCounts(Measured):
    results: Annotated[int, Metric("results", "Results of the last batch.", add, "query_batch_results")] = 0
    failed_calls: Annotated[
        int,
        Metric(
            "rows",
            "Rows of the last batch for which a function or an expression raised: they count as NULL.",
            add,
            "query_batch_failed_calls",
        ),
    ] = 0


_LATENCY = "From a tuple's arrival to its results, of the last minute's results."


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMetrics(QueryCounts):
    latency_ms_p50: Annotated[
        float | None, Metric("ms", _LATENCY, None, "query_latency_seconds", (("quantile", "0.5"),))
    ]
    """None without results in the last minute, like the next one."""
    latency_ms_p99: Annotated[
        float | None, Metric("ms", _LATENCY, None, "query_latency_seconds", (("quantile", "0.99"),))
    ]
    complete_since: Annotated[
        datetime | None, Metric("UTC", "Since when results cover the whole window; null while it fills.")
    ]
    missing_before: Annotated[
        datetime | None,
        Metric("UTC", "Results of this batch with an older newest tuple may miss; null if all are there."),
    ] = None
    joining: tuple[str, ...] = ()
    """Streams of it that came to the running topology and of which older tuples are still being read."""
