from __future__ import annotations

from typing import Any

from rest_framework import serializers


class MeSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    is_operator = serializers.BooleanField()
    is_staff = serializers.BooleanField()
