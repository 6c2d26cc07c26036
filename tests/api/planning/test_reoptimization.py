"""Planning again from what a job observed: once per epoch, only if it pays, and never against a person."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO

import polars as pl
import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from backend.catalog.models import Query
from backend.deployments import actions
from backend.planning import revisions
from backend.planning.reoptimization import reoptimize
from backend.runs import supervision
from backend.streams.models import Stream
from backend.topologies.models import Desired, Plan, Run, RunState, Topology
from jobs.protocol import (
    CONTROL,
    EpochCompleted,
    StreamsSampled,
    control_key,
    samples_key,
    statistics_key,
)
from optimizer.adaptation import LearntStatistics, learn, tasks_by_stream
from optimizer.estimate import estimate
from optimizer.physical.graph import PhysicalGraph
from optimizer.statistics import FixedStatistics

pytestmark = pytest.mark.django_db
SECONDS = 3600.0


@pytest.fixture
def topology(query: Query, owner: User) -> Topology:
    """A topology whose job runs the first plan."""
    actions.deploy_query(owner, query)
    # By messages other statistics make another plan of so few tuples; in cores their batches cost the most.
    Topology.objects.update(planner={"cost": "messages"})
    topology = Topology.objects.get()
    revisions.plan_newest(topology.pk)
    topology.refresh_from_db()
    topology.current_run = Run.objects.create(topology=topology, state=RunState.RUNNING, plan=topology.plan)
    topology.active_plan = topology.plan
    topology.save()
    return topology


def truth(topology: Topology, shares: dict[str, float]) -> LearntStatistics:
    """Statistics of streams with 10 tuples/s each, and selectivities by SQL."""
    queries = revisions.parse_deployed(revisions.deployed_queries(topology), revisions.load_catalog())
    base = learn(queries, FixedStatistics(dict.fromkeys(("departures", "arrivals", "weather"), 10.0)))
    predicates = {s.name: s.predicate for s in base.statistics}
    assert set(shares) <= set(predicates), sorted(predicates)
    known = FixedStatistics({}, {predicates[name]: value for name, value in shares.items()})
    return learn(queries, FixedStatistics(), known, None, base)


def report(
    bus: redis.Redis, topology: Topology, known: LearntStatistics, epoch: int, **changed: object
) -> None:
    """What a job publishes when the streams are like that."""
    assert topology.plan is not None
    assert topology.current_run is not None
    expected = estimate(PhysicalGraph.from_json(topology.plan.graph), known)
    event = EpochCompleted(
        run=topology.current_run.pk,
        at=timezone.now(),
        epoch=epoch,
        plan_id=topology.plan.plan_id,
        # One batch, which keeps every task busy.
        first_batch=epoch,
        last_batch=epoch,
        event_seconds=SECONDS,
        accepted=dict.fromkeys(("departures", "arrivals", "weather"), round(10 * SECONDS)),
        edges={edge: round(rate * SECONDS) for edge, rate in expected.edges.items()},
        rules={rule: round(rate * SECONDS) for rule, rate in expected.rules.items()},
        held={store: round(tuples) for store, tuples in expected.stores.items()},
        sent=round(expected.probe * SECONDS),
        rates={},
        q_error=None,
    )
    event = event.model_copy(update=changed)
    bus.xadd(statistics_key(topology.name), {"message": event.model_dump_json()})


WINDY = {"departures.origin = weather.origin": 0.5, "arrivals.tail = departures.tail": 0.00001}


def test_a_plan_for_other_data_gives_way(bus: redis.Redis, topology: Topology) -> None:
    before = topology.plan
    report(bus, topology, truth(topology, WINDY), 1)
    assert reoptimize(topology.pk) is True
    topology.refresh_from_db()
    assert topology.plan is not None
    assert topology.plan != before
    assert topology.plan.cause.startswith("selectivity of ")
    assert topology.revision == topology.planned_revision == topology.plan.revision
    assert list(topology.plan.versions.all()) == list(before.versions.all() if before else ())
    learnt = revisions.read_learnt(topology.plan.learnt)
    assert learnt is not None
    found = {s.name: s for s in learnt.statistics}
    for name, value in WINDY.items():
        assert found[name].source == "observed"
        assert found[name].value == pytest.approx(value, rel=0.2)
    supervision._deploy(topology, topology.plan)  # type: ignore[attr-defined]
    ((_, fields),) = bus.xrevrange(control_key(topology.name), count=1)
    message = CONTROL.validate_json(fields["message"])
    assert message.type == "deploy"
    assert (message.plan_id, message.cause) == (topology.plan.plan_id, topology.plan.cause)


def test_a_switch_tells_what_it_was_to_save_and_did(
    bus: redis.Redis, topology: Topology, as_viewer: Client
) -> None:
    """In the first hour under the new plan windows hold tuples of before the change."""
    before = topology.plan
    known = truth(topology, WINDY)
    hour_us = round(SECONDS * 1e6)
    report(bus, topology, known, 1, until_us=hour_us)
    assert reoptimize(topology.pk) is True
    topology.refresh_from_db()
    Topology.objects.update(active_plan=topology.plan)
    told = []
    for number, hours in ((2, 2), (3, 24), (4, 25)):
        report(bus, topology, known, number, until_us=hours * hour_us)
        assert reoptimize(topology.pk) is False
        (saving,) = as_viewer.get(f"/api/topologies/{topology.name}/savings/").json()
        told.append((saving["saving_epochs"], saving["actual_saving"]))
    assert before is not None
    assert topology.plan is not None
    assert (saving["plan_id"], saving["before"]) == (topology.plan.plan_id, before.plan_id)
    assert [epochs for epochs, _ in told] == [0, 1, 2]
    assert told[0][1] is None
    assert saving["predicted_saving"] > 0
    assert told[2][1] == pytest.approx(saving["predicted_saving"], rel=0.3)


def test_what_a_plan_should_take_is_told(bus: redis.Redis, topology: Topology) -> None:
    """Processor time is expected of batches that span what those of the epoch did."""
    report(bus, topology, truth(topology, {}), 1, first_batch=1, last_batch=4)
    assert reoptimize(topology.pk) is False
    ((_, fields),) = bus.xrevrange(control_key(topology.name), count=1)
    message = CONTROL.validate_json(fields["message"])
    assert message.type == "expect"
    assert topology.plan is not None
    graph = PhysicalGraph.from_json(topology.plan.graph)
    probes = {rule.id for rule in graph.rules if rule.kind == "probe"}
    assert set(message.cores) == probes | {store.id for store in graph.stores}
    assert message.total_cores is not None
    assert 0 < sum(message.cores.values()) < message.total_cores
    assert message.batch_s == SECONDS / 4


def test_an_epoch_counts_once(bus: redis.Redis, topology: Topology) -> None:
    report(bus, topology, truth(topology, {}), 1)
    assert reoptimize(topology.pk) is False
    topology.refresh_from_db()
    learnt = topology.learnt
    assert learnt
    Topology.objects.update(learnt="")
    assert reoptimize(topology.pk) is False
    topology.refresh_from_db()
    assert topology.learnt == "", "the same epoch was evaluated twice"


def test_a_plan_that_fits_stays(bus: redis.Redis, topology: Topology) -> None:
    report(bus, topology, truth(topology, {}), 1)
    assert reoptimize(topology.pk) is False
    assert Plan.objects.count() == 1


def test_a_plan_that_stays_is_expected_to_do_what_was_observed(bus: redis.Redis, topology: Topology) -> None:
    """Pages show what is known today, and epochs are compared with it."""
    assert topology.plan is not None
    graph = PhysicalGraph.from_json(topology.plan.graph)
    known = truth(topology, {"departures.origin = weather.origin": 0.02})
    report(bus, topology, known, 1)
    assert reoptimize(topology.pk) is False
    ((_, fields),) = bus.xrevrange(control_key(topology.name), count=1)
    message = CONTROL.validate_json(fields["message"])
    assert message.type == "expect"
    assert message.plan_id == topology.plan.plan_id
    happened = estimate(graph, known)
    assert message.rates == pytest.approx(happened.edges | happened.rules, rel=0.05)
    planned = {one.id: one.tuples_per_second for one in graph.estimates if one.tuples_per_second is not None}
    assert any(
        message.rates[one] > 2 * rate or rate > 2 * message.rates[one] for one, rate in planned.items()
    )
    assert message.stores.keys() == {store.id for store in graph.stores}


@pytest.mark.parametrize(
    "changed",
    [{"plan_id": "other.1"}, {"run": "ffff"}, {"event_seconds": 0.0}, {"accepted": {"weather": 3}}],
    ids=["another plan", "another run", "no time", "too little"],
)
def test_epochs_that_tell_nothing(bus: redis.Redis, topology: Topology, changed: dict[str, object]) -> None:
    report(bus, topology, truth(topology, WINDY), 1, **changed)
    assert reoptimize(topology.pk) is False
    assert Plan.objects.count() == 1


def test_what_people_ask_for_goes_first(bus: redis.Redis, topology: Topology) -> None:
    report(bus, topology, truth(topology, WINDY), 1)
    Topology.objects.update(revision=topology.revision + 1)
    assert reoptimize(topology.pk) is False
    Topology.objects.update(revision=topology.revision, desired=Desired.STOPPED)
    assert reoptimize(topology.pk) is False
    Topology.objects.update(desired=Desired.RUNNING)
    assert reoptimize(topology.pk) is True


def test_what_was_learnt_serves_the_next_request(bus: redis.Redis, topology: Topology) -> None:
    report(bus, topology, truth(topology, WINDY), 1)
    assert reoptimize(topology.pk) is True
    topology.refresh_from_db()
    adapted = topology.plan
    assert adapted is not None
    Topology.objects.update(revision=topology.revision + 1)
    revisions.plan_newest(topology.pk)
    topology.refresh_from_db()
    assert topology.plan is not None
    assert topology.plan.graph == adapted.graph, "the request's plan forgot what was observed"


def tasks_of(topology: Topology) -> dict[str, int]:
    topology.refresh_from_db()
    assert topology.plan is not None
    return tasks_by_stream(PhysicalGraph.from_json(topology.plan.graph))


def test_tasks_follow_the_load_and_stay(bus: redis.Redis, topology: Topology, settings: Settings) -> None:
    """They also stay when a person asks for another plan; a stream that declares its number keeps it."""
    settings.MILLRACE_PARALLELISM = 4.0
    Stream.objects.filter(name="weather").update(parallelism=3)
    Topology.objects.update(revision=topology.revision + 1)
    revisions.plan_newest(topology.pk)
    topology.refresh_from_db()
    Topology.objects.update(active_plan=topology.plan)
    topology.refresh_from_db()
    begun = tasks_of(topology)
    assert begun["weather"] == 3
    seldom = dict.fromkeys(WINDY, 0.00001)
    report(bus, topology, truth(topology, seldom), 1, first_batch=0, last_batch=99)
    assert reoptimize(topology.pk) is True
    assert tasks_of(topology) == {"arrivals": 1, "departures": 1, "weather": 3} != begun
    assert topology.plan is not None
    assert "stores of arrivals get " in topology.plan.cause
    Topology.objects.update(revision=topology.revision + 1)
    revisions.plan_newest(topology.pk)
    assert tasks_of(topology) == {"arrivals": 1, "departures": 1, "weather": 3}


def say_samples(bus: redis.Redis, topology: Topology, epoch: int, tails: list[str]) -> None:
    assert topology.plan is not None
    assert topology.current_run is not None
    streams = {"arrivals": {"tail": tails}, "departures": {"tail": ["a"] * 10, "origin": ["x"] * 10}}
    bodies = {}
    for name, columns in streams.items():
        body = BytesIO()
        pl.DataFrame(columns).write_ipc_stream(body)
        bodies[name] = b64encode(body.getvalue())
    event = StreamsSampled(
        run=topology.current_run.pk,
        at=timezone.now(),
        epoch=epoch,
        plan_id=topology.plan.plan_id,
        streams=bodies,
    )
    bus.xadd(samples_key(topology.name), {"message": event.model_dump_json()}, maxlen=1)


def test_samples_tell_what_no_step_observed(bus: redis.Redis, topology: Topology) -> None:
    say_samples(bus, topology, 1, ["a", "b", "b", "b"])
    report(bus, topology, truth(topology, {}), 1, edges={}, rules={}, held={})
    reoptimize(topology.pk)
    topology.refresh_from_db()
    known = revisions.read_learnt(topology.learnt)
    assert known is not None
    found = {s.name: s for s in known.statistics}
    joined = found["arrivals.tail = departures.tail"]
    assert (joined.value, joined.source) == (pytest.approx(0.25), "sampled")
    # Weather was not sampled, and nobody has seen or declared anything of it.
    assert found["departures.origin = weather.origin"].source == "assumed"


def test_samples_of_another_epoch_tell_nothing(bus: redis.Redis, topology: Topology) -> None:
    say_samples(bus, topology, 0, ["a", "b", "b", "b"])
    report(bus, topology, truth(topology, {}), 1, edges={}, rules={}, held={})
    bus.xadd(samples_key("other"), {"message": "{"})
    reoptimize(topology.pk)
    topology.refresh_from_db()
    known = revisions.read_learnt(topology.learnt)
    assert known is not None
    assert "sampled" not in {s.source for s in known.statistics}


def test_nothing_and_rubbish_are_passed_over(bus: redis.Redis, topology: Topology) -> None:
    assert reoptimize(topology.pk) is False
    bus.xadd(statistics_key(topology.name), {"message": "{"})
    assert reoptimize(topology.pk) is False
    assert reoptimize(topology.pk + 1) is False
