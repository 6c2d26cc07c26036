"""The oracle beside a real streaming job: its results are equal, until somebody takes one away."""

from __future__ import annotations

import json
import random
import time
from datetime import UTC, datetime, timedelta

import pytest
import redis
from django.contrib.auth.models import User
from django.utils import timezone

from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.oracle import span
from backend.oracle.actions import check_topology
from backend.oracle.models import Check, Verdict
from backend.oracle.queries import differing
from backend.oracle.sampling import sample
from backend.planning import revisions
from backend.runs import process, supervision
from backend.topologies.models import Run, Topology
from jobs.protocol import EVENTS, BatchCompleted, JobFailed, events_key, results_key, stream_key

BEGIN = datetime(2013, 1, 1, tzinfo=UTC)
TAIL = results_key("flights", "windy")
WAITING = {
    "quiet": """SELECT d.flight, d.tail FROM departures AS d WHERE NOT EXISTS (SELECT 1 FROM arrivals AS a
        WHERE a.tail = d.tail AND a.at BETWEEN d.at AND d.at + INTERVAL 1 HOUR)""",
    "beside": """SELECT d.flight, d.tail, a.delay FROM departures AS d LEFT JOIN arrivals AS a
        ON a.tail = d.tail AND a.at BETWEEN d.at - INTERVAL 10 MINUTES AND d.at + INTERVAL 1 HOUR""",
    "hourly": """SELECT TUMBLE(at, INTERVAL 2 HOURS) AS since, origin, COUNT(*) AS flights FROM departures
        GROUP BY since, origin""",
    "flown": """SELECT SESSION(at, INTERVAL 30 MINUTES) AS since, tail, COUNT(*) AS flights FROM departures
        GROUP BY since, tail""",
}
"""Queries whose results wait for the watermark."""
OTHERS = {
    "places": "SELECT tail, COUNT(*) AS flights, MAX(flight) AS latest FROM departures GROUP BY tail",
    "busy": """SELECT v.since, v.tail, v.flights, a.delay FROM (
            SELECT TUMBLE(at, INTERVAL 2 HOURS) AS since, tail, COUNT(*) AS flights FROM departures
            GROUP BY since, tail) [RANGE 2 HOURS] AS v, arrivals [RANGE 2 HOURS] AS a
        WHERE v.tail = a.tail""",
}
"""One whose rows change, and one that reads the results of another."""
PATIENCE_S = 900.0


class Producer:
    """Three streams whose tuples meet now and then; some come too late, some twice."""

    def __init__(self, bus: redis.Redis) -> None:
        self._bus = bus
        self._chance = random.Random(7)
        self._minute = 0.0
        self.sent = 0

    def send(self, many: int) -> None:
        for _ in range(many):
            self._minute += 7
            late = 120 if self._chance.random() < 0.02 else 0
            moment = BEGIN + timedelta(minutes=self._minute - late)
            row = {"at": moment.isoformat(), "origin": self._chance.choice(("JFK", "LGA", None))}
            row |= {"tail": f"N{self._chance.randrange(24)}", "flight": f"F{self._minute:.0f}"}
            wind = {"at": row["at"], "origin": row["origin"], "wind": self._chance.uniform(10, 40)}
            back = {"at": row["at"], "tail": f"N{self._chance.randrange(24)}", "delay": self._minute / 7}
            for stream, tuple_ in (("departures", row), ("weather", wind), ("arrivals", back)):
                for _ in range(2 if self._chance.random() < 0.05 else 1):
                    self._bus.xadd(stream_key(stream), {"json": json.dumps(tuple_)})
                    self.sent += 1

    def wait(self) -> None:
        """Until everything that was sent is part of a batch."""
        read: dict[int, int] = {}
        after, deadline = "0-0", time.monotonic() + PATIENCE_S
        while sum(read.values()) < self.sent:
            assert time.monotonic() < deadline, f"{sum(read.values())} of {self.sent} tuples were read"
            for _, entries in self._bus.xread({events_key("flights"): after}, block=1000) or ():
                for after, fields in entries:  # noqa: B007
                    event = EVENTS.validate_json(fields["message"])
                    assert not isinstance(event, JobFailed), event.error
                    if isinstance(event, BatchCompleted):
                        streams = event.streams.values()
                        read[event.batch] = sum(s.accepted + s.late + s.undecodable for s in streams)


@pytest.fixture
def topology(query: Query, owner: User) -> Topology:
    deploy_query(owner, query, "flights")
    for name, text in (WAITING | OTHERS).items():
        deploy_query(owner, create_query(owner, name, text), "flights")
    topology = Topology.objects.get()
    assert revisions.plan_newest(topology.pk)
    supervision.reconcile(topology.pk, timezone.now())
    return topology


def checked(topology: Topology, minutes: int) -> dict[str, Check]:
    """Rounds until all queries had their turn; the check of each, by its name."""
    now = timezone.now() + timedelta(minutes=minutes)
    while check_topology(topology.pk, now):
        pass
    return {made.query.name: made for made in Check.objects.filter(at=now)}


def test_a_real_job_is_equal_and_a_result_that_is_taken_away_is_missed(
    topology: Topology, bus: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = Producer(bus)
    for _ in range(2):
        producer.send(150)
        producer.wait()
    first = checked(topology, 0)
    for equal in first.values():
        assert (equal.verdict, equal.missing, equal.extra) == (Verdict.EQUAL, 0, 0), equal.reason
        # How much a check spans depends on how many batches there were.
        assert equal.compared == equal.results == equal.expected > 10
    assert set(first) == {"windy", *WAITING, *OTHERS}
    # What waits for the first half is due once the second is there.
    for _ in range(2):
        producer.send(20)
        producer.wait()
    taken = {}
    for name in ("windy", "quiet", "flown", *OTHERS):
        tail = results_key("flights", name)
        entry, fields = bus.xrevrange(tail, count=1)[0]
        bus.xdel(tail, entry)
        assert int(fields["batch"]) > (first[name].last_batch or 0)
        taken[name] = json.loads(fields["json"])
    second = checked(topology, 2)
    for name, lost in taken.items():
        differs = second.pop(name)
        assert differs.first_batch == (first[name].last_batch or 0) + 1
        assert (differs.verdict, differs.missing, differs.extra) == (Verdict.DIFFERS, 1, 0)
        assert differs.results == differs.expected > 1
        (missed,) = json.loads(differs.examples)["missing"]
        assert missed == {
            column: pytest.approx(value) if isinstance(value, float) else value
            for column, value in lost.items()
        }
    assert [made.verdict for made in second.values()] == [Verdict.EQUAL] * 2
    assert {name: text.partition(" in batches ")[0] for name, text in differing(topology).items()} == (
        dict.fromkeys(taken, "1 results missing and 0 too many")
    )
    # Windows that are too large are sampled, and the rest of them is equal.
    monkeypatch.setattr(span, "MOST_TUPLES", 4)
    monkeypatch.setattr(sample, "MOST_SAMPLED", 60)
    for minutes in range(4, 10, 2):
        producer.send(40)
        producer.wait()
        found = checked(topology, minutes)
        unread = found.pop("busy")
        assert unread.reason.endswith("and of results of other queries no sample is kept")
        for some in found.values():
            assert (some.verdict, some.reason, some.missing, some.extra) == (Verdict.EQUAL, "", 0, 0)
    windy = found["windy"]
    assert 0 < windy.share < 1
    assert windy.compared == windy.expected < windy.results
    process.end(Run.objects.get())
