"""Sources: where a stream's tuples come from, if a connector brings them.

A stream's document names the connector by a key and has its settings under it. The optimizer checks
them, hands them on to the runtime and knows nothing of what they mean.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from optimizer.algebra.identifiers import nearest
from optimizer.algebra.settings import BadSetting, Settings, read, schema
from optimizer.algebra.types import ColumnType

CONNECTORS: Mapping[str, str] = {
    "kafka": "jobs.sources.kafka.connector",
    "files": "jobs.sources.folder.connector",
    "history": "jobs.sources.history.connector",
}
"""By the key in a stream's document, the connector's module, loaded by its name as plug-ins are."""


@dataclass(frozen=True, slots=True)
class OfferedColumn:
    """A column that a stream over a source could have."""

    name: str
    found: str
    """Its type, as the source calls it."""
    type: ColumnType | None
    """None if it is of no column's type, or of no single one."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What the schema of a source's tuples says of columns."""

    place: str
    """Where the schema is, in the source's words."""
    number: int
    """The schema's."""
    columns: Sequence[OfferedColumn]


class NoOffer(Exception):
    """Why a source tells no columns; `later` is true if it may another time."""

    def __init__(self, code: str, reason: str, *, later: bool = False) -> None:
        super().__init__(reason)
        self.code = code
        self.later = later

    def __reduce__(self) -> tuple[object, ...]:
        # Of an exception's arguments pickle would keep the reason alone.
        return type(self), (self.code, str(self)), {"later": self.later}


class SourceSettings(Settings):
    """What a connector has to know of a stream.

    A frozen pydantic dataclass in the connector's file.

    They are part of plans, so no secret is among them: how to log in is a setting of the deployment. Beside
    what `optimizer.algebra.settings` says, the JSON Schema of a field may have `x-columns`, the types of
    the stream's columns of which it names one; one with `x-lines` may be `FIELD_file` in streams.yaml,
    a file beside it.
    """

    __slots__ = ()
    connector: ClassVar[str]
    """The key in a stream's document."""
    title: ClassVar[str]
    """What the page calls the connector."""
    precedes: ClassVar[tuple[str, ...]] = ()
    """Connectors that may go on where it ends, each with settings of its own; empty if it never ends."""

    @classmethod
    def missing(cls) -> str | None:
        """What has to be done before streams can have this source here; None if they can."""
        return None

    @property
    def takes_tuples(self) -> bool:
        """True if producers send tuples to Millrace all the same."""
        return False

    def parts(self) -> Mapping[str, SourceSettings]:
        """The settings in a stream's document by connector, this one's first."""
        return {self.connector: self}

    def followed_by(self, live: SourceSettings | None) -> SourceSettings:
        """Join this and what goes on where it ends into one source.

        `live` is None for tuples that producers send to Millrace.

        Raises `BadSetting` if the two do not fit.
        """
        raise NotImplementedError(f"{self.connector} has no end")

    def look(self, columns: Sequence[tuple[str, ColumnType]]) -> None:
        """Look at what the source has now, when a stream is registered with it or gets it.

        Raises `BadSetting` if the stream could not be read so.
        """

    def offer(self, place: str | None) -> Offer:
        """Columns for a stream over the source, from a place of its schemas.

        None is the usual place.
        Raises `NoOffer`, and `InputError` for settings of the deployment that cannot be.
        """
        raise NoOffer("no-schema", f"{self.place} has no schema to read columns from")

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the tuples are, for people: `the topic orders`."""


@cache
def settings_of(connector: str) -> type[SourceSettings]:
    """The class of a connector's settings.

    >>> settings_of("kafka").__name__
    'KafkaTopic'
    """
    found: type[SourceSettings] = import_module(CONNECTORS[connector]).CONNECTOR.settings
    return found


def settings_schema(connector: str) -> dict[str, Any]:
    """The JSON Schema of a connector's settings, for the API's document and the form.

    >>> settings_schema("kafka")["required"]
    ['topic']
    """
    return schema(settings_of(connector))


def read_settings(connector: str, values: object) -> SourceSettings:
    """A connector's settings from a document. Raises `BadSetting`.

    >>> read_settings("kafka", {"topic": "orders"}).place
    'the topic orders'
    >>> read_settings("kafka", {"topic": "orders", "start": "now"})
    Traceback (most recent call last):
        ...
    optimizer.algebra.settings.BadSetting: start: 'now' instead of one of earliest, latest
    """
    return read(settings_of(connector), values)


def source_of(parts: Mapping[str, SourceSettings | None]) -> SourceSettings | None:
    """The source of a stream whose document has settings under these connectors.

    Raises `BadSetting`, with the path in the document as its key, for settings of several connectors that do
    not go on from each other.

    >>> source_of({"kafka": read_settings("kafka", {"topic": "orders"}), "files": None}).place
    'the topic orders'
    """
    named = {name: settings for name, settings in parts.items() if settings is not None}
    first = next((settings for settings in named.values() if settings.precedes), None)
    others = [settings for settings in named.values() if settings is not first]
    if len(others) > 1 or (first is not None and any(one.connector not in first.precedes for one in others)):
        raise BadSetting(list(named)[-1], " and ".join(named), "one of them")
    live = others[0] if others else None
    if first is None:
        return live
    try:
        return first.followed_by(live)
    except BadSetting as error:
        raise BadSetting(f"{first.connector}.{error.key}", error.found, error.expected) from None


def check_columns(settings: SourceSettings, columns: Sequence[tuple[str, ColumnType]]) -> None:
    """Raise `BadSetting` if a setting names a missing column or one of another type."""
    for key, field in settings_schema(settings.connector)["properties"].items():
        kinds = field.get("x-columns")
        name = getattr(settings, key)
        if kinds is None or name is None:
            continue
        fitting = [column for column, kind in columns if kind.value in kinds]
        if name not in fitting:
            there = ", ".join(fitting) or "there is none yet"
            expected = f"one of the {' and '.join(kinds)} columns: {there}"
            raise BadSetting(key, str(name), expected, nearest(str(name), fitting))


def document_of(source: SourceSettings) -> dict[str, Any]:
    """A source as a document has it: its settings under its connectors' keys."""
    return {name: settings.document() for name, settings in source.parts().items()}


class _Document:
    """Has pydantic read and write a source as `document_of` does."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        fields = {
            name: core_schema.typed_dict_field(
                core_schema.nullable_schema(handler.generate_schema(settings_of(name))), required=False
            )
            for name in CONNECTORS
        }
        return core_schema.no_info_after_validator_function(
            _only,
            core_schema.typed_dict_schema(fields, extra_behavior="forbid"),
            serialization=core_schema.plain_serializer_function_ser_schema(document_of),
        )


def _only(document: Mapping[str, SourceSettings | None]) -> SourceSettings:
    source = source_of(document)
    if source is None:
        raise ValueError("no connector instead of one")
    return source


Source: TypeAlias = Annotated[SourceSettings, _Document]
"""A source in a document that pydantic reads."""
