"""Fields of answers whose types, and OpenAPI's description, pydantic declares."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.plumbing import ResolvedComponent
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema
from rest_framework import serializers


class DeclaredField(serializers.Field[Any, Any, Any, Any]):
    """A value that is JSON already, of a type that pydantic knows."""

    def __init__(self, kind: Any, **given: Any) -> None:
        super().__init__(**given)
        self.kind = kind

    def to_representation(self, value: Any) -> Any:
        return value


class _Version30(GenerateJsonSchema):
    """OpenAPI 3.0 has neither a null type nor constants; an answer has all its fields."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return True

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        return {**({"allOf": [inner]} if "$ref" in inner else inner), "nullable": True}

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        found = super().literal_schema(schema)
        return {"type": found["type"], "default": found["const"]} if "const" in found else found


class _DeclaredFieldExtension(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]  # has no types
    target_class = DeclaredField

    def map_serializer_field(self, auto_schema: Any, direction: str) -> JsonSchemaValue:
        schema = TypeAdapter(self.target.kind).json_schema(
            ref_template="#/components/schemas/{model}", schema_generator=_Version30, mode="serialization"
        )
        for name, part in schema.pop("$defs", {}).items():
            component = ResolvedComponent(  # type: ignore[no-untyped-call]  # has no types
                name, ResolvedComponent.SCHEMA, part, name
            )
            auto_schema.registry.register_on_missing(component)
        return schema
