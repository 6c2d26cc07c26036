from __future__ import annotations

from django.contrib.auth import get_user_model
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.api.serializers import AccountSerializer, MeSerializer
from backend.accounts.queries import is_operator, is_service, role_of, teams_of
from backend.accounts.quotas import uses
from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest


class Me(APIView):
    """The account that is signed in."""

    reads = Reads.OWN

    @extend_schema(responses=MeSerializer)
    def get(self, request: AccountRequest) -> Response:
        account = request.user
        document = {
            "username": account.get_username(),
            "is_operator": is_operator(account),
            "is_service": is_service(account),
            "role": role_of(account),
            "teams": teams_of(account),
            "quotas": uses(account),
        }
        return Response(MeSerializer(document).data)


class AccountList(APIView):
    """Whom a query can be handed to: the active accounts by name."""

    reads = Reads.EVERYBODY

    @extend_schema(operation_id="accounts_list", responses=AccountSerializer(many=True))
    def get(self, request: AccountRequest) -> Response:
        accounts = get_user_model().objects.filter(is_active=True).select_related("service_account")
        return Response(AccountSerializer(accounts.order_by("username"), many=True).data)
