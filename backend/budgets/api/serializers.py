from __future__ import annotations

from rest_framework import serializers

from backend.budgets.queries import TeamMonth
from backend.http.documents import Document, Form


class BudgetWriteSerializer(Form):
    amount = serializers.FloatField(
        min_value=0.0, max_value=1e12, allow_null=True, help_text="a month, in `currency`; null is no limit"
    )


class BudgetSerializer(Document):
    """What a team used in this month of UTC, and what it may spend."""

    id = serializers.IntegerField(help_text="of the team")
    team = serializers.CharField()
    first = serializers.DateField(help_text="the month's first day")
    core_hours = serializers.FloatField()
    byte_hours = serializers.FloatField(help_text="of stores")
    spent = serializers.FloatField(allow_null=True, help_text="null without a price")
    amount = serializers.FloatField(allow_null=True, help_text="null: no budget, or no price")
    stand = serializers.ChoiceField(
        choices=["within", "near", "spent"], allow_null=True, help_text="null like `amount`"
    )


class BudgetTableSerializer(Document):
    teams = BudgetSerializer(many=True)
    currency = serializers.CharField()
    can_edit = serializers.BooleanField()


def budget_document(found: TeamMonth, first: object) -> dict[str, object]:
    """How a team stands."""
    month = found.month
    return {
        "id": found.team.pk,
        "team": found.team.name,
        "first": first,
        "core_hours": found.hours.cores,
        "byte_hours": found.hours.bytes,
        "spent": found.spent,
        "amount": None if month is None else month.amount,
        "stand": None if month is None else month.stand,
    }
