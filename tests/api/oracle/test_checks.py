"""What the oracle makes of what a job read, published and told; a real Redis, a real DuckDB."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from pytest_django import Settings

from backend.alerts.watching import observe
from backend.catalog.actions import add_version, create_query
from backend.catalog.models import Query
from backend.deployments.actions import deploy_query
from backend.oracle import actions, reference
from backend.oracle.expected import sessions
from backend.oracle.models import Check, Light, Verdict
from backend.planning import revisions
from backend.streams.models import Stream
from backend.topologies.models import Plan, Run, Topology
from jobs.protocol import CONTROL, Control, Verified, control_key, events_key, results_key, stream_key
from tests.api.conftest import TWO_WAY
from tests.api.told import ToldJob, at

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TAIL = results_key("flights", "pairs")


@pytest.fixture
def pairs(streams: dict[str, Stream], owner: User) -> Query:
    return create_query(owner, "pairs", TWO_WAY)


@pytest.fixture
def topology(pairs: Query, owner: User) -> Topology:
    deploy_query(owner, pairs, "flights")
    topology = Topology.objects.get()
    assert revisions.plan_newest(topology.pk)
    return topology


@pytest.fixture
def job(topology: Topology, bus: redis.Redis) -> ToldJob:
    return ToldJob(bus, Plan.objects.get().plan_id, "pairs", ("departures", "weather"))


@pytest.fixture
def checked(topology: Topology) -> Callable[[], Check | None]:
    """One round of the oracle, later than the last; the check that it made."""
    later = iter(NOW + timedelta(hours=n) for n in range(100))

    def look() -> Check | None:
        before = set(Check.objects.values_list("pk", flat=True))
        made = actions.check_topology(topology.pk, next(later))
        fresh = list(Check.objects.exclude(pk__in=before))
        assert made == len(fresh)
        return fresh[0] if fresh else None

    return look


def flight(minute: float, name: str, origin: str = "JFK") -> dict[str, Any]:
    return {"at": at(minute), "flight": name, "origin": origin}


def wind(minute: float, speed: float, origin: str = "JFK") -> dict[str, Any]:
    return {"at": at(minute), "wind": speed, "origin": origin}


def pair(name: str, speed: float) -> dict[str, Any]:
    return {"flight": name, "wind": speed}


def test_equal_results_are_equal_also_with_partners_of_earlier_batches(
    job: ToldJob, checked: Callable[[], Check | None]
) -> None:
    job.batch({"departures": [flight(0, "A"), flight(1, "B", "LGA")], "weather": []}, [])
    job.batch({"weather": [wind(30, 20.5)]}, [pair("A", 20.5)])
    first = checked()
    assert first is not None
    assert (first.verdict, first.first_batch, first.last_batch) == (Verdict.EQUAL, 0, 1)
    assert (first.results, first.expected, first.compared, first.tuples) == (1, 1, 1, 3)
    assert (first.event_from, first.event_to) == (
        datetime(2013, 1, 1, 10, tzinfo=UTC),
        datetime(2013, 1, 1, 10, 30, tzinfo=UTC),
    )
    # Only what came since is looked at; its partners came before. 61 minutes are more than an hour.
    assert checked() is None
    job.batch({"departures": [flight(61, "C"), flight(91, "D")]}, [pair("C", 20.5)])
    second = checked()
    assert second is not None
    assert (second.verdict, second.first_batch, second.results) == (Verdict.EQUAL, 2, 1)
    assert Light.objects.get().newest == second


def test_a_query_is_verified_until_the_newest_event_time_that_was_found_equal(
    job: ToldJob, checked: Callable[[], Check | None], pairs: Query, as_outsider: Client
) -> None:
    def until() -> object:
        return as_outsider.get(f"/api/queries/{pairs.pk}/figures/").json()["verified_until"]

    job.batch({"departures": [flight(0, "A")], "weather": [wind(30, 20.5)]}, [pair("A", 20.5)])
    assert until() is None
    checked()
    assert until() == "2013-01-01T10:30:00Z"
    job.batch({"departures": [flight(40, "B")]}, [])
    checked()
    assert until() is None, "its newest result is missing"


@pytest.fixture
def running(topology: Topology) -> Run:
    """The topology's process, which has the newest plan."""
    topology.refresh_from_db()
    run = Run.objects.create(topology=topology, plan=topology.plan, state="running")
    Topology.objects.update(current_run=run, active_plan=topology.plan)
    return run


