from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.api.serializers import MeSerializer
from backend.accounts.queries import is_operator


class Me(APIView):
    """The account that is signed in."""

    @extend_schema(responses=MeSerializer)
    def get(self, request: Request) -> Response:
        account = request.user
        document = {
            "username": account.get_username(),
            "is_operator": is_operator(account),
            "is_staff": account.is_staff,
        }
        return Response(MeSerializer(document).data)
