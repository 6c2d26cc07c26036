"""Price a text that is no query yet: its plan, and what it adds to a topology."""

from __future__ import annotations

from dataclasses import asdict

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.bounded.caller import caller_of
from backend.catalog.api.sql import BAD, drafted
from backend.http.documents import checked
from backend.planning.advice import outlook
from backend.planning.api.serializers import (
    ExplainRequestSerializer,
    ExplanationSerializer,
    OutlookSerializer,
)
from backend.planning.drafting import ForecastStore
from backend.planning.explanation import explain
from optimizer.explain.advice import Advice


class SqlOutlook(APIView):
    """A forecast interval of what a text would keep, and which windows fit better."""

    reads = Reads.OWN

    @extend_schema(request=ExplainRequestSerializer, responses={200: OutlookSerializer, 400: BAD})
    def post(self, request: Request) -> Response:
        form = checked(ExplainRequestSerializer(data=request.data))
        caller = caller_of(request)
        query, catalog = drafted(request, caller, form)
        values = form.validated_data
        found = outlook(request.user, caller, query, values["sql"], catalog, values["topology"])
        document = {
            "topology": found.topology,
            "stores": [_store(one) for one in found.stores],
            "advice": [_advice(one) for one in found.advice],
        }
        return Response(OutlookSerializer(document).data)


def _store(one: ForecastStore) -> dict[str, object]:
    tuples = asdict(one.tuples)
    return {
        "label": one.added.label,
        "kept": one.added.kept,
        "tuples": tuples,
        "bytes": {end: value * one.bytes_per_tuple for end, value in tuples.items()},
        "measured": one.measured,
    }


def _advice(one: Advice) -> dict[str, object]:
    return {
        "longer": one.changes[0].is_longer,
        "windows": [
            {
                "alias": each.alias,
                "stream": each.stream,
                "present_ms": each.present.milliseconds,
                "proposed_ms": each.proposed.milliseconds,
            }
            for each in one.changes
        ],
        "like": one.like,
        "saved_probe": one.saved_probe,
        "saved_storage": one.saved_storage,
        "saved_percent": 100 * one.saved_share,
        "steps": one.after.steps,
        "shared_before": one.before.reused_steps,
        "shared_after": one.after.reused_steps,
    }


class SqlExplain(APIView):
    """How a text would be answered: alone, and what it would add to a topology."""

    reads = Reads.OWN

    @extend_schema(request=ExplainRequestSerializer, responses={200: ExplanationSerializer, 400: BAD})
    def post(self, request: Request) -> Response:
        form = checked(ExplainRequestSerializer(data=request.data))
        caller = caller_of(request)
        query, catalog = drafted(request, caller, form)
        values = form.validated_data
        explanation = explain(request.user, caller, query, values["sql"], catalog, values["topology"])
        return Response(ExplanationSerializer(explanation).data)
