"""Teams, and whether what they have is private."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.actions import set_private
from backend.accounts.models import Team
from backend.accounts.queries import is_service, role_of
from backend.accounts.reading import Reads, is_private, teams_seen
from backend.accounts.requests import AccountRequest
from backend.http.documents import Form, checked


class TeamSerializer(serializers.ModelSerializer[Team]):
    private = serializers.BooleanField(allow_null=True, help_text="null: as the installation is")
    is_private = serializers.SerializerMethodField(help_text="whether only members and admins read")
    members = serializers.SerializerMethodField(help_text="persons, by name")
    service_accounts = serializers.SerializerMethodField(help_text="by name; members, too")
    can_edit = serializers.SerializerMethodField()

    class Meta:
        model = Team
        fields = ("id", "name", "private", "is_private", "members", "service_accounts", "can_edit")
        read_only_fields = fields

    def get_is_private(self, team: Team) -> bool:
        return is_private(team)

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_members(self, team: Team) -> list[str]:
        return sorted(one.get_username() for one in team.members.all() if not is_service(one))

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_service_accounts(self, team: Team) -> list[str]:
        return sorted(one.get_username() for one in team.members.all() if is_service(one))

    def get_can_edit(self, team: Team) -> bool:
        account: User = self.context["account"]
        return role_of(account) == "admin"


class TeamPrivacySerializer(Form):
    private = serializers.BooleanField(allow_null=True, help_text="null: as the installation is")


class TeamList(APIView):
    """One's own teams; admins see all."""

    reads = Reads.OWN

    @extend_schema(operation_id="teams_list", responses=TeamSerializer(many=True))
    def get(self, request: AccountRequest) -> Response:
        found = teams_seen(request.user)
        return Response(TeamSerializer(found, many=True, context={"account": request.user}).data)


class TeamDetail(APIView):
    """Who reads what a team has, which admins say."""

    reads = Reads.OWN

    @extend_schema(request=TeamPrivacySerializer, responses=TeamSerializer)
    def patch(self, request: AccountRequest, pk: int) -> Response:
        team = get_object_or_404(teams_seen(request.user), pk=pk)
        form = checked(TeamPrivacySerializer(data=request.data))
        set_private(request.user, team, form.validated_data["private"])
        return Response(TeamSerializer(team, context={"account": request.user}).data)
