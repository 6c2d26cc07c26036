from __future__ import annotations

from typing import Any

from rest_framework import serializers

from backend.accounts.queries import ROLES
from backend.quotas import Resource


class UseSerializer(serializers.Serializer[Any]):
    resource = serializers.ChoiceField(choices=[(one.value, one.value) for one in Resource])
    used = serializers.IntegerField()
    limit = serializers.IntegerField(allow_null=True, help_text="null: as many as wanted")


class MeSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    is_operator = serializers.BooleanField()
    is_staff = serializers.BooleanField()
    role = serializers.ChoiceField(choices=[(role, role) for role in ROLES])
    teams = serializers.ListField(child=serializers.CharField())
    quotas = UseSerializer(many=True)


class AccountSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
