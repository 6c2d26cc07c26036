"""A result's path through the probe tree, from what the job wrote beside it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.planning import revisions
from backend.topologies.models import Plan, Topology
from jobs.protocol import ResultTrace, results_key
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, SourceRule


@pytest.fixture
def plan(query: Query, owner: User) -> Plan:
    deploy_query(owner, query, "flights")
    topology = Topology.objects.get()
    assert revisions.plan_newest(topology.pk)
    return Plan.objects.get()


def put(bus: redis.Redis, plan_id: str, rule: str, times: dict[str, datetime | None]) -> str:
    trace = ResultTrace(plan_id=plan_id, rule=rule, arrival=2**60 + 1, times=times)
    fields = {"json": "{}", "batch": "4", "trace": trace.model_dump_json()}
    return bus.xadd(results_key("flights", "windy"), fields)  # type: ignore[return-value]


def test_every_leaf_is_followed_back_to_its_start(
    as_outsider: Client, query: Query, plan: Plan, bus: redis.Redis
) -> None:
    graph = PhysicalGraph.from_json(plan.graph, "plan")
    leaves = [rule for rule in graph.rules if isinstance(rule, ProbeRule) and rule.emits]
    assert {leaf.start for leaf in leaves} == {"departures", "weather", "arrivals"}
    moment = datetime(2013, 1, 1, 10, tzinfo=UTC)
    for leaf in leaves:
        entry = put(bus, plan.plan_id, leaf.id, {leaf.start: moment})
        told = as_outsider.get(f"/api/queries/{query.pk}/results/provenance/?id={entry}").json()
        assert (told["topology"], told["plan_id"], told["batch"]) == ("flights", plan.plan_id, 4)
        assert told["arrival"] == str(2**60 + 1)
        assert told["start"] == {
            "alias": leaf.start[0],
            "stream": leaf.start,
            "event_time": "2013-01-01T10:00:00Z",
        }
        source = next(rule for rule in graph.rules if rule.id == told["source"])
        assert isinstance(source, SourceRule)
        assert source.stream == leaf.start
        # Every other input is found once, in the order of the levels; the last step is the leaf.
        found = [one["alias"] for step in told["steps"] for one in step["found"]]
        assert sorted([told["start"]["alias"], *found]) == ["a", "d", "w"]
        assert [step["level"] for step in told["steps"]] == sorted(step["level"] for step in told["steps"])
        assert told["steps"][-1]["rule"] == leaf.id
        conditions = {text for step in told["steps"] for text in step["conditions"]}
        sides = {frozenset(text.split(" = ")) for text in conditions if " = " in text}
        assert {frozenset({"d.origin", "w.origin"}), frozenset({"d.tail", "a.tail"})} <= sides


def test_what_is_gone_says_so(as_owner: Client, query: Query, plan: Plan, bus: redis.Redis) -> None:
    url = f"/api/queries/{query.pk}/results/provenance/"
    assert as_owner.get(url).status_code == 400
    gone = as_owner.get(f"{url}?id=1-1")
    assert (gone.status_code, gone.json()["code"]) == (409, "no-such-result")
    silent = bus.xadd(results_key("flights", "windy"), {"json": json.dumps({}), "batch": "4"})
    assert as_owner.get(f"{url}?id={silent}").json()["code"] == "no-trace"
    foreign = put(bus, "another.1", "rule", {})
    assert as_owner.get(f"{url}?id={foreign}").json()["code"] == "no-such-plan"
