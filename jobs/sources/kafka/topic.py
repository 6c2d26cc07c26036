"""Topics: the settings of a stream that one brings, and what of it a task reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

import pydantic
from pydantic import Field, model_validator

from jobs.sources.connector import Away, Descriptor, Numbered
from jobs.sources.formats.format import Format
from jobs.sources.kafka.cluster import SERVERS, configured
from jobs.sources.registry import deployment
from optimizer.algebra.settings import SETTINGS, BadSetting
from optimizer.algebra.types import ColumnType
from optimizer.logical.source import NoOffer, Offer, OfferedColumn, SourceSettings

_COUNT = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly."""


@pydantic.dataclasses.dataclass(frozen=True, slots=True, config=SETTINGS)
class KafkaTopic(SourceSettings):
    """The Kafka topic that brings a stream's tuples: one record is one tuple.

    Raises `ValueError` for a topic that Kafka would refuse, an Avro topic without a record schema, and
    numbers out of range.

    >>> KafkaTopic("orders").format
    'json'
    """

    connector: ClassVar[str] = "kafka"
    title: ClassVar[str] = "a Kafka topic"

    topic: Annotated[
        str,
        Field(
            title="Topic",
            pattern=r"^[A-Za-z0-9._-]{1,249}$",
            max_length=249,
            json_schema_extra={"x-expected": "letters, digits, . _ and -, at most 249"},
        ),
    ]
    """The name of a topic."""
    format: Annotated[
        Format,
        Field(
            title="Values",
            json_schema_extra={"x-labels": {"json": "JSON", "avro": "Avro", "protobuf": "Protobuf"}},
        ),
    ] = "json"
    """What a record's value is."""
    schema: Annotated[
        str | None,
        Field(
            title="Avro schema",
            max_length=100_000,
            json_schema_extra={"x-lines": 4, "x-when": {"format": "avro", "registry": "false"}},
        ),
    ] = None
    """The Avro schema that values were written with, as JSON text."""
    schema_id: Annotated[
        int | None,
        Field(
            title="Number before each value, of a schema registry",
            ge=0,
            le=2**31 - 1,
            json_schema_extra={
                "x-expected": "a schema's number in its registry",
                "x-when": {"format": "avro", "registry": "false"},
            },
        ),
    ] = None
    """Values begin with a zero byte and this number in four bytes; empty for bare Avro."""
    registry: Annotated[
        bool,
        Field(
            title="Their schemas",
            json_schema_extra={
                "x-labels": {"false": "none, or the one above", "true": "in the schema registry"}
            },
        ),
    ] = False
    """Whether each value begins with the number of its own schema, in the deployment's registry."""
    key: Annotated[
        str | None,
        Field(
            title="Keys go to the column",
            max_length=255,
            json_schema_extra={"x-columns": ["string", "binary"]},
        ),
    ] = None
    """The column that a record's key goes to; none if keys mean nothing."""
    record_time: Annotated[
        bool,
        Field(
            title="Event time is",
            json_schema_extra={"x-labels": {"false": "in the value", "true": "the record's timestamp"}},
        ),
    ] = False
    """Whether a tuple's event time is its record's timestamp, or in the value."""
    start: Annotated[
        Literal["earliest", "latest"],
        Field(
            title="Begin with",
            json_schema_extra={
                "x-labels": {"earliest": "everything there is", "latest": "what arrives from now on"}
            },
        ),
    ] = "earliest"
    """Where to begin when the stream is first read."""
    lost: Annotated[
        Literal["fail", "skip"],
        Field(
            title="If the topic lost what comes next",
            json_schema_extra={"x-labels": {"fail": "stop and say so", "skip": "go on behind it"}},
        ),
    ] = "fail"
    """What to do if the topic no longer has what comes next."""
    most_per_batch: Annotated[
        int | None,
        Field(
            title="Most records of a batch", ge=1, le=_COUNT, json_schema_extra={"x-expected": "1 or more"}
        ),
    ] = None
    """About so many records in a batch at most; empty leaves it to the batch's own bound."""

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.topic in (".", ".."):
            raise ValueError(f"topic: {self.topic!r} instead of another name: Kafka refuses this one")
        if self.registry:
            if self.schema is not None or self.schema_id is not None:
                raise ValueError(
                    "schema: a schema instead of none, for a topic whose schemas are in the registry"
                )
        elif self.format == "protobuf":
            raise ValueError("registry: false instead of true, which format protobuf needs")
        elif self.format == "avro":
            _check_schema(self.schema)
        elif self.schema is not None or self.schema_id is not None:
            raise ValueError("schema: an Avro schema instead of none, for a topic whose format is json")
        return self

    @classmethod
    def missing(cls) -> str | None:
        if configured() is not None:
            return None
        return f"an operator to set {SERVERS}: this deployment has no Kafka cluster"

    def look(self, columns: Sequence[tuple[str, ColumnType]]) -> None:
        if not self.registry:
            return
        registry = deployment.configured()
        if registry is None:
            operator = f"an operator to set {deployment.URL}: this deployment has no schema registry"
            raise BadSetting("registry", "true", operator)
        self._look_at_schema(columns, registry)

    def _look_at_schema(
        self, columns: Sequence[tuple[str, ColumnType]], registry: deployment.Registry
    ) -> None:
        # The registry's client is 15 MB of a process that needs none.
        from jobs.sources.registry.client import NotThere
        from jobs.sources.registry.columns import misfits
        from jobs.sources.registry.subject import newest, subject_of
        from jobs.sources.registry.writer import Unusable

        subject = subject_of(self.topic)
        try:
            found = newest(registry, subject, self.format)
        except NotThere:
            return  # A topic, and its schemas, may be made after the stream that reads it.
        except Unusable as error:
            expected = f"a schema of the format {self.format}"
            raise BadSetting(
                "registry", f"a schema of {subject} that cannot be used: {error}", expected
            ) from error
        except Away as error:
            raise BadSetting("registry", f"{error}", f"its answer about {subject}") from error
        inside = [one for one in columns if one[0] != self.key]
        wrong = misfits(found.columns, inside)
        if wrong:
            told = f"schema {found.number} of {subject}, in which {' and '.join(wrong)},"
            raise BadSetting("registry", told, "one that the stream's columns can be read from")

    def offer(self, place: str | None) -> Offer:
        from jobs.sources.registry.client import NotThere
        from jobs.sources.registry.subject import newest, subject_of
        from jobs.sources.registry.writer import Unusable

        if not self.registry:
            return SourceSettings.offer(self, place)
        registry = deployment.configured()
        if registry is None:
            raise NoOffer(
                "no-registry", f"this deployment has no schema registry: {deployment.URL} is not set"
            )
        subject = place or subject_of(self.topic)
        try:
            found = newest(registry, subject, self.format)
        except NotThere as error:
            raise NoOffer("no-schema", f"the schema registry has nothing of {subject}: {error}") from error
        except Unusable as error:
            raise NoOffer(
                "unusable-schema", f"the newest schema of {subject} cannot be used: {error}"
            ) from error
        except Away as error:
            raise NoOffer("registry-away", str(error), later=True) from error
        columns = [OfferedColumn(one.name, one.found, one.kind) for one in found.columns]
        return Offer(subject, found.number, columns)

    @property
    def place(self) -> str:
        return f"the topic {self.topic}"


