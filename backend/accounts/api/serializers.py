from __future__ import annotations

from typing import Any

from rest_framework import serializers

from backend.accounts.queries import ROLES


class MeSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    is_operator = serializers.BooleanField()
    is_staff = serializers.BooleanField()
    role = serializers.ChoiceField(choices=[(role, role) for role in ROLES])
    teams = serializers.ListField(child=serializers.CharField())


class AccountSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
