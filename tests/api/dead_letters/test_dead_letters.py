"""Dead letters over HTTP: shown with their reasons, sent again once, discarded, by whom."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from backend.audit.models import AuditEntry
from backend.deployments.actions import create_topology
from backend.streams.models import Stream
from jobs.protocol import DeadLetter, dead_letters_key, stream_key

Post = Callable[..., Any]
LATE = '{"at":"2013-01-01T10:00:00+00:00","origin":"JFK","wind":21.5}'
URL = "/api/streams/weather/dead-letters/"


@pytest.fixture
def put(bus: redis.Redis, streams: dict[str, Stream]) -> Callable[..., dict[str, str]]:
    """A dead letter of weather, as the job writes it; returns how a request points at it."""
    create_topology("flights")
    create_topology("slow")

    def write(
        text: str = LATE,
        reason: str = "late",
        topology: str = "flights",
        cut: bool = False,
        query: str | None = None,
        expression: str | None = None,
    ) -> Any:
        told = DeadLetter(
            reason=reason, event_time=None, tuple=text, cut=cut, query=query, expression=expression
        )
        letter = told.model_dump_json()
        entry = bus.xadd(dead_letters_key(topology, "weather"), {"batch": "7", "letter": letter})
        return {"topology": topology, "id": entry}

    return write


def sent(bus: redis.Redis) -> list[Any]:
    return [json.loads(fields["json"]) for _, fields in bus.xrange(stream_key("weather"))]


def test_letters_of_all_topologies_newest_first(as_outsider: Client, put: Callable[..., Any]) -> None:
    put()
    put("{", "not JSON", "slow")
    shown = as_outsider.get(URL).json()
    assert shown["kept"] == 2
    assert [(one["topology"], one["reason"], one["batch"]) for one in shown["letters"]] == [
        ("slow", "not JSON", 7),
        ("flights", "late", 7),
    ]
    assert shown["letters"][1]["tuple"] == LATE
    assert len(as_outsider.get(f"{URL}?limit=1").json()["letters"]) == 1
    assert as_outsider.get("/api/streams/arrivals/dead-letters/").json() == {"kept": 0, "letters": []}


def test_what_has_no_value_is_told_with_its_query_and_never_sent_twice(
    as_owner: Client, post: Post, put: Callable[..., Any], bus: redis.Redis
) -> None:
    chosen = put(reason="raised ValueError: no", query="windy", expression="month(w.at)")
    (shown,) = as_owner.get(URL).json()["letters"]
    assert (shown["query"], shown["expression"]) == ("windy", "month(w.at)")
    answer = post(as_owner, f"{URL}redrive/", {"letters": [chosen]})
    assert (answer.status_code, answer.json()["code"]) == (409, "accepted-tuple")
    assert sent(bus) == []
    assert post(as_owner, f"{URL}discard/", {"letters": [chosen]}).json() == {"count": 1}


def test_what_was_set_aside_is_sent_again_as_it_was(
    as_owner: Client, post: Post, put: Callable[..., Any], bus: redis.Redis
) -> None:
    chosen = put(reason="set aside: ValueError: no", query="windy")
    assert post(as_owner, f"{URL}redrive/", {"letters": [chosen]}).status_code == 202
    assert [event["origin"] for event in sent(bus)] == ["JFK"]


def test_a_letter_of_an_older_job_has_neither_query_nor_expression(
    as_owner: Client, streams: dict[str, Stream], bus: redis.Redis
) -> None:
    create_topology("flights")
    old = {"reason": "late", "event_time": None, "tuple": LATE, "cut": False}
    bus.xadd(dead_letters_key("flights", "weather"), {"batch": "7", "letter": json.dumps(old)})
    (shown,) = as_owner.get(URL).json()["letters"]
    assert (shown["query"], shown["expression"]) == (None, None)


def test_a_letter_is_sent_again_once(
    as_owner: Client, owner: User, post: Post, put: Callable[..., Any], bus: redis.Redis
) -> None:
    chosen = [put(), put()]
    answer = post(as_owner, f"{URL}redrive/", {"letters": [*chosen, chosen[0]]})
    assert (answer.status_code, answer.json()) == (202, {"count": 2})
    assert sent(bus) == [{"at": "2013-01-01T10:00:00Z", "origin": "JFK", "wind": 21.5}] * 2
    again = post(as_owner, f"{URL}redrive/", {"letters": chosen})
    assert (again.status_code, again.json()["code"]) == (409, "no-such-letter")
    assert len(sent(bus)) == 2
    noted = AuditEntry.objects.get(topology="flights")
    assert (noted.account, noted.name, noted.verb) == (owner, "weather", "redrive")
    assert noted.detail == "2 dead letters of weather"
    trail = as_owner.get("/api/topologies/flights/audit/").json()
    assert [(one["account"], one["action"]) for one in trail] == [("ann", "redrive")]


def test_a_decimal_is_sent_again_with_all_its_digits(as_owner: Client, post: Post, bus: redis.Redis) -> None:
    create_topology("flights")
    columns = [{"name": "at", "type": "timestamp"}, {"name": "price", "type": "Decimal(20, 2)"}]
    stream = {"name": "orders", "columns": columns, "event_time": "at"}
    made = post(as_owner, "/api/streams/", stream).json()
    assert [one["type"] for one in made["columns"]] == ["timestamp", "decimal(20,2)"]
    chosen = []
    for price in ("123456789012345678.91", '"123456789012345678.91"'):
        text = f'{{"at": "2013-01-01", "price": {price}}}'
        letter = DeadLetter(
            reason="late", event_time=None, tuple=text, cut=False, query=None, expression=None
        ).model_dump_json()
        entry = bus.xadd(dead_letters_key("flights", "orders"), {"batch": "7", "letter": letter})
        chosen.append({"topology": "flights", "id": entry})
    again = post(as_owner, "/api/streams/orders/dead-letters/redrive/", {"letters": chosen})
    assert again.status_code == 202, again.content
    kept = [json.loads(fields["json"])["price"] for _, fields in bus.xrange(stream_key("orders"))]
    assert kept == ["123456789012345678.91"] * 2
    sample = as_owner.get("/api/streams/orders/sample/")
    assert {row["price"] for row in sample.json()["rows"]} == {"123456789012345678.91"}
    # Neither digits behind the point nor before it are lost without a word.
    for price in (0.001, "1000000000000000000.00"):
        refused = post(as_owner, "/api/streams/orders/events/", [{"at": "2013-01-01", "price": price}])
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (400, "0.price")


def test_a_broken_tuple_has_to_be_corrected(
    as_owner: Client, post: Post, put: Callable[..., Any], bus: redis.Redis
) -> None:
    whole, broken = put(), put('{"at": 7}', "at is not timestamp: 7")
    refused = post(as_owner, f"{URL}redrive/", {"letters": [whole, broken]})
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (400, "letters.1.tuple.at")
    assert sent(bus) == []
    corrected = {**broken, "tuple": {"at": "2013-01-01", "wind": 3}}
    assert post(as_owner, f"{URL}redrive/", {"letters": [whole, corrected]}).json() == {"count": 2}
    assert sent(bus)[1] == {"at": "2013-01-01T00:00:00Z", "origin": None, "wind": 3.0}


@pytest.mark.parametrize(("text", "cut"), [("{", False), ("[" * 100_000, False), (LATE, True), ("7", False)])
def test_what_is_no_whole_tuple_is_refused(
    as_owner: Client, post: Post, put: Callable[..., Any], text: str, cut: bool
) -> None:
    answer = post(as_owner, f"{URL}redrive/", {"letters": [put(text, "not JSON", cut=cut)]})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (400, "letters.0.tuple")


def test_binaries_come_back_as_they_were_sent(
    as_owner: Client, post: Post, bus: redis.Redis, owner: User
) -> None:
    create_topology("flights")
    columns = [{"name": "at", "type": "timestamp"}, {"name": "raw", "type": "binary"}]
    post(as_owner, "/api/streams/", {"name": "blobs", "event_time": "at", "columns": columns})
    letter = DeadLetter(
        reason="late", event_time=None, tuple='{"at":"2013-01-01T00:00:00+00:00","raw":"00ff"}', cut=False
    )
    entry = bus.xadd(dead_letters_key("flights", "blobs"), {"batch": "1", "letter": letter.model_dump_json()})
    chosen = {"letters": [{"topology": "flights", "id": entry}]}
    assert post(as_owner, "/api/streams/blobs/dead-letters/redrive/", chosen).status_code == 202
    assert json.loads(bus.xrange(stream_key("blobs"))[0][1]["json"])["raw"] == "AP8="


def test_letters_are_discarded_and_leave_with_their_stream(
    as_owner: Client, post: Post, put: Callable[..., Any], bus: redis.Redis
) -> None:
    one, _ = put(), put()
    assert post(as_owner, f"{URL}discard/", {"letters": [one]}).json() == {"count": 1}
    assert post(as_owner, f"{URL}discard/", {"letters": [one]}).json() == {"count": 0}
    assert AuditEntry.objects.get(topology="flights").detail == "1 dead letter of weather"
    assert as_owner.get(URL).json()["kept"] == 1


@pytest.mark.django_db(transaction=True)
def test_a_deleted_stream_leaves_no_letters(
    as_owner: Client, put: Callable[..., Any], bus: redis.Redis
) -> None:
    put()
    bus.xadd(dead_letters_key("flights", "arrivals"), {"batch": "1"})
    assert as_owner.delete("/api/streams/weather/").status_code == 204
    assert bus.keys("millrace:dead:*") == [dead_letters_key("flights", "arrivals")]


def test_who_may(
    as_outsider: Client, as_viewer: Client, as_operator: Client, post: Post, put: Callable[..., Any]
) -> None:
    chosen = {"letters": [put()]}
    for action in ("redrive", "discard"):
        for client in (as_outsider, as_viewer):
            assert post(client, f"{URL}{action}/", chosen).status_code == 403
    assert post(as_operator, f"{URL}redrive/", chosen).status_code == 202
