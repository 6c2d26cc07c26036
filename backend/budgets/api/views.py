from __future__ import annotations

from django.contrib.auth.models import User
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.queries import role_of
from backend.accounts.reading import Reads, teams_seen
from backend.accounts.requests import AccountRequest
from backend.budgets.actions import set_budget
from backend.budgets.api.serializers import BudgetTableSerializer, BudgetWriteSerializer, budget_document
from backend.budgets.months import month_of
from backend.budgets.queries import team_months
from backend.costs.queries import prices
from backend.http.documents import checked


class BudgetList(APIView):
    """What one's teams used this month, and what they may spend; admins see all teams."""

    reads = Reads.OWN

    @extend_schema(responses=BudgetTableSerializer)
    def get(self, request: AccountRequest) -> Response:
        return Response(BudgetTableSerializer(_table(request.user)).data)


class BudgetDetail(APIView):
    """What a team may spend in a month, which admins say."""

    reads = Reads.TEAM

    @extend_schema(request=BudgetWriteSerializer, responses=BudgetTableSerializer)
    def put(self, request: AccountRequest, pk: int) -> Response:
        found = get_object_or_404(teams_seen(request.user), pk=pk)
        form = checked(BudgetWriteSerializer(data=request.data))
        set_budget(request.user, found, form.validated_data["amount"])
        return Response(BudgetTableSerializer(_table(request.user)).data)


def _table(account: User) -> dict[str, object]:
    now = timezone.now()
    first = month_of(now)
    return {
        "teams": [budget_document(one, first) for one in team_months(teams_seen(account), now)],
        "currency": prices().currency,
        "can_edit": role_of(account) == "admin",
    }
