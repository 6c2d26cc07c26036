from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet
from rest_framework import serializers

from backend.accounts.queries import ROLES
from backend.documents import Document
from backend.quotas import Resource, Use


class UseSerializer(serializers.Serializer[Use]):
    resource = serializers.ChoiceField(choices=[(one.value, one.value) for one in Resource])
    used = serializers.IntegerField()
    limit = serializers.IntegerField(allow_null=True, help_text="null: as many as wanted")


class MeSerializer(Document):
    username = serializers.CharField()
    is_operator = serializers.BooleanField()
    is_staff = serializers.BooleanField()
    role = serializers.ChoiceField(choices=[(role, role) for role in ROLES])
    teams = serializers.ListField(child=serializers.CharField())
    quotas = UseSerializer(many=True)


class AccountSerializer(serializers.Serializer[QuerySet[User]]):
    username = serializers.CharField()
