"""What may be asked of a text before it is a query."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.bounded.caller import Caller, caller_of
from backend.catalog import language
from backend.catalog.api.serializers import (
    DraftSerializer,
    ExplainRequestSerializer,
    OutlookSerializer,
    PreviewRequestSerializer,
    PreviewSerializer,
    ProblemsSerializer,
)
from backend.catalog.previews import previewed
from backend.documents import checked
from backend.errors import InputErrors
from backend.topologies.advice import outlook
from backend.topologies.drafting import ForecastStore
from optimizer.explain.advice import Advice

BAD = OpenApiResponse(ProblemsSerializer, "The text has no meaning.")


def _draft(caller: Caller, form: DraftSerializer) -> language.Draft:
    """The text that was sent, which has a meaning. Raises `InputErrors` if it has none."""
    draft = language.read_draft(caller, form.validated_data["sql"], form.validated_data["name"] or "query")
    if draft.query is None:
        raise InputErrors(draft.errors)
    return draft


class SqlPreview(APIView):
    """A text's results over recent tuples that Redis still holds; nothing is deployed."""

    @extend_schema(request=PreviewRequestSerializer, responses={200: PreviewSerializer, 400: BAD})
    def post(self, request: Request) -> Response:
        form = checked(PreviewRequestSerializer(data=request.data))
        caller = caller_of(request)
        draft = _draft(caller, form)
        assert draft.query is not None  # `_draft` raised otherwise
        document = asdict(previewed(caller, draft.query, draft.catalog, form.validated_data["limit"]))
        document["columns"] = [{"name": name, "type": kind} for name, kind in document["columns"]]
        return Response(PreviewSerializer(document).data)


class SqlOutlook(APIView):
    """What a text would keep in a topology, as an interval, and which other windows would fit better."""

    @extend_schema(request=ExplainRequestSerializer, responses={200: OutlookSerializer, 400: BAD})
    def post(self, request: Request) -> Response:
        form = checked(ExplainRequestSerializer(data=request.data))
        caller = caller_of(request)
        draft = _draft(caller, form)
        assert draft.query is not None  # `_draft` raised otherwise
        values = form.validated_data
        found = outlook(caller, draft.query, values["sql"], draft.catalog, values["topology"])
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
    millisecond = timedelta(milliseconds=1)
    return {
        "longer": one.changes[0].is_longer,
        "windows": [
            {
                "alias": each.alias,
                "stream": each.stream,
                "present_ms": each.present / millisecond,
                "proposed_ms": each.proposed / millisecond,
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
