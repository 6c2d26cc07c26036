from __future__ import annotations

from rest_framework import serializers

from backend.accounts.models import ServiceAccount
from backend.http.documents import Form


class ServiceAccountSerializer(serializers.ModelSerializer[ServiceAccount]):
    id = serializers.IntegerField(source="pk")
    name = serializers.CharField(source="account.username")
    enabled = serializers.BooleanField(source="account.is_active", help_text="whether its tokens count")

    class Meta:
        model = ServiceAccount
        fields = ("id", "name", "enabled", "created_at")
        read_only_fields = fields


class ServiceAccountWriteSerializer(Form):
    name = serializers.RegexField(
        r"\A[a-z][a-z0-9_-]{0,62}\Z",
        error_messages={"invalid": "lower-case letters, digits, _ and -, starting with a letter, at most 63"},
    )


class ServiceAccountEnabledSerializer(Form):
    enabled = serializers.BooleanField()