def _check_schema(schema: str | None) -> None:
    if schema is None:
        raise ValueError("schema: none instead of an Avro schema, or registry: true, which format avro needs")
    try:
        document = json.loads(schema)
    except ValueError as error:
        raise ValueError(f"schema: text that is no JSON ({error}) instead of an Avro schema") from None
    if not isinstance(document, dict) or document.get("type") != "record":
        raise ValueError("schema: an Avro schema of another kind instead of a record's")


@dataclass(frozen=True, slots=True)
class RecordRange(Numbered):
    """A range of a topic partition's records, as far as they were committed.

    Offsets are `first` to `first + rows` (exclusive); those without a record are passed over.
    """

    connector: ClassVar[str] = "kafka"

    stream: str
    topic: str
    partition: int
    first: int
    rows: int
    kind: Literal["records"] = "records"

    @property
    def place(self) -> str:
        return f"{self.topic}: partition {self.partition}, from offset {self.first} on"


@dataclass(frozen=True, slots=True)
class LostRange(Descriptor):
    """Offsets of a partition, `first` to `before` (exclusive), gone before being read."""

    connector: ClassVar[str] = "kafka"

    stream: str
    topic: str
    partition: int
    first: int
    before: int
    rows: int = 0
    kind: Literal["lost"] = "lost"

    @property
    def place(self) -> str:
        return f"{self.topic}: partition {self.partition}, from offset {self.first} on"

    @property
    def letter(self) -> tuple[str, str]:
        """The gap as a dead letter's reason and text."""
        return (
            f"{self.before - self.first} offsets were deleted from the topic before they were read",
            f"{self.topic}, partition {self.partition}, offsets {self.first} to {self.before - 1}",
        )
