"""Sources in the API: a connector's settings under its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from rest_framework import serializers

from optimizer.algebra.settings import BadSetting
from optimizer.logical.source import (
    CONNECTORS,
    SourceSettings,
    read_settings,
    settings_of,
    settings_schema,
)


class SourceField(serializers.Field[Any, Any, Any, Any]):
    """The settings of one connector, null unless it brings the stream's tuples."""

    def __init__(self, connector: str) -> None:
        super().__init__(allow_null=True, default=None)
        self.connector = connector

    def get_attribute(self, instance: Any) -> Any:
        return instance

    def to_internal_value(self, data: object) -> SourceSettings:
        given = data
        if isinstance(data, Mapping):
            given = {key: value.strip() if isinstance(value, str) else value for key, value in data.items()}
        try:
            return read_settings(self.connector, given)
        except BadSetting as error:
            text = f"{error.found} instead of {error.expected}"
            raise serializers.ValidationError({error.key: text} if error.key else text) from None

    def to_representation(self, value: Any) -> dict[str, Any] | None:
        source = getattr(value, "source", None)
        if source is None or source.connector != self.connector:
            return None
        return read_settings(self.connector, source.settings).document()


class WithSources(serializers.Serializer[Any]):
    """A stream's document, with a field for each connector."""

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **{name: SourceField(name) for name in CONNECTORS}}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        named = [name for name in CONNECTORS if attrs.get(name) is not None]
        if len(named) > 1:
            text = f"{' and '.join(named)} instead of one of them"
            raise serializers.ValidationError({named[-1]: text})
        return attrs


class ConnectorSerializer(serializers.Serializer[Any]):
    """A connector, as the form of a stream shows it."""

    name = serializers.CharField(help_text="The key of a stream's document that has its settings.")
    title = serializers.CharField()
    missing = serializers.CharField(
        allow_null=True, help_text="What an operator has to do first; null if streams can have it."
    )
    settings = serializers.DictField(help_text="The JSON Schema of its settings.")


def connectors() -> list[dict[str, Any]]:
    """Every connector that a stream's document may name."""
    kinds = [settings_of(name) for name in CONNECTORS]
    return [
        {
            "name": kind.connector,
            "title": kind.title,
            "missing": kind.missing(),
            "settings": settings_schema(kind.connector),
        }
        for kind in kinds
    ]


class SourceFieldExtension(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The API's description has the schema of the settings, named as their class."""

    target_class = "backend.streams.api.sources.SourceField"

    def get_name(self) -> str:
        return settings_of(self.target.connector).__name__

    def map_serializer_field(self, auto_schema: object, direction: str) -> dict[str, Any]:
        schema = settings_schema(self.target.connector)
        fields = {name: _nullable(field) for name, field in schema["properties"].items()}
        return {**schema, "properties": fields}


def _nullable(field: dict[str, Any]) -> dict[str, Any]:
    """In OpenAPI 3.0 null is no type of its own."""
    kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return field
    return {**{key: value for key, value in field.items() if key != "anyOf"}, **kinds[0], "nullable": True}
