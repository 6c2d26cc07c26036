"""Topics: where a stream's tuples come from, if a Kafka cluster keeps them.

The cluster itself, and how to log in to it, are settings of the deployment and never part of a
stream or a plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from optimizer.algebra.types import ColumnType

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """One record of the topic is one tuple.

    Raises `ValueError`, beginning with the field's name, for a topic that Kafka would refuse, an Avro
    topic without a record schema, and numbers out of range.

    >>> KafkaTopic("orders").format
    'json'
    """

    topic: str
    format: Literal["json", "avro"] = "json"
    schema: str | None = None
    """The Avro schema that values were written with, as JSON text."""
    schema_id: int | None = None
    """Values begin with a zero byte and this number in four bytes, as schema registries have it; None
    for bare Avro."""
    key: str | None = None
    """The column that a record's key goes to; None if keys mean nothing."""
    record_time: bool = False
    """True if a tuple's event time is its record's timestamp, false if it is in the value."""
    start: Literal["earliest", "latest"] = "earliest"
    """Where to begin when the stream is first read."""
    lost: Literal["fail", "skip"] = "fail"
    """What to do if the topic no longer has what comes next."""
    most_per_batch: int | None = None
    """About so many records in a batch at most; None leaves it to the batch's own bound."""

    def __post_init__(self) -> None:
        if not _TOPIC.fullmatch(self.topic) or self.topic in (".", ".."):
            raise ValueError(f"topic: {self.topic!r} instead of letters, digits, . _ and -, at most 249")
        if self.format == "avro":
            _check_schema(self.schema)
        elif self.schema is not None or self.schema_id is not None:
            raise ValueError("schema: an Avro schema for a topic whose format is json")
        if self.schema_id is not None and not 0 <= self.schema_id < 2**31:
            raise ValueError(f"schema_id: {self.schema_id} instead of a schema's number in its registry")
        if self.most_per_batch is not None and self.most_per_batch < 1:
            raise ValueError(f"most_per_batch: {self.most_per_batch} instead of 1 or more")


TOPIC_KEYS = (
    "topic",
    "format",
    "schema",
    "schema_file",
    "schema_id",
    "key",
    "record_time",
    "start",
    "lost",
    "most_per_batch",
)
"""What a topic's entry in streams.yaml may have; `schema_file` is a file beside it in place of `schema`."""


def read_topic(
    texts: Mapping[str, str], columns: Sequence[tuple[str, ColumnType]], folder: Path
) -> KafkaTopic:
    """A topic from an entry's texts, whose keys are among `TOPIC_KEYS`.

    Raises `ValueError`, `KEY: FOUND instead of EXPECTED`.

    >>> read_topic({"topic": "orders", "start": "latest"}, (), Path()).start
    'latest'
    """
    schema = texts.get("schema")
    if "schema_file" in texts:
        try:
            schema = (folder / texts["schema_file"]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"schema_file: {error} instead of a readable file") from None
    key = _choice(texts, "key", [n for n, t in columns if t in (ColumnType.STRING, ColumnType.BINARY)])
    return KafkaTopic(
        topic=texts["topic"],
        format="avro" if _choice(texts, "format", ("json", "avro")) == "avro" else "json",
        schema=schema,
        schema_id=_number(texts, "schema_id"),
        key=key,
        record_time=_choice(texts, "record_time", ("true", "false")) == "true",
        start="latest" if _choice(texts, "start", ("earliest", "latest")) == "latest" else "earliest",
        lost="skip" if _choice(texts, "lost", ("fail", "skip")) == "skip" else "fail",
        most_per_batch=_number(texts, "most_per_batch"),
    )


def _choice(texts: Mapping[str, str], key: str, choices: Sequence[str]) -> str | None:
    text = texts.get(key)
    if text is not None and text not in choices:
        raise ValueError(f"{key}: {text} instead of one of {', '.join(choices) or 'none: no column fits'}")
    return text


def _number(texts: Mapping[str, str], key: str) -> int | None:
    text = texts.get(key)
    if text is not None and not text.isdecimal():
        raise ValueError(f"{key}: {text} instead of a whole number")
    return None if text is None else int(text)


def _check_schema(schema: str | None) -> None:
    if schema is None:
        raise ValueError("schema: none instead of an Avro schema, which format avro needs")
    try:
        document = json.loads(schema)
    except ValueError as error:
        raise ValueError(f"schema: text that is no JSON ({error}) instead of an Avro schema") from None
    if not isinstance(document, dict) or document.get("type") != "record":
        raise ValueError("schema: an Avro schema of another kind instead of a record's")
