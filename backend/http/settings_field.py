"""Settings in the API: a dataclass of them as a field of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from rest_framework import serializers

from optimizer.algebra.settings import BadSetting, Settings, plain_kind, read, schema


class SettingsField(serializers.Field[Any, Any, Any, Any]):
    """All settings of a kind; those that a request leaves out have their defaults."""

    def __init__(self, kind: type[Settings], **options: Any) -> None:
        super().__init__(**options)
        self.kind = kind

    def to_internal_value(self, data: object) -> Settings:
        given = data
        if isinstance(data, Mapping):
            given = {key: value.strip() if isinstance(value, str) else value for key, value in data.items()}
        try:
            return read(self.kind, given)
        except BadSetting as error:
            text = f"{error.found} instead of {error.expected}"
            raise serializers.ValidationError({error.key: text} if error.key else text) from None

    def to_representation(self, value: Any) -> dict[str, Any] | None:
        return None if value is None else value.document()


class SettingsFieldExtension(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The API's description has the schema of the settings, named as their class."""

    target_class = "backend.http.settings_field.SettingsField"
    match_subclasses = True

    def get_name(self) -> str:
        return str(self.target.kind.__name__)

    def map_serializer_field(self, auto_schema: object, direction: str) -> dict[str, Any]:
        described = schema(self.target.kind)
        fields = {name: _in_openapi(field) for name, field in described["properties"].items()}
        return {**described, "properties": fields}


def _in_openapi(field: dict[str, Any]) -> dict[str, Any]:
    """A field's JSON Schema in OpenAPI 3.0.

    There null is no type of its own, and a bound is marked as exclusive.
    """
    described = {key: value for key, value in field.items() if key != "anyOf"} | dict(plain_kind(field))
    if "anyOf" in field:
        described["nullable"] = True
    if "exclusiveMinimum" in described:
        described |= {"minimum": described["exclusiveMinimum"], "exclusiveMinimum": True}
    return described
