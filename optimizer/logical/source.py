"""Sources: where a stream's tuples come from, if a connector brings them.

A stream's document names the connector by a key and has its settings under it. The optimizer checks
them, hands them on to the runtime and knows nothing of what they mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

from pydantic import ConfigDict, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema

from optimizer.algebra.identifiers import nearest
from optimizer.algebra.types import ColumnType

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

CONNECTORS: Mapping[str, str] = {"kafka": "jobs.sources.kafka.connector"}
"""By the key in a stream's document, the connector's module, loaded by its name as plug-ins are."""

SETTINGS = ConfigDict(extra="forbid", use_attribute_docstrings=True)
"""How pydantic reads the dataclass of a connector's settings."""

_KINDS = {"boolean": "true or false", "integer": "a whole number", "number": "a number", "string": "text"}


class SourceSettings(ABC):
    """What a connector has to know of a stream.

    A frozen pydantic dataclass in the connector's file.

    They are part of plans, so no secret is among them: how to log in is a setting of the deployment. The
    title and docstring of a field are its label and help on the page. Its JSON Schema may also have

    - `x-expected`: what to tell people who wrote something else,
    - `x-columns`: the types of the stream's columns of which it names one,
    - `x-labels`: by value, what the page calls it,
    - `x-when`: by another field, the value with which this one matters,
    - `x-lines`: for long text; streams.yaml may have `FIELD_file` instead, a file beside it.
    """

    __slots__ = ()
    connector: ClassVar[str]
    """The key in a stream's document."""
    title: ClassVar[str]
    """What the page calls the connector."""

    @classmethod
    def missing(cls) -> str | None:
        """What has to be done before streams can have this source here; None if they can."""
        return None

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the tuples are, for people: `the topic orders`."""

    def document(self) -> dict[str, Any]:
        """All settings as JSON has them."""
        written: dict[str, Any] = _adapter(type(self)).dump_python(self, mode="json")
        return written


class BadSetting(ValueError):
    """A setting that cannot be; `key` is empty for one that is missing."""

    def __init__(self, key: str, found: str, expected: str, hint: str | None = None) -> None:
        super().__init__(f"{key}: {found} instead of {expected}" if key else f"{found} instead of {expected}")
        self.key = key
        self.found = found
        self.expected = expected
        self.hint = hint


@cache
def _adapter(settings: type[SourceSettings]) -> TypeAdapter[SourceSettings]:
    return TypeAdapter(settings)


@cache
def settings_of(connector: str) -> type[SourceSettings]:
    """The class of a connector's settings.

    >>> settings_of("kafka").__name__
    'KafkaTopic'
    """
    found: type[SourceSettings] = import_module(CONNECTORS[connector]).CONNECTOR.settings
    return found


@cache
def settings_schema(connector: str) -> dict[str, Any]:
    """The JSON Schema of a connector's settings.

    The API's document and the page's form are made from it.

    >>> settings_schema("kafka")["required"]
    ['topic']
    """
    schema = _adapter(settings_of(connector)).json_schema()
    return {**schema, "description": schema["description"].partition("\n")[0]}


def read_settings(connector: str, values: object) -> SourceSettings:
    """A connector's settings from a document. Raises `BadSetting`.

    >>> read_settings("kafka", {"topic": "orders"}).place
    'the topic orders'
    >>> read_settings("kafka", {"topic": "orders", "start": "now"})
    Traceback (most recent call last):
        ...
    optimizer.logical.source.BadSetting: start: 'now' instead of one of earliest, latest
    """
    if not isinstance(values, Mapping):
        raise BadSetting("", "no settings", "an object")
    for key, value in values.items():
        if isinstance(value, str) and "\0" in value:
            raise BadSetting(key, "text with a NUL character", "text without one")
    try:
        return _adapter(settings_of(connector)).validate_python(values)
    except ValidationError as error:
        # A setting that is not there may be one of those that are unknown, misspelt.
        first = min(error.errors(), key=lambda one: one["type"] != "unexpected_keyword_argument")
        raise _bad_setting(first, settings_schema(connector)) from None


def check_columns(settings: SourceSettings, columns: Sequence[tuple[str, ColumnType]]) -> None:
    """Raise `BadSetting` if a setting names a column that does not fit.

    The stream lacks it, or it is of another type.
    """
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


def _bad_setting(error: ErrorDetails, schema: Mapping[str, Any]) -> BadSetting:
    """What is wrong with a setting, in our words.

    A connector's check raises `KEY: FOUND instead of EXPECTED`.
    """
    properties = schema["properties"]
    if error["type"] == "value_error":
        key, _, rest = str(error["ctx"]["error"]).partition(": ")
        found, _, expected = rest.partition(" instead of ")
        return BadSetting(key, found, expected)
    key = str(error["loc"][0])
    field = properties.get(key)
    if field is None:
        return BadSetting(key, f"setting {key}", f"one of {', '.join(properties)}", nearest(key, properties))
    if error["type"] == "missing":
        told = field["description"]
        return BadSetting("", f"no {key}", f"{key}: {told[0].lower()}{told[1:].rstrip('.')}")
    return BadSetting(key, repr(error["input"])[:80], field.get("x-expected") or _expected(field))


def _expected(field: Mapping[str, Any]) -> str:
    plain = next((one for one in field.get("anyOf", ()) if one.get("type") != "null"), field)
    if "enum" in plain:
        return f"one of {', '.join(plain['enum'])}"
    bounds = [
        f"{word} {plain[name]}"
        for name, word in (("minimum", "from"), ("maximum", "to"), ("maxLength", "of at most"))
        if name in plain
    ]
    return " ".join([_KINDS[plain["type"]], *bounds])


def document_of(source: SourceSettings) -> dict[str, Any]:
    """A source as a document has it: its settings under its connector's key."""
    return {source.connector: source.document()}


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
    named = [settings for settings in document.values() if settings is not None]
    if len(named) != 1:
        raise ValueError(f"{len(named)} connectors instead of one")
    return named[0]


Source: TypeAlias = Annotated[SourceSettings, _Document]
"""A source in a document that pydantic reads."""