def said(bus: redis.Redis) -> list[Control]:
    """What the job was told, oldest first."""
    return [CONTROL.validate_json(fields["message"]) for _, fields in bus.xrange(control_key("flights"))]


def test_the_job_is_told_until_when_its_queries_are_verified(
    job: ToldJob, checked: Callable[[], Check | None], running: Run, bus: redis.Redis
) -> None:
    def verified(until_us: int | None) -> Verified:
        return Verified(plan_id=job.plan_id, until_us={"pairs": until_us})

    job.batch({"departures": [flight(0, "A")], "weather": [wind(30, 20.5)]}, [pair("A", 20.5)])
    checked()
    assert said(bus) == [verified(1_357_036_200_000_000)]
    job.batch({"departures": [flight(40, "B")]}, [])
    checked()
    assert said(bus)[1:] == [verified(None)], "its newest result is missing"
    # It has yet to take another plan.
    Topology.objects.update(active_plan=None)
    job.batch({"departures": [flight(41, "C")]}, [pair("C", 20.5)])
    assert checked() is not None
    Topology.objects.update(active_plan=F("plan"))
    Run.objects.filter(pk=running.pk).update(stop_requested_at=NOW)
    job.batch({"departures": [flight(42, "D")]}, [pair("D", 20.5)])
    assert checked() is not None
    assert len(said(bus)) == 2


@pytest.mark.usefixtures("running")
def test_changes_of_groups_without_an_end_are_checked_batch_by_batch(
    streams: dict[str, Stream],
    owner: User,
    bus: redis.Redis,
    checked: Callable[[], Check | None],
    as_outsider: Client,
) -> None:
    query = Query.objects.get(name="pairs")
    text = "SELECT origin, COUNT(*) AS n FROM departures GROUP BY origin HAVING COUNT(*) < 3"
    add_version(owner, query, text)
    deploy_query(owner, Query.objects.get(name="pairs"), "flights")
    assert revisions.plan_newest(Topology.objects.get().pk)
    Topology.objects.update(active_plan=F("plan"))
    job = ToldJob(bus, Plan.objects.latest("pk").plan_id, "pairs", ("departures",))

    def row(origin: str, n: int | None) -> dict[str, Any]:
        return {"origin": origin, "n": n, "_deleted": n is None}

    job.batch({"departures": [flight(0, "A"), flight(1, "B", "LGA")]}, [row("JFK", 1), row("LGA", 1)])
    job.batch({"departures": [flight(2, "C")]}, [row("JFK", 2)])
    first = checked()
    assert first is not None
    assert (first.verdict, first.reason, first.results, first.compared) == (Verdict.EQUAL, "", 3, 3)
    # A group that leaves the answer says so, and one that nothing came of says nothing.
    job.batch({"departures": [flight(3, "D")]}, [row("JFK", None)])
    gone = checked()
    assert gone is not None
    assert (gone.verdict, gone.results, gone.event_to) == (Verdict.EQUAL, 1, moment(3))
    job.batch({"departures": [flight(4, "E", "LGA")]}, [row("LGA", 3)])
    wrong = checked()
    assert wrong is not None
    assert (wrong.verdict, wrong.missing, wrong.extra) == (Verdict.DIFFERS, 1, 1)
    told = as_outsider.get(f"/api/queries/{query.pk}/checks/").json()[0]
    assert (told["verdict"], told["first_batch"], told["last_batch"]) == ("differs", 3, 3)
    assert (told["missing_rows"], told["extra_rows"]) == ([row("LGA", 2)], [row("LGA", 3)])


