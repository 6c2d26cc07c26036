"""Settings of a topology's job, which its process is launched with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import pydantic
from pydantic import Field

from optimizer.algebra.settings import SETTINGS, Settings

SERVERS: Mapping[str, str] = {
    "results_topic": "MILLRACE_KAFKA_SERVERS",
    "results_table": "MILLRACE_POSTGRES_RESULTS_URL",
    "results_iceberg": "MILLRACE_ICEBERG_CATALOG",
    "results_webhook": "MILLRACE_RESULTS_WEBHOOK_SECRET",
}
"""By setting, the variable of the environment without which such results cannot go: it may be secret."""

HIDDEN = ("results_webhook",)
"""Settings that are told in part only: whoever knows the address of a webhook may often post to it."""


def _pattern(title: str, example: str) -> object:
    return Field(
        title=title,
        max_length=200,
        pattern=r"^([^{}]*\{query\}[^{}]*)?$",
        json_schema_extra={"x-expected": f"a name with {{query}} once, such as {example}, or nothing"},
    )


_Topic: TypeAlias = Annotated[str, _pattern("Results also go to topics", "millrace.{query}")]
_Table: TypeAlias = Annotated[str, _pattern("Results also go to tables of PostgreSQL", "public.{query}")]
_Iceberg: TypeAlias = Annotated[str, _pattern("Results also go to Iceberg tables", "millrace.{query}")]


def _queries(where: str) -> object:
    return Field(
        title=f"Queries whose results go to {where}",
        max_length=1000,
        pattern=r"[^\s,]",
        json_schema_extra={"x-expected": "names of queries, comma-separated, * in them for anything"},
    )


_Webhook: TypeAlias = Annotated[
    str,
    Field(
        title="Results are also posted to",
        max_length=500,
        pattern=r"^(https?://\S+)?$",
        json_schema_extra={"x-expected": "an address such as https://example.org/hook, or nothing"},
    ),
]
_WebhookPer: TypeAlias = Annotated[
    Literal["batch", "result"],
    Field(
        title="A request carries",
        json_schema_extra={"x-labels": {"batch": "a batch's results", "result": "one result"}},
    ),
]
_TopicQueries: TypeAlias = Annotated[str, _queries("topics")]
_TableQueries: TypeAlias = Annotated[str, _queries("tables of PostgreSQL")]
_IcebergQueries: TypeAlias = Annotated[str, _queries("Iceberg tables")]
_WebhookQueries: TypeAlias = Annotated[str, _queries("that address")]


@pydantic.dataclasses.dataclass(frozen=True, slots=True, config=SETTINGS)
class JobSettings(Settings):
    """How a running job works; the same options as of `python -m jobs run`.

    >>> JobSettings(trigger_ms=200).arguments[:2]
    ('--trigger-ms', '200')
    """

    trigger_ms: Annotated[int, Field(title="Least time between batches, ms", ge=10, le=600_000)] = 500
    """A batch begins so long after the one before it; less means results sooner and more work per tuple."""
    batch_rows: Annotated[int, Field(title="Tuples of a batch at most", ge=100, le=100_000_000)] = 200_000
    """Tuples of all streams together that a batch has at most; it bounds a batch's memory and time."""
    idle_timeout_s: Annotated[
        float, Field(title="A silent stream stops holding back the watermark after, s", gt=0, le=31_536_000)
    ] = 30.0
    """Seconds without a tuple after which the other streams' time goes on without a stream."""
    epoch_batches: Annotated[int, Field(title="Batches of an epoch", ge=2, le=100_000)] = 16
    """Statistics are evaluated once for so many batches, and the plan may change then."""
    results_topic: _Topic = ""
    """The topics' names in the deployment's Kafka cluster; {query} is the query's name."""
    results_topic_queries: _TopicQueries = "*"
    """Names of queries, comma-separated, * in them for anything; the results of others go to no topic."""
    results_table: _Table = ""
    """SCHEMA.NAME of tables in the deployment's database for results; {query} is the query's name."""
    results_table_queries: _TableQueries = "*"
    """Names of queries, comma-separated, * in them for anything; the results of others go to no table."""
    results_iceberg: _Iceberg = ""
    """NAMESPACE.NAME of tables in the deployment's Iceberg catalog; {query} is the query's name."""
    results_iceberg_queries: _IcebergQueries = "*"
    """Names of queries, comma-separated, * in them for anything; the results of others go to no table."""
    results_webhook: _Webhook = ""
    """The address that signed requests with results go to; the deployment's rule of addresses holds."""
    results_webhook_per: _WebhookPer = "batch"
    """A batch's results, as many as fit, or a single one: what alerts on results are made of."""
    results_webhook_queries: _WebhookQueries = "*"
    """Names of queries, comma-separated, * in them for anything; the results of others are not posted."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the command line of the job says of them."""
        sinks = (
            ("--results-topic", self.results_topic, self.results_topic_queries),
            ("--results-table", self.results_table, self.results_table_queries),
            ("--results-iceberg", self.results_iceberg, self.results_iceberg_queries),
            ("--results-webhook", self.results_webhook, self.results_webhook_queries),
        )
        return (
            *("--trigger-ms", str(self.trigger_ms), "--batch-rows", str(self.batch_rows)),
            *("--idle-timeout", f"{self.idle_timeout_s} seconds", "--epoch-batches", str(self.epoch_batches)),
            *(
                word
                for option, pattern, queries in sinks
                for name, value, usual in ((option, pattern, ""), (f"{option}-queries", queries, "*"))
                if value != usual
                for word in (name, value)
            ),
            # It goes with the address: where the page says one, the environment's choice is not meant.
            *(
                ("--results-webhook-per", self.results_webhook_per)
                if self.results_webhook or self.results_webhook_per != "batch"
                else ()
            ),
        )
