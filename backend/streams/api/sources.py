"""Sources in the API: a connector's settings under its name."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from backend.http.settings_field import SettingsField
from backend.streams.queries import source_of
from optimizer.logical.source import CONNECTORS, SourceSettings, settings_of, settings_schema


class SourceField(SettingsField):
    """The settings of one connector, null unless it brings the stream's tuples."""

    def __init__(self, connector: str) -> None:
        super().__init__(settings_of(connector), allow_null=True, default=None)
        self.connector = connector

    def get_attribute(self, instance: Any) -> SourceSettings | None:
        source = source_of(instance)
        return None if source is None else source.parts().get(self.connector)


class WithSources(serializers.Serializer[Any]):
    """A stream's document, with a field for each connector."""

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **{name: SourceField(name) for name in CONNECTORS}}


class ConnectorSerializer(serializers.Serializer[Any]):
    """A connector, as the form of a stream shows it."""

    name = serializers.CharField(help_text="The key of a stream's document that has its settings.")
    title = serializers.CharField()
    missing = serializers.CharField(
        allow_null=True, help_text="What an operator has to do first; null if streams can have it."
    )
    precedes = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="Connectors that may go on where it ends, as what is sent may; null without an end.",
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
            "precedes": list(kind.precedes) or None,
            "settings": settings_schema(kind.connector),
        }
        for kind in kinds
    ]
