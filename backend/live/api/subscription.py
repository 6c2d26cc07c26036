"""Subscriptions over HTTP: long polling, as JSON or Arrow, and events."""

from __future__ import annotations

import time

from django.contrib.auth.models import User
from django.db import close_old_connections
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from backend.accounts.reading import Reads
from backend.accounts.requests import AccountRequest
from backend.bounded.caller import caller_of
from backend.catalog.models import Query
from backend.errors import Conflict
from backend.http.documents import Document, Form, checked
from backend.live.sse.admission import QuerySeen, admission_of, no_longer_hold
from backend.live.sse.answer import JSONToAll, event_stream
from backend.live.sse.connection_limits import SLOTS
from backend.live.subscription.cursor import Cursor, Since, read_since
from backend.live.subscription.frames import POLL_SECONDS, Subscribed, page_document, subscription_frames
from backend.live.subscription.pages import MOST_ROWS, Page, as_arrow, read_page, start
from backend.streams.api.serializers import NamedColumnSerializer
from backend.topologies import query_search
from backend.topologies.query_search import deployment_of

MOST_WAIT_SECONDS = 30
ARROW = "application/vnd.apache.arrow.stream"


class SubscriptionRequestSerializer(Form):
    since = serializers.CharField(
        max_length=60,
        default="",
        allow_blank=True,
        help_text="The cursor of the last answer, a batch, or earliest for all that is kept; without it, "
        "what comes from now on.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=MOST_ROWS, default=1000)
    wait = serializers.FloatField(
        min_value=0, max_value=MOST_WAIT_SECONDS, default=0, help_text="Seconds, while there is nothing."
    )
    form = serializers.ChoiceField(choices=["json", "arrow"], default="json")

    def validate_since(self, since: str) -> Since:
        try:
            return read_since(since)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error


class SubscriptionPageSerializer(Document):
    """Results since the cursor, oldest first; `batches` goes with `rows`."""

    columns = NamedColumnSerializer(many=True)
    rows = serializers.ListField(child=serializers.DictField(child=serializers.JSONField(allow_null=True)))
    batches = serializers.ListField(child=serializers.IntegerField())
    cursor = serializers.CharField(help_text="Behind these rows: what the next request is since.")
    more = serializers.BooleanField(help_text="True if there are more already.")


class QuerySubscription(APIView):
    """A query's results, each once, from a cursor on."""

    reads = Reads.QUERY

    @extend_schema(
        parameters=[SubscriptionRequestSerializer],
        responses={(200, "application/json"): SubscriptionPageSerializer, (200, ARROW): OpenApiTypes.BINARY},
    )
    def get(self, request: AccountRequest, pk: int) -> HttpResponseBase:
        given = checked(SubscriptionRequestSerializer(data=request.query_params)).validated_data
        subscribed = _subscribed(request.user, pk)
        cursor = start(subscribed.topology, subscribed.query, given["since"])
        page = self._page(request, subscribed, cursor, given["limit"], given["wait"])
        if given["form"] == "arrow":
            told = {"Millrace-Cursor": str(page.cursor), "Millrace-More": "true" if page.more else "false"}
            return HttpResponse(as_arrow(page), content_type=ARROW, headers=told)
        return Response(SubscriptionPageSerializer(page_document(page)).data)

    def _page(
        self, request: AccountRequest, subscribed: Subscribed, cursor: Cursor, limit: int, wait_s: float
    ) -> Page:
        page = read_page(subscribed.topology, subscribed.query, cursor, limit)
        if page.batches or wait_s <= 0:
            return page
        # One that waits is a live connection, of which an account may have so many.
        slot = SLOTS.take(request.user.pk)
        slot.take_up()
        try:
            close_old_connections()
            caller, deadline = caller_of(request), time.monotonic() + wait_s
            admission = admission_of(request, QuerySeen(subscribed.query_id))
            while not page.batches and time.monotonic() < deadline and not caller.gone.is_set():
                time.sleep(min(POLL_SECONDS, max(0.0, deadline - time.monotonic())))
                if no_longer_hold({admission}):
                    raise Http404("no longer")
                page = read_page(subscribed.topology, subscribed.query, page.cursor, limit)
            return page
        finally:
            slot.give_back()


@extend_schema(exclude=True)
class QuerySubscriptionEvents(APIView):
    """The same as server-sent events, from `Last-Event-ID` or `?since=` on."""

    content_negotiation_class = JSONToAll
    reads = Reads.QUERY

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        finally:
            # The request lasts as long as its stream, which asks the database now and then.
            close_old_connections()

    def check_permissions(self, request: Request) -> None:
        """Strangers are refused, but not as often as they like."""
        super().check_throttles(request)
        super().check_permissions(request)

    def check_throttles(self, request: Request) -> None:
        """Counted already."""

    def get(self, request: AccountRequest, pk: int) -> StreamingHttpResponse:
        said = request.headers.get("Last-Event-ID") or request.GET.get("since") or ""
        given = checked(SubscriptionRequestSerializer(data={"since": said})).validated_data
        subscribed = _subscribed(request.user, pk)
        cursor = start(subscribed.topology, subscribed.query, given["since"])
        frames = subscription_frames(
            subscribed, cursor, admission_of(request, QuerySeen(subscribed.query_id))
        )
        return event_stream(SLOTS.take(request.user.pk), frames)


def _subscribed(account: User, pk: int) -> Subscribed:
    record: Query = get_object_or_404(query_search.queries(account), pk=pk)
    deployment = deployment_of(record)
    if deployment is None:
        raise Conflict("not-deployed", f"no topology answers {record.name}")
    return Subscribed(record.pk, record.name, deployment.topology.name)
