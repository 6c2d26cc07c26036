from __future__ import annotations

from rest_framework import serializers

from backend.costs.queries import Costs, Prices, Row
from backend.http.documents import Document, Form


class CostTableRequestSerializer(Form):
    by = serializers.ChoiceField(choices=["query", "team", "stream"], default="query")


class CostRowSerializer(Document):
    name = serializers.CharField(
        allow_null=True, help_text="null: queries of no team; of what is not read: queries of other teams"
    )
    topology = serializers.CharField(allow_null=True, help_text="of a query")
    query = serializers.IntegerField(allow_null=True, help_text="its id")
    team = serializers.CharField(allow_null=True)
    owner = serializers.CharField(allow_null=True)
    cores = serializers.FloatField(help_text="processor seconds per second")
    bytes = serializers.FloatField(help_text="of stores")
    month = serializers.FloatField(allow_null=True, help_text="in `currency`; null without a price")


class CostTableSerializer(Document):
    """What is used now, divided; the rows add up to the total."""

    rows = CostRowSerializer(many=True)
    total = CostRowSerializer()
    unmeasured = serializers.ListField(
        child=serializers.CharField(), help_text="topologies that run and have not measured an epoch yet"
    )
    currency = serializers.CharField()
    core_hour = serializers.FloatField(allow_null=True, help_text="what a core costs for an hour")
    gb_hour = serializers.FloatField(allow_null=True, help_text="what 10^9 bytes cost for an hour")


def row_document(row: Row, prices: Prices) -> dict[str, object]:
    """A row with its price."""
    return {
        "name": row.name,
        "topology": row.topology,
        "query": row.query,
        "team": row.team,
        "owner": row.owner,
        "cores": row.use.cores,
        "bytes": row.use.bytes,
        "month": prices.by_month(row.use),
    }


def costs_document(found: Costs, prices: Prices) -> dict[str, object]:
    """All of an answer."""
    return {
        "rows": [row_document(row, prices) for row in found.rows],
        "total": row_document(Row("total", found.total), prices),
        "unmeasured": found.unmeasured,
        "currency": prices.currency,
        "core_hour": prices.core_hour,
        "gb_hour": prices.gb_hour,
    }