def test_a_saved_query_that_is_read_is_answered_first(
    streams: dict[str, Stream], owner: User, bus: redis.Redis, checked: Callable[[], Check | None]
) -> None:
    hourly = """SELECT TUMBLE(at, INTERVAL 1 HOUR) AS hour, origin, COUNT(*) AS n FROM departures
        GROUP BY hour, origin"""
    create_query(owner, "hourly", hourly)
    text = """SELECT h.n, w.wind FROM hourly [RANGE 2 HOURS] AS h, weather [RANGE 2 HOURS] AS w
        WHERE h.origin = w.origin"""
    add_version(owner, Query.objects.get(name="pairs"), text)
    deploy_query(owner, Query.objects.get(name="pairs"), "flights")
    assert revisions.plan_newest(Topology.objects.get().pk)
    job = ToldJob(bus, Plan.objects.latest("pk").plan_id, "pairs", ("departures", "weather"))
    job.batch({"departures": [flight(0, "A"), flight(59, "B")], "weather": [wind(70, 20.5)]}, [])
    # The hour ends with minute 60; its count comes in behind the batch that finds it.
    job.batch({"weather": [wind(80, 1.0, "LGA")]}, [], watermark=moment(70))
    job.batch({}, [{"n": 2, "wind": 20.5}], watermark=moment(80))
    made = checked()
    assert made is not None
    assert (made.verdict, made.reason, made.expected, made.compared) == (Verdict.EQUAL, "", 1, 1)
    job.batch({"weather": [wind(81, 7.5)]}, [{"n": 3, "wind": 7.5}], watermark=moment(80))
    wrong = checked()
    assert wrong is not None
    assert (wrong.verdict, wrong.missing, wrong.extra) == (Verdict.DIFFERS, 1, 1)
    assert (wrong.first_batch, wrong.last_batch) == (3, 3)
    assert json.loads(wrong.examples) == {
        "missing": [{"n": 2, "wind": 7.5}],
        "extra": [{"n": 3, "wind": 7.5}],
    }


@pytest.fixture
def unmet(pairs: Query, owner: User, topology: Topology, bus: redis.Redis) -> ToldJob:
    """A job whose query waits for what does not come: flights without wind within half an hour."""
    text = """SELECT d.flight, w.wind FROM departures AS d LEFT JOIN weather AS w
        ON w.origin = d.origin AND w.at BETWEEN d.at AND d.at + INTERVAL 30 MINUTES"""
    add_version(owner, pairs, text)
    deploy_query(owner, Query.objects.get(pk=pairs.pk), "flights")
    assert revisions.plan_newest(topology.pk)
    return ToldJob(bus, Plan.objects.latest("pk").plan_id, "pairs", ("departures", "weather"))


def moment(minute: int) -> datetime:
    return datetime(2013, 1, 1, 10, tzinfo=UTC) + timedelta(minutes=minute)


def test_what_waits_is_expected_once_the_watermark_has_passed(
    unmet: ToldJob, checked: Callable[[], Check | None], pairs: Query, as_outsider: Client
) -> None:
    unmet.batch({"departures": [flight(0, "A"), flight(1, "B", "LGA")], "weather": [wind(2, 20.5)]},
                [pair("A", 20.5)])  # fmt: skip
    unmet.batch({"departures": [flight(40, "C")], "weather": [wind(31, 1.0)]}, [], watermark=moment(1))
    waiting = checked()
    assert waiting is not None
    assert (waiting.verdict, waiting.expected, waiting.event_to) == (Verdict.EQUAL, 1, moment(1))
    # B's half hour ends with minute 31, which a watermark of 31 has not passed.
    unmet.batch({"weather": [wind(40, 1.0)]}, [pair("C", 1.0)], watermark=moment(31))
    early = checked()
    assert early is not None
    assert (early.verdict, early.expected) == (Verdict.EQUAL, 1)
    unmet.batch({}, [{"flight": "B", "wind": None}], watermark=moment(40))
    due = checked()
    assert due is not None
    assert (due.verdict, due.expected, due.compared) == (Verdict.EQUAL, 1, 1)
    until = as_outsider.get(f"/api/queries/{pairs.pk}/figures/").json()["verified_until"]
    assert until == "2013-01-01T10:40:00Z"
    unmet.batch(
        {"departures": [flight(41, "D", "EWR")], "weather": [wind(90, 2.0)]}, [], watermark=moment(40)
    )
    assert checked() is not None
    unmet.batch({}, [], watermark=moment(80))
    missed = checked()
    assert missed is not None
    assert (missed.verdict, missed.missing, missed.examples) == (
        Verdict.DIFFERS,
        1,
        '{"missing":[{"flight":"D","wind":null}],"extra":[]}',
    )


