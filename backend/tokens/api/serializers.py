from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from rest_framework import serializers

from backend.documents import Form
from backend.tokens.models import Token


class TokenSerializer(serializers.ModelSerializer[Token]):
    stream = serializers.CharField(source="stream.name", allow_null=True, default=None)

    class Meta:
        model = Token
        fields: tuple[str, ...] = ("id", "name", "stream", "created_at", "expires_at", "used_at")
        read_only_fields = fields


class NewTokenSerializer(TokenSerializer):
    secret = serializers.CharField(help_text="Shown this once.")

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "secret")
        read_only_fields = fields


class TokenWriteSerializer(Form):
    name = serializers.CharField(max_length=100)
    stream = serializers.RegexField(
        r"\A[a-z_][a-z0-9_]{0,62}\Z", allow_null=True, default=None, help_text="ingestion into it only"
    )
    expires_at = serializers.DateTimeField(allow_null=True, default=None)

    def validate_expires_at(self, value: datetime | None) -> datetime | None:
        if value is not None and value <= timezone.now():
            raise serializers.ValidationError("expected a time in the future")
        return value
