"""Who may write tuples to a stream, and how far ahead of their arrival: whatever way they come in."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from backend.accounts.models import Team
from backend.accounts.queries import refuse_others
from backend.deployments.actions import create_topology
from backend.errors import Forbidden
from backend.streams.models import Stream
from backend.tokens.actions import create_token
from jobs.protocol import DeadLetter, dead_letters_key, stream_key

EVENT = {"at": "2013-01-01"}
URL = "/api/streams/weather/"
Post = Callable[..., Any]


@pytest.fixture
def letter(streams: dict[str, Stream], bus: redis.Redis) -> dict[str, object]:
    """A dead letter of the stream, as one points at it."""
    create_topology("flights")
    told = DeadLetter(reason="late", event_time=None, tuple=json.dumps(EVENT), cut=False).model_dump_json()
    entry = bus.xadd(dead_letters_key("flights", "weather"), {"letter": told, "batch": "1"})
    return {"letters": [{"topology": "flights", "id": entry}]}


def _with(secret: str) -> Client:
    return Client(headers={"authorization": f"Bearer {secret}"})


@pytest.mark.parametrize(
    ("who", "gets"),
    [
        ("owner", 202),
        ("teammate", 202),
        ("operator", 202),
        ("outsider", 403),
        ("viewer", 403),
        ("anonymous", 403),
    ],
)
@pytest.mark.parametrize("way", ["events/", "dead-letters/redrive/"])
def test_accounts(
    who: str, gets: int, way: str, letter: dict[str, object], team: Team, bus: redis.Redis, post: Post,
    streams: dict[str, Stream], request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    streams["weather"].team = team
    streams["weather"].save()
    client = request.getfixturevalue("anonymous" if who == "anonymous" else f"as_{who}")
    answer = post(client, f"{URL}{way}", EVENT if way == "events/" else letter)
    assert answer.status_code == gets
    assert bus.xlen(stream_key("weather")) == (gets == 202)


def test_a_team_mate_whose_team_has_no_part_in_the_stream_is_told_why(
    team: Team, streams: dict[str, Stream], as_teammate: Client, as_viewer: Client, post: Post
) -> None:
    refused = post(as_teammate, f"{URL}events/", EVENT)
    assert (refused.status_code, refused.json()["code"]) == (403, "not-yours")
    assert "ann owns weather" in refused.json()["detail"]
    assert post(as_viewer, f"{URL}events/", EVENT).json()["code"] == "viewers-only-read"


@pytest.mark.parametrize(
    ("of", "account", "gets"),
    [
        ("weather", "owner", 202),
        (None, "owner", 202),
        ("departures", "owner", 403),
        (None, "teammate", 202),
        ("weather", "teammate", 202),
        (None, "outsider", 403),
        (None, "viewer", 403),
    ],
)
def test_tokens(
    of: str | None, account: str, gets: int, team: Team, streams: dict[str, Stream], post: Post,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    streams["weather"].team = team
    streams["weather"].save()
    holder: User = request.getfixturevalue(account)
    _, secret = create_token(holder, "station", streams[of] if of else None)
    assert post(_with(secret), f"{URL}events/", EVENT).status_code == gets


def test_nobody_makes_a_token_of_a_stream_that_they_may_not_write_to(
    streams: dict[str, Stream], as_outsider: Client, as_owner: Client, post: Post
) -> None:
    wanted = {"name": "station", "stream": "weather"}
    assert post(as_outsider, "/api/tokens/", wanted).status_code == 403
    assert post(as_owner, "/api/tokens/", wanted).status_code == 201


def test_a_streams_token_ends_with_its_owners_right(
    team: Team, teammate: User, streams: dict[str, Stream], post: Post
) -> None:
    streams["weather"].team = team
    streams["weather"].save()
    _, secret = create_token(teammate, "station", streams["weather"])
    assert post(_with(secret), f"{URL}events/", EVENT).status_code == 202
    team.members.remove(teammate)
    assert post(_with(secret), f"{URL}events/", EVENT).status_code == 403


def test_the_refusal_names_the_team(team: Team, outsider: User, streams: dict[str, Stream]) -> None:
    streams["weather"].team = team
    with pytest.raises(Forbidden, match="only its owner, the team airside or an operator"):
        refuse_others(outsider, streams["weather"])


@pytest.mark.parametrize(
    ("max_ahead_ms", "at", "gets"),
    [
        (86_400_000, timedelta(hours=23), 202),
        (86_400_000, timedelta(hours=25), 400),
        (86_400_000, "9999-12-31T23:59:59.999999Z", 400),
        (86_400_000, "0001-01-01T00:00:00Z", 202),
        (0, timedelta(hours=-1), 202),
        (0, timedelta(minutes=10), 400),
        (2**53 - 1, "9999-12-31T23:59:59.999999Z", 202),
    ],
)
def test_event_times_ahead_of_arrival_are_refused_with_all_that_came_with_them(
    max_ahead_ms: int, at: str | timedelta, gets: int, as_owner: Client, post: Post, bus: redis.Redis,
    streams: dict[str, Stream],
) -> None:  # fmt: skip
    event = {"at": at if isinstance(at, str) else (datetime.now(UTC) + at).isoformat()}
    change = {"max_ahead_ms": max_ahead_ms}
    assert as_owner.patch(URL, change, content_type="application/json").json()["max_ahead_ms"] == max_ahead_ms
    answer = post(as_owner, f"{URL}events/", [EVENT, event])
    assert answer.status_code == gets
    assert bus.xlen(stream_key("weather")) == (2 if gets == 202 else 0)
    if gets == 400:
        (problem,) = answer.json()["errors"]
        assert (problem["code"], problem["path"]) == ("ahead-of-arrival", "1.at")
        assert event["at"][:10] in problem["message"]
        assert "max_ahead" in problem["message"]


def test_a_letter_that_was_ahead_is_ahead_until_it_is_corrected(
    letter: dict[str, Any], as_owner: Client, bus: redis.Redis, post: Post
) -> None:
    (one,) = letter["letters"]
    one["tuple"] = {"at": "9999-12-31"}
    refused = post(as_owner, f"{URL}dead-letters/redrive/", letter)
    assert refused.json()["errors"][0]["path"] == "letters.0.tuple.at"
    assert bus.xlen(stream_key("weather")) == 0
    one["tuple"] = EVENT
    assert post(as_owner, f"{URL}dead-letters/redrive/", letter).status_code == 202