def test_a_job_that_tells_no_watermark_is_not_checked_where_results_wait(
    unmet: ToldJob, checked: Callable[[], Check | None], bus: redis.Redis
) -> None:
    unmet.batch({"departures": [flight(0, "A")], "weather": []}, [])
    entry, fields = bus.xrevrange(events_key("flights"), count=1)[0]
    bus.xdel(events_key("flights"), entry)
    told = json.loads(fields["message"])
    del told["watermark"]
    bus.xadd(events_key("flights"), {"message": json.dumps(told, separators=(",", ":"))})
    made = checked()
    assert made is not None
    assert (made.verdict, made.reason) == (
        Verdict.UNCHECKED,
        "its results wait for the watermark, which its job, of an older release, does not tell",
    )


SESSIONS = """SELECT SESSION(at, INTERVAL 10 MINUTES) AS since, origin, COUNT(*) AS flights
    FROM departures GROUP BY since, origin"""


@pytest.fixture
def in_sessions(request: pytest.FixtureRequest, pairs: Query, owner: User, topology: Topology) -> ToldJob:
    """A job that counts sessions, with the condition that a test asks for."""
    add_version(owner, pairs, f"{SESSIONS} {getattr(request, 'param', '')}")
    deploy_query(owner, Query.objects.get(pk=pairs.pk), "flights")
    assert revisions.plan_newest(topology.pk)
    bus = request.getfixturevalue("bus")
    return ToldJob(bus, Plan.objects.latest("pk").plan_id, "pairs", ("departures",))


def session(minute: int, origin: str, flights: int) -> dict[str, Any]:
    return {"since": at(minute), "origin": origin, "flights": flights}


def test_sessions_are_compared_once_the_watermark_has_passed_their_gap(
    in_sessions: ToldJob, checked: Callable[[], Check | None], topology: Topology
) -> None:
    flights = [flight(0, "A"), flight(2, "B", "LGA"), flight(5, "C")]
    in_sessions.batch({"departures": flights}, [])
    # Until the watermark is behind minute 15 another flight could lengthen that of JFK.
    in_sessions.batch({"departures": [flight(30, "D")]}, [session(2, "LGA", 1)], watermark=moment(15))
    one = checked()
    assert one is not None
    assert (one.verdict, one.expected, one.compared, one.event_to) == (Verdict.EQUAL, 1, 1, moment(15))
    in_sessions.batch({}, [session(0, "JFK", 2)], watermark=moment(16))
    other = checked()
    assert other is not None
    assert (other.verdict, other.expected, other.compared) == (Verdict.EQUAL, 1, 1)
    in_sessions.batch({}, [session(30, "JFK", 2)], watermark=moment(50))
    wrong = checked()
    assert wrong is not None
    assert (wrong.verdict, wrong.missing, wrong.extra) == (Verdict.DIFFERS, 1, 1)
    found = json.loads(wrong.examples)
    assert (found["missing"], found["extra"]) == ([session(30, "JFK", 1)], [session(30, "JFK", 2)])
    assert observe(topology, NOW).differing == {"pairs": "1 results missing and 1 too many in batches 3 to 3"}


def test_a_session_that_was_published_while_it_was_open_is_too_many(
    in_sessions: ToldJob, checked: Callable[[], Check | None]
) -> None:
    in_sessions.batch({"departures": [flight(0, "A")]}, [])
    in_sessions.batch({"departures": [flight(5, "B")]}, [session(0, "JFK", 1)], watermark=moment(4))
    made = checked()
    assert made is not None
    assert (made.verdict, made.missing, made.extra) == (Verdict.DIFFERS, 0, 1)


