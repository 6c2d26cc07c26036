"""A text of nested joins, converted over HTTP: for whoever may read queries, saved ones included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.test import Client

from backend.catalog.models import Query
from backend.streams.models import Stream

NESTED = """SELECT t.flight, max(w2.wind) AS gust
FROM (SELECT d.flight, d.origin, w.wind FROM departures [RANGE 1 HOUR] AS d
      JOIN weather [RANGE 90 MINUTES] AS w ON d.origin = w.origin) AS t
JOIN weather AS w2 ON t.origin = w2.origin AND w2.wind > t.wind
GROUP BY t.flight
"""
Post = Callable[..., Any]


def test_the_plan_before_and_after(as_outsider: Client, post: Post, streams: dict[str, Stream]) -> None:
    answer = post(as_outsider, "/api/sql/convert/", {"sql": NESTED})
    assert answer.status_code == 200, answer.content
    document = answer.json()

    before = [(one["kind"], one["join"]) for one in document["before"]]
    assert before == [
        ("project", None),
        ("aggregate", None),
        ("join", "multi_join"),
        ("derived", None),
        ("project", None),
        ("join", "multi_join"),
        ("scan", None),
        ("scan", None),
        ("scan", None),
    ]
    after = {one["id"]: one for one in document["after"]}
    assert [one["kind"] for one in after.values()] == ["project", "aggregate", "multi_join", *["scan"] * 3]
    assert [after[one["parent"]]["kind"] for one in after.values() if one["kind"] == "scan"] == [
        "multi_join"
    ] * 3
    (join,) = document["joins"]
    assert (join["inputs"], join["subqueries"]) == (["d", "w", "w2"], [])
    assert "departures [RANGE 1 HOUR] AS d" in join["sql"]
    validated = post(as_outsider, "/api/sql/validate/", {"sql": join["sql"]}).json()
    assert validated["ok"], validated
    assert document["rest"].startswith("SELECT multi_join.flight AS flight, MAX(multi_join.wind")


def test_a_saved_query_is_part_of_the_join(as_owner: Client, post: Post, query: Query) -> None:
    sql = f"SELECT v.flight FROM {query.name} AS v JOIN departures AS d2 ON v.flight = d2.flight"
    document = post(as_owner, "/api/sql/convert/", {"sql": sql}).json()
    assert [join["inputs"] for join in document["joins"]] == [["a", "d", "d2", "w"]]
    own = post(as_owner, "/api/sql/convert/", {"sql": sql, "name": query.name})
    assert (own.status_code, own.json()["errors"][0]["code"]) == (400, "unknown-stream")


def test_a_mistake_is_underlined(as_owner: Client, post: Post, streams: dict[str, Stream]) -> None:
    answer = post(as_owner, "/api/sql/convert/", {"sql": NESTED.replace("w2.origin AND", "w2.orign AND")})
    (problem,) = answer.json()["errors"]
    assert (answer.status_code, problem["line"], problem["found"]) == (400, 4, "column w2.orign")
    assert NESTED.splitlines()[3][problem["column"] - 1 :].startswith("w2.orig")


def test_nobody_converts_without_an_account(client: Client, post: Post) -> None:
    assert post(client, "/api/sql/convert/", {"sql": NESTED}).status_code in (401, 403)
    page = client.get("/convert/")
    assert (page.status_code, page["Location"]) == (302, "/login/?next=/convert/")


def test_the_page_holds_the_island(as_outsider: Client, db: None) -> None:
    page = as_outsider.get("/convert/").content.decode()
    assert 'data-island="conversion"' in page
    assert '<a href="/convert/" aria-current="page">Convert</a>' in page
