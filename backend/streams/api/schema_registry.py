"""The schema registry, asked for the columns of a stream to be registered."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.bounded.caller import caller_of
from backend.http.documents import Document, Form, checked
from backend.streams.schema_registry import offer_of
from optimizer.algebra.settings import BadSetting
from optimizer.logical.source import read_settings, settings_schema


class SubjectSerializer(Form):
    topic = serializers.CharField(max_length=249)
    format = serializers.ChoiceField(choices=settings_schema("kafka")["properties"]["format"]["enum"])
    subject = serializers.CharField(
        max_length=255, required=False, allow_blank=True, help_text="TOPIC-value if it is left out."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        try:
            settings = {"topic": attrs["topic"], "format": attrs["format"], "registry": True}
            return {**attrs, "source": read_settings("kafka", settings)}
        except BadSetting as error:
            raise serializers.ValidationError({error.key: str(error)}) from error


class SubjectColumnSerializer(Document):
    name = serializers.CharField()
    found = serializers.CharField(help_text="Its type in the schema.")
    type = serializers.CharField(
        allow_null=True, help_text="The type of a column of it; null if there is no such, or no single one."
    )


class SubjectColumnsSerializer(Document):
    subject = serializers.CharField()
    schema_id = serializers.IntegerField()
    columns = SubjectColumnSerializer(many=True, help_text="In the schema's order.")


class SchemaRegistryColumns(APIView):
    """The newest schema of a subject as columns, to register a stream with."""

    reads = Reads.EVERYBODY

    @extend_schema(request=SubjectSerializer, responses=SubjectColumnsSerializer)
    def post(self, request: AccountRequest) -> Response:
        form = checked(SubjectSerializer(data=request.data)).validated_data
        offer = offer_of(request.user, caller_of(request), form["source"], form.get("subject") or None)
        columns = [
            {"name": one.name, "found": one.found, "type": one.type and one.type.value}
            for one in offer.columns
        ]
        shown = {"subject": offer.place, "schema_id": offer.number, "columns": columns}
        return Response(SubjectColumnsSerializer(shown).data)
