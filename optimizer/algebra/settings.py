"""Settings declared once, as the fields of a frozen pydantic dataclass.

Documents, their JSON Schema, forms on pages and options of commands are all made from the fields: the
title and docstring of a field are its label and help. Its JSON Schema may also have

- `x-expected`: what to tell people who wrote something else,
- `x-labels`: by value, what the page calls it,
- `x-when`: by another field, the value with which this one matters,
- `x-lines`: for long text, how many lines its field has.
"""

from __future__ import annotations

import argparse
import re
from abc import ABC
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from optimizer.algebra.identifiers import nearest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class Settings(ABC):  # noqa: B024 - the type checker takes other classes for unhashable
    """The base of such dataclasses."""

    __slots__ = ()

    def document(self) -> dict[str, Any]:
        """All settings as JSON has them."""
        written: dict[str, Any] = adapter(type(self)).dump_python(self, mode="json")
        return written

    def chosen(self) -> dict[str, Any]:
        """The settings that differ from their defaults: what a database keeps."""
        fields = schema(type(self))["properties"]
        return {name: value for name, value in self.document().items() if value != fields[name]["default"]}

    def changes(self, before: Settings) -> str:
        """What differs from other settings of the same kind, for people."""
        old = before.document()
        return ", ".join(f"{name}: {value}" for name, value in self.document().items() if value != old[name])


T = TypeVar("T", bound=Settings)

SETTINGS = ConfigDict(extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)
"""How pydantic reads a dataclass of settings."""

_KINDS = {"boolean": "true or false", "integer": "a whole number", "number": "a number", "string": "text"}
_BOUNDS = (("minimum", "of at least"), ("exclusiveMinimum", "above"), ("maxLength", "of at most"))


class BadSetting(ValueError):
    """A setting that cannot be; `key` is empty for one that is missing."""

    def __init__(self, key: str, found: str, expected: str, hint: str | None = None) -> None:
        super().__init__(f"{key}: {found} instead of {expected}" if key else f"{found} instead of {expected}")
        self.key = key
        self.found = found
        self.expected = expected
        self.hint = hint

    def __reduce__(self) -> tuple[type[BadSetting], tuple[str, str, str, str | None]]:
        return type(self), (self.key, self.found, self.expected, self.hint)


@cache
def adapter(kind: type[Settings]) -> TypeAdapter[Any]:
    """Reads and writes documents of these settings."""
    return TypeAdapter(kind)


@cache
def schema(kind: type[Settings]) -> dict[str, Any]:
    """The JSON Schema of settings: forms and API documents are made of it."""
    made = adapter(kind).json_schema()
    # A field's docstring is known of the class that has it, not of those that inherit the field.
    inherited = {
        name: {"description": field["description"]}
        for base in kind.__mro__[1:]
        if is_dataclass(base)
        for name, field in schema(base)["properties"].items()
    }
    fields = {name: {**inherited.get(name, {}), **field} for name, field in made["properties"].items()}
    return {**made, "properties": fields, "description": made["description"].partition("\n")[0]}


def read(kind: type[T], values: object) -> T:
    """The settings of a document, defaults for the others. Raises `BadSetting`."""
    if not isinstance(values, Mapping):
        raise BadSetting("", "no settings", "an object")
    for key, value in values.items():
        if isinstance(value, str) and "\0" in value:
            raise BadSetting(key, "text with a NUL character", "text without one")
    try:
        settings: T = adapter(kind).validate_python(values)
        return settings
    except ValidationError as error:
        # A setting that is not there may be one of those that are unknown, misspelt.
        first = min(error.errors(), key=lambda one: one["type"] != "unexpected_keyword_argument")
        raise _bad_setting(first, schema(kind)["properties"]) from None


def _bad_setting(error: ErrorDetails, properties: Mapping[str, Any]) -> BadSetting:
    """What is wrong with a setting, in our words.

    A check of its own raises `KEY: FOUND instead of EXPECTED`.
    """
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
    found = error["input"]
    if error["type"] == "finite_number":
        return BadSetting(key, repr(found), "a finite number")
    hint = nearest(found, field["enum"]) if isinstance(found, str) and "enum" in field else None
    return BadSetting(key, repr(found)[:80], field.get("x-expected") or _expected(field), hint)


def _expected(field: Mapping[str, Any]) -> str:
    plain = plain_kind(field)
    if "enum" in plain:
        return f"one of {', '.join(plain['enum'])}"
    kind = _KINDS[plain["type"]]
    if {"minimum", "maximum"} <= plain.keys():
        return f"{kind} from {plain['minimum']} to {plain['maximum']}"
    return " ".join([kind, *(f"{word} {plain[name]}" for name, word in _BOUNDS if name in plain)])


def plain_kind(field: Mapping[str, Any]) -> Mapping[str, Any]:
    """A field's schema without the null that it may also be.

    >>> plain_kind({"anyOf": [{"type": "number"}, {"type": "null"}]})
    {'type': 'number'}
    """
    found: Mapping[str, Any]
    found = next((one for one in field.get("anyOf", ()) if one.get("type") != "null"), field)
    return found


def size(text: str) -> int:
    """A number of bytes, at least 1.

    >>> size("1000"), size("2 MiB")
    (1000, 2097152)
    """
    match = re.fullmatch(r"\s*(\d{1,15})\s*(B|KiB|MiB|GiB|TiB)?\s*", text)
    if match is None or int(match.group(1)) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} instead of a number of bytes such as 1000000 or 64MiB")
    return int(match.group(1)) << (10 * _BINARY.index(match.group(2) or "B"))


_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
