from __future__ import annotations

from dataclasses import asdict

from rest_framework import serializers

from backend.costs.division import Use
from backend.costs.queries import Costs, Prices
from backend.http.documents import Document, Form


class CostTableRequestSerializer(Form):
    by = serializers.ChoiceField(choices=["query", "team", "stream"], default="query")
    topology = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="Of this one alone; without it, of all."
    )


class CostUseSerializer(Document):
    cores = serializers.FloatField(help_text="processor seconds per second")
    bytes = serializers.FloatField(help_text="of stores")
    month = serializers.FloatField(allow_null=True, help_text="in `currency`; null without a price")


class CostRowSerializer(CostUseSerializer):
    name = serializers.CharField(
        allow_null=True, help_text="null: queries of no team; of what is not read: queries of other teams"
    )
    topology = serializers.CharField(allow_null=True, help_text="of a query")
    query = serializers.IntegerField(allow_null=True, help_text="its id")
    team = serializers.CharField(allow_null=True)
    owner = serializers.CharField(allow_null=True)


class CostTableSerializer(Document):
    """What is used now, divided; the rows add up to the total."""

    rows = CostRowSerializer(many=True)
    total = CostUseSerializer()
    unmeasured = serializers.ListField(
        child=serializers.CharField(), help_text="topologies that run and have not measured an epoch yet"
    )
    currency = serializers.CharField()
    core_hour = serializers.FloatField(allow_null=True, help_text="what a core costs for an hour")
    gb_hour = serializers.FloatField(allow_null=True, help_text="what 10^9 bytes cost for an hour")


def use_document(use: Use, prices: Prices) -> dict[str, object]:
    """What is used, with its price."""
    return {"cores": use.cores, "bytes": use.bytes, "month": prices.by_month(use)}


def row_documents(found: Costs, prices: Prices) -> list[dict[str, object]]:
    """Each payer with what it pays for."""
    return [{**asdict(payer), **use_document(use, prices)} for payer, use in found.uses]


def costs_document(found: Costs, prices: Prices) -> dict[str, object]:
    """All of an answer."""
    return {
        "rows": row_documents(found, prices),
        "total": use_document(found.total, prices),
        "unmeasured": found.unmeasured,
        "currency": prices.currency,
        "core_hour": prices.core_hour,
        "gb_hour": prices.gb_hour,
    }
