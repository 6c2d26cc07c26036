"""Teams: their members and readers, and what their queries may cost."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts import teams
from backend.accounts.models import Team
from backend.accounts.queries import is_service, refuse_non_admins, role_of
from backend.accounts.reading import Reads, is_private, teams_seen
from backend.accounts.requests import AccountRequest
from backend.http.documents import Form, checked

_NAME = r"\A[^\W_][\w .&+-]{0,62}\Z"
_NAME_ERROR = "letters, digits, spaces and _ . & + -, starting with a letter or digit, at most 63"


class TeamSerializer(serializers.ModelSerializer[Team]):
    private = serializers.BooleanField(allow_null=True, help_text="null: as the installation is")
    is_private = serializers.SerializerMethodField(help_text="whether only members and admins read")
    members = serializers.SerializerMethodField(help_text="persons, by name")
    service_accounts = serializers.SerializerMethodField(help_text="by name; members, too")
    can_edit = serializers.SerializerMethodField()

    class Meta:
        model = Team
        fields = (
            *("id", "name", "private", "is_private", "members", "service_accounts", "can_edit"),
            *teams.LIMITS,
        )
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


def _limit(help_text: str) -> serializers.FloatField:
    text = f"{help_text}; null: the installation's limit"
    return serializers.FloatField(
        min_value=1.0, max_value=1e15, allow_null=True, required=False, help_text=text
    )


class TeamWriteSerializer(Form):
    name = serializers.RegexField(_NAME, error_messages={"invalid": _NAME_ERROR})


class TeamChangeSerializer(Form):
    """What is left out stays."""

    name = serializers.RegexField(_NAME, required=False, error_messages={"invalid": _NAME_ERROR})
    private = serializers.BooleanField(
        allow_null=True, required=False, help_text="null: as the installation is"
    )
    max_state_tuples = _limit("tuples that one query may keep, as estimated")
    max_tuple_rate = _limit("tuples that a step of it may make per second, as estimated")
    max_state_bytes = _limit("bytes that it may keep, as observed")
    max_result_rate = _limit("results that it may give per second, as observed")


class TeamMembersSerializer(Form):
    add = serializers.ListField(child=serializers.CharField(max_length=150), max_length=1000, default=list)
    remove = serializers.ListField(child=serializers.CharField(max_length=150), max_length=1000, default=list)


class TeamList(APIView):
    """One's own teams; admins see all."""

    reads = Reads.OWN

    @extend_schema(operation_id="teams_list", responses=TeamSerializer(many=True))
    def get(self, request: AccountRequest) -> Response:
        found = teams_seen(request.user)
        return Response(TeamSerializer(found, many=True, context={"account": request.user}).data)

    @extend_schema(request=TeamWriteSerializer, responses={201: TeamSerializer})
    def post(self, request: AccountRequest) -> Response:
        # Whether a name is taken is nobody else's to learn, either.
        refuse_non_admins(request.user, "make teams")
        form = checked(TeamWriteSerializer(data=request.data))
        team = teams.create_team(request.user, form.validated_data["name"])
        return Response(TeamSerializer(team, context={"account": request.user}).data, status=201)


class TeamDetail(APIView):
    """What admins say of a team."""

    reads = Reads.OWN

    @extend_schema(request=TeamChangeSerializer, responses=TeamSerializer)
    def patch(self, request: AccountRequest, pk: int) -> Response:
        team = _team(request.user, pk)
        form = checked(TeamChangeSerializer(data=request.data))
        teams.change_team(request.user, team, form.validated_data)
        return Response(TeamSerializer(team, context={"account": request.user}).data)

    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, pk: int) -> Response:
        teams.delete_team(request.user, _team(request.user, pk))
        return Response(status=204)


class TeamMembers(APIView):
    """Which persons are in a team, which admins say."""

    reads = Reads.OWN
    needs_session = True

    @extend_schema(request=TeamMembersSerializer, responses=TeamSerializer)
    def patch(self, request: AccountRequest, pk: int) -> Response:
        team = _team(request.user, pk)
        form = checked(TeamMembersSerializer(data=request.data)).validated_data
        teams.change_members(request.user, team, add=form["add"], remove=form["remove"])
        return Response(TeamSerializer(_team(request.user, pk), context={"account": request.user}).data)


def _team(account: User, pk: int) -> Team:
    return get_object_or_404(teams_seen(account), pk=pk)
