from __future__ import annotations

from django.contrib.auth.models import User
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.queries import persons, refuse_non_admins, refuse_non_operators
from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.http.documents import checked
from backend.persons import actions, queries, sign_ins
from backend.persons.api.serializers import (
    NewPersonSerializer,
    PasswordLinkSerializer,
    PersonChangeSerializer,
    PersonFilterSerializer,
    PersonPageSerializer,
    PersonSerializer,
    PersonWriteSerializer,
    SignInsSerializer,
)
from backend.persons.passwords import make_link


class OfAdmins(APIView):
    """What admins do with an account, in a session only.

    A stolen token makes no accounts.
    """

    reads = Reads.ADMIN
    needs_session = True

    def account(self, request: AccountRequest, pk: int) -> User:
        """The account of a person.

        Raises `Forbidden` unless for admins, who learn that it is not there.
        """
        refuse_non_admins(request.user, "manage accounts")
        return get_object_or_404(persons(), pk=pk)


class PersonList(APIView):
    """Accounts of persons, by name, a page at a time: for operators. Admins make more."""

    reads = Reads.OPERATOR
    needs_session = True

    @extend_schema(
        operation_id="persons_list", parameters=[PersonFilterSerializer], responses=PersonPageSerializer
    )
    def get(self, request: AccountRequest) -> Response:
        refuse_non_operators(request.user, "read what is said of accounts")
        form = checked(PersonFilterSerializer(data=request.query_params))
        asked = form.validated_data
        return Response(
            PersonPageSerializer(
                queries.page(request.user, form.wanted(), asked["after"], asked["limit"])
            ).data
        )

    @extend_schema(request=PersonWriteSerializer, responses={201: NewPersonSerializer})
    def post(self, request: AccountRequest) -> Response:
        refuse_non_admins(request.user, "make accounts")
        form = checked(PersonWriteSerializer(data=request.data)).validated_data
        made = actions.create_person(request.user, form["username"], form["email"], form["role"])
        document = {"person": _told(request.user, made.pk), "link": make_link(request.user, made)}
        return Response(NewPersonSerializer(document).data, status=201)


class PersonDetail(OfAdmins):
    @extend_schema(request=PersonChangeSerializer, responses=PersonSerializer)
    def patch(self, request: AccountRequest, pk: int) -> Response:
        account = self.account(request, pk)
        form = checked(PersonChangeSerializer(data=request.data))
        actions.change_person(request.user, account, form.validated_data)
        return Response(PersonSerializer(_told(request.user, pk)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, pk: int) -> Response:
        actions.delete_person(request.user, self.account(request, pk))
        return Response(status=204)


class PersonPasswordLink(OfAdmins):
    """A link to a page where the account's owner chooses a password."""

    @extend_schema(request=None, responses={201: PasswordLinkSerializer})
    def post(self, request: AccountRequest, pk: int) -> Response:
        link = make_link(request.user, self.account(request, pk))
        return Response(PasswordLinkSerializer(link).data, status=201)


class PersonSecondFactor(OfAdmins):
    """For who has lost app and recovery codes."""

    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, pk: int) -> Response:
        actions.reset_second_factor(request.user, self.account(request, pk))
        return Response(status=204)


class PersonSignIns(OfAdmins):
    """Where the account is signed in, and where it has to wait.

    To delete this ends both.
    """

    @extend_schema(responses=SignInsSerializer)
    def get(self, request: AccountRequest, pk: int) -> Response:
        account = self.account(request, pk)
        document = {"sessions": sign_ins.sessions_of(account), "locks": sign_ins.locks_of(account)}
        return Response(SignInsSerializer(document).data)

    @extend_schema(responses={204: None})
    def delete(self, request: AccountRequest, pk: int) -> Response:
        account = self.account(request, pk)
        sign_ins.end_sessions(request.user, account)
        sign_ins.unlock(request.user, account)
        return Response(status=204)


def _told(admin: User, pk: int) -> queries.Person:
    return queries.tell(admin, [persons().get(pk=pk)])[0]
