"""What runs costs, over HTTP, from what a job has told."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from backend.accounts.models import Team
from backend.catalog.models import Query
from backend.topologies.models import Topology
from jobs.protocol import JobStopped, events_key
from tests.api.costs.measured import tell, two_queries
from tests.api.history.told import RUNS, after, batch, say

URL = "/api/costs/"


@pytest.fixture
def topology(query: Query, owner: User) -> Topology:
    return two_queries(query, owner)


def _told(client: Client, by: str = "query") -> dict[str, Any]:
    answer = client.get(URL, {"by": by})
    assert answer.status_code == 200, answer.content
    told: dict[str, Any] = answer.json()
    return told


@pytest.mark.parametrize("by", ["query", "team", "stream"])
@pytest.mark.parametrize(("processes", "cores"), [(2.0, 2.0), (None, 1.0)])
def test_the_rows_add_up_to_what_the_job_takes(
    as_teammate: Client, topology: Topology, bus: redis.Redis, by: str, processes: float | None, cores: float
) -> None:
    graph = tell(bus, topology, processes)
    told = _told(as_teammate, by)
    assert told["total"]["cores"] == cores
    assert told["total"]["bytes"] == 1000 * len(graph.stores)
    assert sum(row["cores"] for row in told["rows"]) == pytest.approx(cores)
    assert sum(row["bytes"] for row in told["rows"]) == pytest.approx(1000 * len(graph.stores))
    names = {
        "query": ["two", "windy"],
        "team": ["", "=airside"],
        "stream": ["arrivals", "departures", "weather"],
    }
    assert sorted(row["name"] or "" for row in told["rows"]) == names[by]
    assert told["unmeasured"] == []


def test_a_query_says_where_it_runs_and_whose_it_is(
    as_teammate: Client, topology: Topology, query: Query, bus: redis.Redis
) -> None:
    tell(bus, topology)
    rows = {row["name"]: row for row in _told(as_teammate)["rows"]}
    assert (rows["windy"]["query"], rows["windy"]["topology"]) == (query.pk, "flights")
    assert (rows["windy"]["team"], rows["two"]["team"]) == (None, "=airside")
    assert rows["windy"]["owner"] == query.owner.username
    assert rows["windy"]["cores"] > rows["two"]["cores"], "it needs a third stream"
    of_it = as_teammate.get(URL, {"topology": "flights"}).json()
    assert {row["name"]: row for row in of_it["rows"]} == rows
    other = as_teammate.get(URL, {"topology": "flight"}).json()
    assert (other["rows"], other["total"]["cores"], other["unmeasured"]) == ([], 0.0, [])


def test_money_is_told_once_there_is_a_price(
    as_teammate: Client, topology: Topology, bus: redis.Redis, settings: Settings
) -> None:
    tell(bus, topology)
    assert _told(as_teammate)["total"]["month"] is None
    settings.MILLRACE_PRICE_CORE_HOUR, settings.MILLRACE_PRICE_GB_HOUR = 0.05, 0.01
    settings.MILLRACE_CURRENCY = "CHF"
    told = _told(as_teammate)
    expected = (2.0 * 0.05 + told["total"]["bytes"] / 1e9 * 0.01) * 730
    assert told["total"]["month"] == pytest.approx(expected)
    assert sum(row["month"] for row in told["rows"]) == pytest.approx(expected)
    assert (told["currency"], told["core_hour"], told["gb_hour"]) == ("CHF", 0.05, 0.01)


def test_what_has_not_measured_an_epoch_is_named(
    as_teammate: Client, topology: Topology, bus: redis.Redis
) -> None:
    tell(bus, topology)
    bus.xtrim(events_key("flights"), maxlen=0, approximate=False)
    assert _told(as_teammate)["rows"] == []
    say(bus, batch(0, 0))
    told = _told(as_teammate)
    assert (told["rows"], told["unmeasured"], told["total"]["cores"]) == ([], ["flights"], 0)


def test_what_has_stopped_costs_nothing(as_teammate: Client, topology: Topology, bus: redis.Redis) -> None:
    tell(bus, topology)
    say(bus, JobStopped(run=RUNS[0], at=after(2), reason="stopped"))
    told = _told(as_teammate)
    assert (told["rows"], told["unmeasured"]) == ([], [])


def test_the_file_has_the_same_rows_and_no_formula(
    as_teammate: Client, topology: Topology, bus: redis.Redis, settings: Settings
) -> None:
    tell(bus, topology)
    settings.MILLRACE_PRICE_CORE_HOUR = 0.05
    answer = as_teammate.get(f"{URL}download/", {"by": "team"})
    assert answer["Content-Disposition"] == 'attachment; filename="costs-by-team.csv"'
    header, *rows = csv.reader(io.StringIO(answer.content.decode()))
    assert header == ["team", "cores", "bytes", "EUR a month"]
    assert sorted(row[0] for row in rows) == ["", "'=airside"]
    assert sum(float(row[1]) for row in rows) == pytest.approx(2.0)
    told = {row["name"]: row for row in _told(as_teammate, "team")["rows"]}
    assert {row[0]: float(row[3]) for row in rows} == {
        "": told[None]["month"],  # type: ignore[index]
        "'=airside": told["=airside"]["month"],
    }


def test_what_others_have_is_one_row_without_a_name(
    as_outsider: Client, as_owner: Client, topology: Topology, bus: redis.Redis
) -> None:
    tell(bus, topology)
    whole = {row["name"]: row["cores"] for row in _told(as_owner)["rows"]}
    Team.objects.update(private=True)
    for by in ("query", "team", "stream"):
        assert "airside" not in as_outsider.get(URL, {"by": by}).content.decode()
        assert "two" not in as_outsider.get(f"{URL}download/", {"by": by}).content.decode()
    told = _told(as_outsider)
    assert {row["name"]: row["cores"] for row in told["rows"]} == {
        "windy": whole["windy"],
        "queries of other teams": whole["two"],
    }
    assert sum(row["cores"] for row in told["rows"]) == pytest.approx(told["total"]["cores"])


def test_a_division_that_is_none_is_refused(as_teammate: Client, topology: Topology) -> None:
    answer = as_teammate.get(URL, {"by": "colour"})
    assert answer.status_code == 400
    assert "colour" in answer.content.decode()
