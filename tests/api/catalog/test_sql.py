"""What the editor asks while somebody types: validate, format, explain. No text is a server error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.streams.models import Stream
from optimizer.physical.graph import PhysicalGraph

GOOD = (
    "SELECT d.flight FROM departures [RANGE 1 HOUR] AS d, weather [RANGE 90 MINUTES] AS w "
    "WHERE d.origin = w.origin"
)
Post = Callable[..., Any]


def test_a_good_text_says_what_it_reads_and_returns(
    as_teammate: Client, post: Post, streams: dict[str, Stream]
) -> None:
    answer = post(as_teammate, "/api/sql/validate/", {"sql": GOOD})
    assert answer.json() == {
        "ok": True,
        "errors": [],
        "hints": [],
        "retentions": [],
        "inputs": [
            {"alias": "d", "stream": "departures", "window_ms": 3_600_000.0},
            {"alias": "w", "stream": "weather", "window_ms": 5_400_000.0},
        ],
        "outputs": [{"name": "flight", "type": "string"}],
    }


def test_it_says_what_conditions_on_event_times_keep(
    as_teammate: Client, post: Post, streams: dict[str, Stream]
) -> None:
    sql = GOOD + " AND w.at <= d.at AND d.at < w.at + INTERVAL 30 MINUTES"
    answer = post(as_teammate, "/api/sql/validate/", {"sql": sql}).json()
    assert answer["hints"] == []
    assert answer["retentions"] == [
        {"alias": "d", "kept_ms": 0.0, "because": ["d.at >= w.at"]},
        {"alias": "w", "kept_ms": 1_800_000.0, "because": ["d.at < w.at + INTERVAL '30' MINUTE"]},
    ]


def test_what_is_kept_for_ever_is_a_hint_with_what_bounds_it(
    as_teammate: Client, post: Post, streams: dict[str, Stream]
) -> None:
    sql = "SELECT d.flight FROM departures AS d, weather [RANGE UNBOUNDED] AS w\nWHERE d.origin = w.origin"
    answer = post(as_teammate, "/api/sql/validate/", {"sql": sql}).json()
    assert answer["ok"] is True
    window, condition = answer["hints"]
    assert (window["line"], window["column"], window["end_column"]) == (1, 22, 32)
    assert window["suggestion"] == "departures [RANGE 1 HOUR]"
    assert (condition["line"], condition["column"], condition["end_column"]) == (2, 20, 26)
    assert condition["suggestion"] == "origin\n  AND w.at <= d.at + INTERVAL '1' HOUR"
    mended = sql.removesuffix("origin") + condition["suggestion"]
    answer = post(as_teammate, "/api/sql/validate/", {"sql": mended}).json()
    assert answer["hints"] == []
    assert [(one["alias"], one["kept_ms"]) for one in answer["retentions"]] == [("d", 3_600_000.0)]


def test_an_error_is_underlined_where_it_is(as_owner: Client, post: Post, streams: dict[str, Stream]) -> None:
    sql = GOOD.replace("d.flight", "\n  d.flihgt")
    answer = post(as_owner, "/api/sql/validate/", {"sql": sql})
    assert answer.status_code == 200
    (problem,) = answer.json()["errors"]
    assert (problem["line"], problem["column"], problem["end_column"]) == (2, 3, 11)
    assert problem["suggestion"] == "d.flight"
    assert sql.splitlines()[1][problem["column"] - 1 : problem["end_column"] - 1] == "d.flihgt"


def test_a_query_being_edited_does_not_see_itself(as_owner: Client, post: Post, query: Query) -> None:
    sql = "SELECT v.flight FROM windy AS v"
    assert post(as_owner, "/api/sql/validate/", {"sql": sql}).json()["ok"] is True
    assert post(as_owner, "/api/sql/validate/", {"sql": sql, "name": "windy"}).json()["ok"] is False


def test_format_keeps_the_meaning(as_owner: Client, post: Post, streams: dict[str, Stream]) -> None:
    pretty = post(as_owner, "/api/sql/format/", {"sql": GOOD}).json()["sql"]
    assert pretty.count("\n") > 2
    asked = [post(as_owner, "/api/sql/validate/", {"sql": sql}).json() for sql in (GOOD, pretty)]
    assert asked[0] == asked[1]
    refused = post(as_owner, "/api/sql/format/", {"sql": "SELECT FROM"})
    assert (refused.status_code, refused.json()["errors"][0]["line"]) == (400, 1)


def test_explain_shows_a_plan(as_owner: Client, post: Post, streams: dict[str, Stream]) -> None:
    document = post(as_owner, "/api/sql/explain/", {"sql": GOOD, "name": "new"}).json()
    assert document["cost"]["total"] == pytest.approx(
        document["cost"]["probe"] + document["cost"]["storage"] + document["cost"]["latency"]
    )
    assert document["individual_cost"] == pytest.approx(document["cost"]["total"])
    assert document["marginal"] is None
    assert "weather" in document["text"]
    graph = PhysicalGraph.from_json(json.dumps(document["graph"]))
    assert [query.name for query in graph.queries] == ["new"]


def test_explain_says_what_a_query_adds(
    as_owner: Client, post: Post, owner: User, streams: dict[str, Stream]
) -> None:
    deploy_query(owner, create_query(owner, "first", GOOD), "flights")
    same = post(as_owner, "/api/sql/explain/", {"sql": GOOD, "name": "again"}).json()["marginal"]
    assert same["topology"] == "flights"
    assert (same["stores_new"], same["stores_shared"], same["probes_new"]) == (0, 2, 0)
    assert same["cost"]["total"] == 0
    assert same["text"] == "+0 stores, +0 % probes, reuses 2 of 2 steps of first"
    wider = GOOD.replace("WHERE", ", arrivals [RANGE 1 HOUR] AS a WHERE a.tail = d.tail AND")
    more = post(as_owner, "/api/sql/explain/", {"sql": wider, "name": "more"}).json()["marginal"]
    assert more["stores_new"] == 1
    assert more["cost"]["total"] > 0


OUTER = (
    "SELECT d.flight, w.wind FROM departures [RANGE 1 HOUR] AS d "
    "LEFT JOIN weather [RANGE 30 MINUTES] AS w ON d.origin = w.origin"
)


def test_results_with_something_absent_say_when_they_appear(
    as_owner: Client, post: Post, streams: dict[str, Stream]
) -> None:
    answer = post(as_owner, "/api/sql/validate/", {"sql": OUTER}).json()
    (hint,) = answer["hints"]
    assert (hint["code"], hint["found"]) == ("deadline", "results of d without w")
    assert hint["expected"] == "1 hour after d.at"
    assert hint["column"] == OUTER.index("LEFT") + 1


def test_explain_of_an_outer_join(
    as_owner: Client, post: Post, owner: User, streams: dict[str, Stream]
) -> None:
    deploy_query(owner, create_query(owner, "first", GOOD), "flights")
    document = post(as_owner, "/api/sql/explain/", {"sql": OUTER, "name": "new"}).json()
    graph = PhysicalGraph.from_json(json.dumps(document["graph"]))
    assert [query.name for query in graph.queries] == ["new"]
    assert [hold.query for hold in graph.holds] == ["new"]
    assert document["marginal"]["cost"]["probe"] > 0
    deploy_query(owner, create_query(owner, "second", OUTER), "flights")
    again = post(as_owner, "/api/sql/explain/", {"sql": OUTER, "name": "third"}).json()
    # Its joins are there, what waits is each query's own.
    assert 0 < again["marginal"]["cost"]["probe"] <= document["marginal"]["cost"]["probe"]
    beside = post(as_owner, "/api/sql/explain/", {"sql": GOOD, "name": "fourth"}).json()
    assert beside["marginal"]["topology"] == "flights"
    outlook = post(as_owner, "/api/sql/outlook/", {"sql": GOOD, "name": "fourth"})
    assert (outlook.status_code, outlook.json()["topology"]) == (200, "flights")


def test_explain_refuses_like_validate(as_owner: Client, post: Post, streams: dict[str, Stream]) -> None:
    answer = post(as_owner, "/api/sql/explain/", {"sql": "SELECT x FROM nowhere"})
    assert answer.status_code == 400
    assert (
        answer.json()["errors"]
        == post(as_owner, "/api/sql/validate/", {"sql": "SELECT x FROM nowhere"}).json()["errors"]
    )


def test_only_for_those_who_are_signed_in(anonymous: Client, post: Post, db: None) -> None:
    for name in ("validate", "format", "explain"):
        assert post(anonymous, f"/api/sql/{name}/", {"sql": GOOD}).status_code == 403


def test_a_text_that_nobody_wrote_is_refused(
    as_owner: Client, post: Post, streams: dict[str, Stream]
) -> None:
    long = GOOD + " " * 200_000
    assert post(as_owner, "/api/sql/validate/", {"sql": long}).json()["errors"][0]["code"] == "too-long"
    for name in ("format", "explain"):
        answer = post(as_owner, f"/api/sql/{name}/", {"sql": long})
        assert answer.json()["errors"][0]["code"] == "too-long"


@pytest.mark.parametrize("body", [[], "text", 7, None, {"sql": None}, {"sql": ["a"]}, {"sql": {}}, {}])
def test_a_bad_form_is_400(as_owner: Client, post: Post, db: None, body: object) -> None:
    for name in ("validate", "format", "explain"):
        answer = as_owner.post(f"/api/sql/{name}/", json.dumps(body), content_type="application/json")
        assert answer.status_code == 400


_words = (
    "SELECT ",
    "FROM ",
    "WHERE ",
    "JOIN ",
    "ON ",
    "INTERVAL ",
    "departures ",
    "AS d",
    "windy ",
    "d.",
    "= ",
)
_marks = ("[RANGE 1 HOUR]", "('sliding'", ",", ";", "*", "(", ")", "'", '"', "--", "/*", "1e999")
_odd = ("\n", "\x00", "\ud800", "\\", "é")
_pieces = st.sampled_from((*_words, *_marks, *_odd))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.one_of(st.text(max_size=60), st.lists(_pieces, max_size=25).map("".join)))
def test_no_text_is_a_server_error(as_owner: Client, post: Post, query: Query, text: str) -> None:
    for name in ("validate", "format", "explain"):
        answer = post(as_owner, f"/api/sql/{name}/", {"sql": text})
        assert answer.status_code in (200, 400), (name, text)