@pytest.mark.parametrize("in_sessions", ["", "HAVING COUNT(*) > 2"], indirect=True)
def test_a_session_that_began_before_what_is_read_is_not_compared(
    in_sessions: ToldJob, checked: Callable[[], Check | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_LOOK_BACKS", (1,))
    in_sessions.batch({"departures": [flight(0, "A"), flight(8, "B")]}, [])
    in_sessions.batch({"departures": [flight(16, "C"), flight(24, "D")]}, [], watermark=moment(30))
    assert getattr(checked(), "verdict", None) == Verdict.EQUAL
    in_sessions.batch({"departures": [flight(45, "E")]}, [session(0, "JFK", 4)], watermark=moment(40))
    made = checked()
    assert made is not None
    assert made.verdict == Verdict.UNCHECKED
    assert made.reason.startswith("1 of the sessions that ended may have begun more than")
    # Of what came since it is all known.
    in_sessions.batch({}, [], watermark=moment(50))
    assert getattr(checked(), "verdict", None) == Verdict.EQUAL


@pytest.mark.parametrize(("flights", "verdict"), [(2, Verdict.EQUAL), (3, Verdict.DIFFERS)])
def test_a_session_whose_beginning_is_not_read_leaves_the_others_compared(
    in_sessions: ToldJob,
    checked: Callable[[], Check | None],
    monkeypatch: pytest.MonkeyPatch,
    flights: int,
    verdict: Verdict,
) -> None:
    monkeypatch.setattr(sessions, "_LOOK_BACKS", (1,))
    in_sessions.batch({"departures": [flight(0, "A"), flight(8, "B")]}, [])
    others = [flight(22, "E", "LGA"), flight(23, "F", "LGA")]
    in_sessions.batch({"departures": [flight(16, "C"), *others, flight(24, "D")]}, [], watermark=moment(30))
    assert checked() is not None
    # Nobody can say what the row of JFK should be, but that of LGA is certain.
    long, short = session(0, "JFK", 99), session(22, "LGA", flights)
    in_sessions.batch({"departures": [flight(45, "G")]}, [long, short], watermark=moment(40))
    made = checked()
    assert made is not None
    assert (made.verdict, made.compared) == (verdict, 1)
    assert made.reason.startswith("1 of the sessions that ended may have begun more than 1 gaps before")
    if verdict == Verdict.DIFFERS:
        found = json.loads(made.examples)
        assert (found["missing"], found["extra"]) == ([session(22, "LGA", 2)], [short])


def test_only_so_many_results_as_sessions_are_left_out_are_beyond_comparison(
    in_sessions: ToldJob, checked: Callable[[], Check | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_LOOK_BACKS", (1,))
    in_sessions.batch({"departures": [flight(0, "A"), flight(8, "B")]}, [])
    in_sessions.batch({"departures": [flight(16, "C"), flight(24, "D")]}, [], watermark=moment(30))
    assert checked() is not None
    twice = [session(0, "JFK", 4), session(8, "JFK", 3)]
    in_sessions.batch({"departures": [flight(45, "E")]}, twice, watermark=moment(40))
    made = checked()
    assert made is not None
    assert (made.verdict, made.missing, made.extra) == (Verdict.DIFFERS, 0, 1)


def test_a_long_session_is_read_from_its_beginning(
    in_sessions: ToldJob, checked: Callable[[], Check | None]
) -> None:
    for minute in range(0, 200, 8):
        in_sessions.batch({"departures": [flight(minute, "A")]}, [], watermark=moment(minute))
    assert checked() is not None
    in_sessions.batch({}, [session(0, "JFK", 25)], watermark=moment(210))
    made = checked()
    assert made is not None
    assert (made.verdict, made.reason, made.expected, made.compared) == (Verdict.EQUAL, "", 1, 1)


@pytest.mark.parametrize(
    ("published", "missing", "extra"),
    [
        ([pair("A", 20), pair("B", 20)], 0, 0),
        ([pair("A", 20)], 1, 0),
        ([pair("A", 20), pair("B", 20), pair("B", 20)], 0, 1),
        ([pair("A", 20), pair("B", 20), pair("C", 20)], 0, 1),
        ([pair("A", 20), pair("B", 21)], 1, 1),
        ([], 2, 0),
    ],
)
def test_every_difference_is_found(
    job: ToldJob,
    checked: Callable[[], Check | None],
    published: list[dict[str, Any]],
    missing: int,
    extra: int,
) -> None:
    job.batch({"departures": [flight(0, "A"), flight(0, "B")], "weather": [wind(0, 20)]}, published)
    made = checked()
    assert made is not None
    assert (made.missing, made.extra) == (missing, extra)
    assert made.verdict == (Verdict.DIFFERS if missing or extra else Verdict.EQUAL)


def test_a_result_that_is_taken_out_of_the_tail_is_missed_and_told_of(
    job: ToldJob,
    checked: Callable[[], Check | None],
    bus: redis.Redis,
    as_viewer: Client,
    pairs: Query,
    topology: Topology,
) -> None:
    job.batch(
        {"departures": [flight(0, "A"), flight(0, "B")], "weather": [wind(0, 20)]},
        [pair("A", 20), pair("B", 20)],
    )
    bus.xdel(TAIL, bus.xrevrange(TAIL, count=1)[0][0])
    made = checked()
    assert made is not None
    assert (made.verdict, made.missing, made.extra, made.results) == (Verdict.DIFFERS, 1, 0, 2)
    (told,) = as_viewer.get(f"/api/queries/{pairs.pk}/checks/").json()
    assert (told["verdict"], told["missing_rows"], told["extra_rows"]) == ("differs", [pair("B", 20)], [])
    assert observe(topology, NOW).differing == {"pairs": "1 results missing and 0 too many in batches 0 to 0"}
    document = as_viewer.get(f"/api/queries/{pairs.pk}/").json()["correctness"]
    assert document == {"newest": told, "differed_at": told["at"]}
    # The next results are right: the light remembers.
    job.batch({"weather": [wind(1, 30)]}, [pair("A", 30), pair("B", 30)])
    assert getattr(checked(), "verdict", None) == Verdict.EQUAL
    (query,) = as_viewer.get("/api/topologies/flights/").json()["queries"]
    assert (query["correctness"]["newest"]["verdict"], query["correctness"]["differed_at"]) == (
        "equal",
        told["at"],
    )
    assert observe(topology, NOW).differing == {}


def test_tuples_that_were_too_late_are_not_expected(
    job: ToldJob, checked: Callable[[], Check | None]
) -> None:
    job.batch({"weather": [wind(30, 20), wind(0, 99), wind(1, 98)]}, [], late={"weather": 2})
    job.batch({"departures": [flight(31, "A"), flight(2, "B")]}, [pair("A", 20)], late={"departures": 1})
    made = checked()
    assert made is not None
    assert (made.verdict, made.expected) == (Verdict.EQUAL, 1)


def test_a_late_tuple_that_is_joined_may_meet_what_is_still_there(
    job: ToldJob, checked: Callable[[], Check | None]
) -> None:
    Stream.objects.filter(name="weather").update(late="join")
    job.batch(
        {"departures": [flight(0, "A"), flight(0, "B"), flight(40, "C")], "weather": [wind(50, 1)]},
        [pair("A", 1), pair("B", 1), pair("C", 1)],
    )
    job.batch({"weather": [wind(1, 20)]}, [pair("A", 20)], late={"weather": 1})
    made = checked()
    assert made is not None
    assert (made.verdict, made.expected, made.results) == (Verdict.EQUAL, 3, 4)
    job.batch({"weather": [wind(2, 30)]}, [pair("A", 31)], late={"weather": 1})
    wrong = checked()
    assert wrong is not None
    assert (wrong.missing, wrong.extra) == (0, 1)


def test_what_came_before_the_query_may_be_missing(job: ToldJob, checked: Callable[[], Check | None]) -> None:
    begin = datetime(2013, 1, 1, 10, 30, tzinfo=UTC)
    job.batch(
        {"departures": [flight(0, "A"), flight(29, "B")], "weather": [wind(0, 20)]}, [], missing_before=begin
    )
    filling = checked()
    assert filling is not None
    assert (filling.verdict, filling.reason) == (Verdict.UNCHECKED, "its windows are still filling")
    job.batch({"departures": [flight(10, "C"), flight(30, "D")]}, [], missing_before=begin)
    made = checked()
    assert made is not None
    assert (made.verdict, made.expected, made.missing) == (Verdict.DIFFERS, 1, 1)


def test_a_batch_with_more_results_than_the_tail_keeps_is_counted(
    job: ToldJob, checked: Callable[[], Check | None], bus: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.oracle.published.MOST_ENTRIES", 2)
    flights, results = [flight(0, name) for name in "ABC"], [pair(name, 20) for name in "ABC"]
    job.batch({"departures": flights, "weather": [wind(0, 20)]}, results)
    bus.xtrim(TAIL, maxlen=2, approximate=False)
    made = checked()
    assert made is not None
    assert (made.verdict, made.results, made.compared) == (Verdict.EQUAL, 3, 2)
    job.batch({"weather": [wind(1, 30)]}, [pair(name, 30) for name in "BC"], told=2)
    bus.xtrim(TAIL, maxlen=2, approximate=False)
    short = checked()
    assert short is not None
    assert (short.verdict, short.missing, short.extra) == (Verdict.DIFFERS, 1, 0)


def test_a_batch_of_which_the_tail_took_a_part_is_counted_behind_older_results(
    job: ToldJob, checked: Callable[[], Check | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a pause: the job keeps the newest of a large batch, and Redis has not cut the tail yet."""
    monkeypatch.setattr("backend.oracle.published.MOST_ENTRIES", 2)
    job.batch({"departures": [flight(0, "A")], "weather": [wind(0, 20)]}, [pair("A", 20)])
    assert checked() is not None
    job.batch({"departures": [flight(1, name) for name in "BCD"]}, [pair(name, 20) for name in "CD"], told=3)
    made = checked()
    assert made is not None
    assert (made.verdict, made.results, made.compared, made.missing) == (Verdict.EQUAL, 3, 2, 0)


def test_what_is_gone_or_too_much_is_said(
    job: ToldJob, checked: Callable[[], Check | None], bus: redis.Redis
) -> None:
    job.batch({"departures": [flight(0, "A"), flight(1, "B")], "weather": []}, [])
    bus.xtrim(stream_key("departures"), maxlen=1, approximate=False)
    job.batch({"weather": [wind(2, 20)]}, [pair("A", 20), pair("B", 20)])
    gone = checked()
    assert gone is not None
    assert gone.verdict == Verdict.UNCHECKED
    assert gone.reason == "1 of 2 tuples of departures in its windows are no longer in Redis"
    # Two hours later nothing of it is needed.
    job.batch({"departures": [flight(180, "C")], "weather": [wind(180, 30)]}, [pair("C", 30)])
    assert getattr(checked(), "verdict", None) == Verdict.EQUAL
    # What comes is read on from here. All keys are in the sample, so few tuples lie there.
    job.batch({"departures": [flight(182, "E")]}, [pair("E", 30)])
    more = checked()
    assert more is not None
    assert (more.verdict, more.share, more.compared) == (Verdict.EQUAL, 1.0, 1)
    # Events of before are lost.
    newest = bus.xrevrange(events_key("flights"), count=1)[0][0]
    job.batch({"departures": [flight(183, "F")]}, [pair("F", 30)])
    bus.xtrim(events_key("flights"), minid=newest, approximate=False)
    lost = checked()
    assert lost is not None
    assert lost.verdict == Verdict.EQUAL, "a sample needs only what came since the last check"


def test_a_topic_and_an_older_job_are_not_checked(
    job: ToldJob, checked: Callable[[], Check | None], bus: redis.Redis
) -> None:
    job.batch({"departures": [flight(0, "A")], "weather": [wind(0, 20)]}, [])
    entry, fields = bus.xrevrange(events_key("flights"), count=1)[0]
    bus.xdel(events_key("flights"), entry)
    told = json.loads(fields["message"])
    told["streams"]["weather"]["position"] = None
    bus.xadd(events_key("flights"), {"message": json.dumps(told, separators=(",", ":"))})
    made = checked()
    assert made is not None
    assert made.reason == "weather is not kept in Redis, or its job is of an older release"


def test_a_new_version_begins_anew(
    job: ToldJob, checked: Callable[[], Check | None], pairs: Query, owner: User, topology: Topology
) -> None:
    job.batch({"departures": [flight(0, "A")], "weather": [wind(0, 20)]}, [])
    wrong = checked()
    assert wrong is not None
    assert wrong.verdict == Verdict.DIFFERS
    add_version(owner, pairs, TWO_WAY.replace("1 HOUR", "2 HOURS"))
    deploy_query(owner, Query.objects.get(pk=pairs.pk), "flights")
    topology.refresh_from_db()
    assert revisions.plan_newest(topology.pk)
    # The job still runs the plan of the version before.
    job.batch({"weather": [wind(1, 30)]}, [])
    assert checked() is None
    job.plan_id = Plan.objects.latest("pk").plan_id
    job.batch({"weather": [wind(90, 40)]}, [pair("A", 40)])
    made = checked()
    assert made is not None
    assert (made.verdict, made.first_batch, made.version) == (Verdict.EQUAL, 2, 2)
    assert Light.objects.get().differed_at is None


def test_turns(job: ToldJob, topology: Topology, bus: redis.Redis, settings: Settings, owner: User) -> None:
    job.batch({"departures": [flight(0, "A")], "weather": [wind(0, 20)]}, [pair("A", 20)])
    settings.MILLRACE_CHECK_SECONDS = 0.0
    assert actions.due_topologies() == []
    settings.MILLRACE_CHECK_SECONDS = 60.0
    assert actions.due_topologies() == [topology.pk]
    # Another worker is at it.
    bus.set("millrace:oracle:flights", "1")
    assert actions.check_topology(topology.pk, NOW) == 0
    bus.delete("millrace:oracle:flights")
    assert actions.check_topology(topology.pk, NOW) == 1
    job.batch({"weather": [wind(1, 30)]}, [pair("A", 30)])
    assert actions.check_topology(topology.pk, NOW + timedelta(seconds=59)) == 0
    assert actions.check_topology(topology.pk, NOW + timedelta(seconds=60)) == 1
    assert not bus.exists("millrace:oracle:flights")


def test_only_so_many_checks_are_kept(
    job: ToldJob, checked: Callable[[], Check | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "CHECKS_KEPT", 2)
    for minute in range(4):
        job.batch({"weather": [wind(minute, 20)]}, [])
        checked()
    assert [check.last_batch for check in Check.objects.all()] == [3, 2]


def test_a_cross_product_does_not_sink_the_worker(
    streams: dict[str, Stream], owner: User, bus: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = (
        "SELECT a.wind FROM weather [RANGE 1 HOUR] AS a CROSS JOIN weather [RANGE 1 HOUR] AS b "
        "CROSS JOIN weather [RANGE 1 HOUR] AS c WHERE a.wind + b.wind + c.wind < 0"
    )
    deploy_query(owner, create_query(owner, "product", sql), "flights")
    topology = Topology.objects.get()
    assert revisions.plan_newest(topology.pk)
    monkeypatch.setattr(reference, "DUCKDB_SECONDS", 0.2)
    ToldJob(bus, Plan.objects.get().plan_id, "product", ("weather",)).batch(
        {"weather": [wind(0, speed) for speed in range(1500)]}, []
    )
    assert actions.check_topology(topology.pk, NOW) == 1
    made = Check.objects.get()
    assert made.reason == "the batch join of its windows takes longer than 0.2 s"
