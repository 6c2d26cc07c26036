"""What a deployment's state was forecast to be, beside what its stores came to hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from backend.catalog.actions import add_version, create_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.forecasts.actions import AVERAGED_BATCHES, judge, keep_forecasts
from backend.forecasts.intervals import kept_beyond
from backend.forecasts.models import Forecast
from backend.planning import revisions
from backend.streams.models import Stream
from backend.topologies.models import Plan, Topology
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream as CatalogStream
from optimizer.logical.window import Sliding
from optimizer.physical.graph import GraphStore, PhysicalGraph, StoredInput
from tests.api.conftest import TWO_WAY
from tests.api.told import ToldJob, at

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
EXPECTED = 2 * 10 * 3600
"""Two streams of ten tuples per second, an hour of each."""


@pytest.fixture
def pairs(streams: dict[str, Stream], owner: User) -> Query:
    return create_query(owner, "pairs", TWO_WAY)


def deploy(owner: User, query: Query) -> PhysicalGraph:
    """The plan in which the query is answered."""
    deploy_query(owner, Query.objects.get(pk=query.pk), "flights")
    assert revisions.plan_newest(Topology.objects.get().pk)
    plan = Plan.objects.latest("pk")
    return PhysicalGraph.from_json(plan.graph, plan.plan_id)


def arrived(minute: float) -> dict[str, list[dict[str, str]]]:
    return {stream: [{"at": at(minute)}] for stream in ("departures", "weather")}


@pytest.mark.parametrize(
    ("share", "state"),
    [(1.0, "held"), (2.24, "held"), (2.3, "missed"), (0.49, "missed")],
)
def test_a_forecast_is_judged_once_its_windows_are_full(
    bus: redis.Redis, pairs: Query, owner: User, as_viewer: Client, share: float, state: str
) -> None:
    graph = deploy(owner, pairs)
    forecast = Forecast.objects.get()
    # Declared rates may be off by a factor of two; an eighth more: a store forgets in runs.
    assert (forecast.low, forecast.expected) == (EXPECTED / 2, EXPECTED)
    assert forecast.high == EXPECTED * 2 * 1.125
    job = ToldJob(bus, forecast.plan_id, "pairs", ("departures", "weather"))
    holding = {store.id: int(share * EXPECTED / len(graph.stores)) for store in graph.stores}
    assert judge(NOW) == 0
    for minute in (0, 30, 59):
        job.batch(arrived(minute), [], stores=holding)
        assert judge(NOW) == 0
    url = "/api/forecasts/?topology=flights"
    assert (as_viewer.get(url).json()["judged"], as_viewer.get(url).json()["open"]) == (0, 1)
    job.batch(arrived(60), [], stores=holding)
    assert judge(NOW) == 0
    # A peak of one batch in thirty.
    for number in range(AVERAGED_BATCHES):
        assert judge(NOW) == 0
        job.batch(
            arrived(61 + number), [], stores={store: n + 30 * (number == 0) for store, n in holding.items()}
        )
    assert judge(NOW) == 1
    assert judge(NOW) == 0
    told = as_viewer.get(url).json()
    assert (told["judged"], told["held"], told["open"]) == (1, int(state == "held"), 0)
    (one,) = told["newest"]
    assert (one["query"], one["state"], one["observed"]) == (
        "pairs",
        state,
        sum(holding.values()) + round(30 * len(holding) / (AVERAGED_BATCHES + 1)),
    )
    assert as_viewer.get("/api/forecasts/?topology=other").json()["judged"] == 0
    assert as_viewer.get("/api/forecasts/").json()["judged"] == 1


def test_another_version_overtakes_it(pairs: Query, owner: User, bus: redis.Redis) -> None:
    deploy(owner, pairs)
    add_version(owner, pairs, TWO_WAY.replace("1 HOUR", "2 HOURS"))
    deploy(owner, pairs)
    newer, older = Forecast.objects.all()
    assert (older.state, newer.state) == ("overtaken", "open")
    assert newer.expected == 2 * EXPECTED


def test_another_plan_with_other_stores_overtakes_it(
    pairs: Query, owner: User, bus: redis.Redis, query: Query
) -> None:
    graph = deploy(owner, pairs)
    job = ToldJob(bus, Forecast.objects.get().plan_id, "pairs", ("departures", "weather"))
    holding = dict.fromkeys((store.id for store in graph.stores), 1)
    job.batch(arrived(0), [], stores=holding)
    judge(NOW)
    # The other query keeps departures for longer, in the same store.
    deploy(owner, create_query(owner, "longer", TWO_WAY.replace("1 HOUR", "3 HOURS")))
    job.plan_id = Plan.objects.latest("pk").plan_id
    job.batch(arrived(90), [], stores=holding)
    judge(NOW)
    assert {one.query.name: one.state for one in Forecast.objects.all()} == {
        "pairs": "overtaken",
        "longer": "open",
    }


def test_a_plan_with_the_same_stores_leaves_it_open(pairs: Query, owner: User, bus: redis.Redis) -> None:
    deploy(owner, pairs)
    made = Forecast.objects.get()
    topology = Topology.objects.get()
    deployed = revisions.deployed_queries(topology)
    again = revisions.plan_deployed(topology, deployed, None)
    record = revisions.record_plan(topology, "another", topology.revision, deployed, again, "", "")
    keep_forecasts(topology, record, deployed, again, None, NOW)
    assert [(one.pk, one.state) for one in Forecast.objects.all()] == [(made.pk, "open")]


def test_what_never_forgets_has_no_forecast(
    streams: dict[str, Stream], owner: User, bus: redis.Redis
) -> None:
    sql = "SELECT d.flight, w.wind FROM departures AS d, weather AS w WHERE d.origin = w.origin"
    deploy(owner, create_query(owner, "everything", sql))
    assert not Forecast.objects.exists()


@pytest.mark.parametrize(
    ("inputs", "beyond"), [("r", 15 / 60 + 1 / 8), ("rs", 15 / 30 + 1 / 3), ("rst", 15 / 20 + 1 / 3)]
)
def test_lateness_counts_for_the_life_that_a_result_has(inputs: str, beyond: float) -> None:
    columns = (("at", ColumnType.TIMESTAMP),)
    catalog = Catalog(tuple(CatalogStream(s, columns, "at", lateness=timedelta(seconds=15)) for s in "rst"))
    stored = tuple(StoredInput(name, name, ("at",)) for name in inputs)
    store = GraphStore("S", inputs, stored, None, 1, (Sliding(60_000_000),) * len(inputs))
    assert kept_beyond(store, catalog) == pytest.approx(beyond)
