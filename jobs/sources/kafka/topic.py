"""Topics: the settings of a stream that one brings, and what of it a task reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

import pydantic
from pydantic import Field, model_validator

from jobs.sources.connector import Descriptor, Numbered
from jobs.sources.kafka.cluster import SERVERS, configured
from jobs.sources.registry import deployment
from optimizer.algebra.settings import SETTINGS, BadSetting
from optimizer.algebra.types import ColumnType
from optimizer.logical.source import SourceSettings

Format: TypeAlias = Literal["json", "avro", "protobuf"]

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
            json_schema_extra={"x-lines": 4, "x-when": {"format": "avro"}},
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
                "x-when": {"format": "avro"},
            },
        ),
    ] = None
    """Values begin with a zero byte and this number in four bytes; empty for bare Avro."""
    registry: Annotated[
        bool,
        Field(
            title="Schemas of values",
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
        if self.registry and deployment.configured() is None:
            operator = f"an operator to set {deployment.URL}: this deployment has no schema registry"
            raise BadSetting("registry", "true", operator)

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
