"""Every endpoint that changes something, tried as owner, teammate, outsider, viewer and anonymous."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from backend.accounts.models import Team
from backend.accounts.queries import GROUPS, may_edit, role_of
from backend.catalog.models import Query
from backend.streams.models import Stream
from tests.api.conftest import TWO_WAY

JSON = "application/json"
STREAM = {"name": "gates", "event_time": "at", "columns": [{"name": "at", "type": "timestamp"}]}

WRITES = [
    # method, path, document, the answer to somebody who may
    ("patch", "/api/queries/{query}/", {"description": "Wind and delay"}, 200),
    ("post", "/api/queries/{query}/versions/", {"sql": TWO_WAY}, 201),
    ("post", "/api/queries/{query}/deploy/", {"topology": "flights"}, 202),
    ("post", "/api/queries/{query}/transfer/", {"owner": "ann", "team": "airside"}, 200),
    ("delete", "/api/queries/{query}/", {}, 204),
    ("patch", "/api/streams/weather/", {"description": "Hourly"}, 200),
]
READS = [
    "/api/me/",
    "/api/accounts/",
    "/api/streams/",
    "/api/streams/weather/",
    "/api/streams/weather/sample/",
    "/api/streams/weather/impact/",
    "/api/queries/",
    "/api/queries/{query}/",
    "/api/queries/{query}/versions/",
    "/api/queries/{query}/results/",
    "/api/queries/{query}/results/download/",
    "/api/queries/{query}/impact/",
    "/api/topologies/",
    "/api/runs/",
]


@pytest.fixture
def shared(query: Query, streams: dict[str, Stream], team: Team) -> Query:
    """The owner's query and streams, given to the team."""
    Query.objects.filter(pk=query.pk).update(team=team)
    Stream.objects.update(team=team)
    return Query.objects.get(pk=query.pk)


@pytest.mark.parametrize(("method", "path", "document", "status"), WRITES)
def test_who_may_change(
    method: str,
    path: str,
    document: dict[str, object],
    status: int,
    shared: Query,
    as_teammate: Client,
    as_outsider: Client,
    as_viewer: Client,
    anonymous: Client,
) -> None:
    url = path.format(query=shared.pk)
    for refused in (anonymous, as_viewer, as_outsider):
        assert getattr(refused, method)(url, document, content_type=JSON).status_code == 403
    assert getattr(as_teammate, method)(url, document, content_type=JSON).status_code == status


@pytest.mark.parametrize("path", READS)
def test_everybody_signed_in_reads(
    path: str,
    shared: Query,
    as_owner: Client,
    as_teammate: Client,
    as_outsider: Client,
    as_viewer: Client,
    anonymous: Client,
) -> None:
    url = path.format(query=shared.pk)
    assert anonymous.get(url).status_code == 403
    for client in (as_owner, as_teammate, as_outsider, as_viewer):
        assert client.get(url).status_code == 200


def test_a_viewer_only_reads(
    as_viewer: Client, as_owner: Client, as_outsider: Client, streams: dict[str, Stream]
) -> None:
    query = {"name": "mine", "sql": TWO_WAY}
    event = {"at": "2013-01-01T00:00:00Z"}
    for url, document, author, status in (
        ("/api/queries/", query, as_outsider, 201),
        ("/api/streams/", STREAM, as_outsider, 201),
        ("/api/streams/weather/events/", event, as_owner, 202),
    ):
        refused = as_viewer.post(url, document, content_type=JSON)
        assert (refused.status_code, refused.json()["code"]) == (403, "viewers-only-read")
        assert author.post(url, document, content_type=JSON).status_code == status


def test_what_the_documents_say_of_rights(
    shared: Query, as_owner: Client, as_teammate: Client, as_outsider: Client, as_viewer: Client
) -> None:
    for client, expected in ((as_owner, True), (as_teammate, True), (as_outsider, False), (as_viewer, False)):
        assert client.get(f"/api/queries/{shared.pk}/").json()["can_edit"] is expected
        assert client.get("/api/streams/weather/").json()["can_edit"] is expected
    assert as_teammate.get("/api/me/").json()["teams"] == ["airside"]


def test_a_stream_is_given_only_to_a_team_of_ones_own(
    as_owner: Client, as_operator: Client, streams: dict[str, Stream], team: Team
) -> None:
    Team.objects.create(name="landside")
    url = "/api/streams/weather/"
    assert as_owner.patch(url, {"team": "airside"}, content_type=JSON).json()["team"] == "airside"
    foreign = as_owner.patch(url, {"team": "landside"}, content_type=JSON)
    assert (foreign.status_code, foreign.json()["code"]) == (403, "not-your-team")
    unknown = as_owner.patch(url, {"team": "nobody"}, content_type=JSON)
    assert (unknown.status_code, unknown.json()["code"]) == (409, "no-such-team")
    assert as_operator.patch(url, {"team": "landside"}, content_type=JSON).json()["team"] == "landside"
    assert as_operator.patch(url, {"team": None}, content_type=JSON).json()["team"] is None


def test_the_highest_group_decides(owner: User, teammate: User) -> None:
    assert role_of(owner) == "author"
    for name in GROUPS:
        owner.groups.add(Group.objects.get_or_create(name=name)[0])
    assert role_of(owner) == "admin"
    assert may_edit(owner, teammate.pk)
    owner.is_active = False
    assert role_of(owner) is None
    assert not may_edit(owner, owner.pk)
