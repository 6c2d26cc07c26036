from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from rest_framework import serializers

from backend.accounts.queries import ROLES, is_service
from backend.accounts.quotas import Resource, Use
from backend.http.documents import Document


class IsServiceField(serializers.BooleanField):
    """Whether the account at `source` is a service account; null where that is null."""

    def __init__(self, **options: Any) -> None:
        super().__init__(read_only=True, help_text="whether that is a service account", **options)

    def to_representation(self, value: User) -> bool:  # type: ignore[override]  # the account, not its answer
        return is_service(value)


class UseSerializer(serializers.Serializer[Use]):
    resource = serializers.ChoiceField(choices=[(one.value, one.value) for one in Resource])
    used = serializers.IntegerField()
    limit = serializers.IntegerField(allow_null=True, help_text="null: as many as wanted")


class MeSerializer(Document):
    username = serializers.CharField()
    is_operator = serializers.BooleanField()
    is_service = serializers.BooleanField(help_text="an account of a program, not of a person")
    role = serializers.ChoiceField(choices=[(role, role) for role in ROLES])
    teams = serializers.ListField(child=serializers.CharField())
    quotas = UseSerializer(many=True)


class AccountSerializer(serializers.Serializer[QuerySet[User]]):
    username = serializers.CharField()
    is_service = IsServiceField(source="*")
