"""Checks of windows too large to be read at once: exact for a sample of keys; a real Redis and DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from pytest_django import Settings

from backend.catalog.actions import create_query
from backend.catalog.language import parse_versions
from backend.deployments.actions import deploy_query
from backend.oracle import actions, reference, span
from backend.oracle.ledger import Ledger, told_batches
from backend.oracle.models import Check, Verdict
from backend.oracle.sampling import sample
from backend.oracle.sampling.keys import keys_of
from backend.oracle.sampling.sample import Sample, Sampling
from backend.planning import revisions
from backend.streams.models import Stream
from backend.streams.queries import load_catalog
from backend.topologies.models import Plan, Topology
from jobs.protocol import events_key, results_key, stream_key
from tests.api.told import START, ToldJob, at

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WINDOW = 30
"""Minutes."""
WIDTH = timedelta(minutes=WINDOW)
KEYED = (
    f"SELECT d.origin, d.flight, w.wind FROM departures [RANGE {WINDOW} MINUTES] AS d, "
    f"weather [RANGE {WINDOW} MINUTES] AS w WHERE d.origin = w.origin"
)
ITSELF = (
    f"SELECT a.origin AS one, b.flight AS other FROM departures [RANGE {WINDOW} MINUTES] AS a, "
    f"departures [RANGE {WINDOW} MINUTES] AS b WHERE a.flight = b.origin"
)
UNTOLD = KEYED.replace("d.origin, d.flight, ", "")
RUNNING = "SELECT origin, COUNT(*) AS n FROM departures GROUP BY origin"
Tuple = dict[str, Any]


class World:
    """A query's streams, what came of them, and all results that there are."""

    def __init__(self, bus: redis.Redis, owner: User, text: str, seed: int) -> None:
        deploy_query(owner, create_query(owner, "pairs", text), "flights")
        self.topology = Topology.objects.get()
        assert revisions.plan_newest(self.topology.pk)
        self.itself = text in (ITSELF, RUNNING)
        self.job = ToldJob(
            bus, Plan.objects.get().plan_id, "pairs", ("departures", "weather")[: 2 - self.itself]
        )
        self._chance = random.Random(seed)
        self._minute = 0
        self._came: list[tuple[int, datetime, Tuple]] = []
        self._later = iter(NOW + timedelta(hours=n) for n in range(1000))

    def arrivals(self, late: bool = False) -> dict[str, list[Tuple]]:
        """Of the next minute; late tuples are far older than anything that windows hold."""
        self._minute += 1
        names = [f"K{self._chance.randrange(40):02d}" for _ in range(12)]
        times = [max(0.0, self._minute - self._chance.random()) for _ in range(12)]
        if late:
            times[0] = 0.0
        departures = [
            {"at": at(time), "flight": self._chance.choice(names), "origin": name}
            for time, name in zip(times, names, strict=True)
        ]
        if self.itself:
            return {"departures": departures}
        weather = [
            {
                "at": at(self._minute),
                "wind": float(self._chance.randrange(9)),
                "origin": self._chance.choice(names),
            }
            for _ in range(6)
        ]
        return {"departures": departures, "weather": weather}

    def results(self, arrived: dict[str, list[Tuple]], late: bool = False) -> list[Tuple]:
        """Those whose last tuple is among what has just arrived, by nested loops."""
        fresh = [
            (number, datetime.fromisoformat(row["at"]), row)
            for number, rows in enumerate(arrived.values())
            for row in rows
        ][late:]
        before = [one for one in self._came if one[1] >= START + timedelta(minutes=self._minute - WINDOW - 2)]
        self._came = before + fresh
        pairs = [
            *((one, other) for one in fresh for other in self._came),
            *((one, other) for one in before for other in fresh),
        ]
        return [
            self._result(one[2], other[2])
            for one, other in pairs
            if self._meet(one[0], other[0], one[2], other[2]) and abs(one[1] - other[1]) <= WIDTH
        ]

    def _meet(self, one_stream: int, other_stream: int, one: Tuple, other: Tuple) -> bool:
        if self.itself:
            return bool(one["flight"] == other["origin"])
        return (one_stream, other_stream) == (0, 1) and one["origin"] == other["origin"]

    def _result(self, one: Tuple, other: Tuple) -> Tuple:
        if self.itself:
            return {"one": one["origin"], "other": other["flight"]}
        return {"origin": one["origin"], "flight": one["flight"], "wind": other["wind"]}

    def minutes(
        self, many: int, change: Callable[[list[Tuple]], Sequence[Tuple]] = list, late: bool = False
    ) -> int:
        """So many batches of a minute each, whose results are published once they are changed."""
        changed = 0
        for _ in range(many):
            came = self.arrivals(late)
            results = self.results(came, late)
            self._chance.shuffle(results)
            published = list(change(results))
            changed += published != results
            self.job.batch(came, published, {"departures": 1} if late else None, told=len(results))
        return changed

    def check(self) -> Check | None:
        before = set(Check.objects.values_list("pk", flat=True))
        actions.check_topology(self.topology.pk, next(self._later))
        return Check.objects.exclude(pk__in=before).first()


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of some hundred tuples are too large."""
    monkeypatch.setattr(span, "MOST_TUPLES", 100)
    monkeypatch.setattr(sample, "MOST_SAMPLED", 100)
    monkeypatch.setattr(sample, "MOST_TUPLES", 100)


@pytest.mark.parametrize("text", [KEYED, ITSELF])
@pytest.mark.parametrize("seed", range(2))
def test_a_sample_is_equal_and_says_how_large_it_is(
    streams: dict[str, Stream], owner: User, bus: redis.Redis, text: str, seed: int
) -> None:
    world = World(bus, owner, text, seed)
    expected = 0
    for _ in range(15):
        world.minutes(5)
        made = world.check()
        assert made is not None
        assert (made.verdict, made.reason, made.missing, made.extra) == (Verdict.EQUAL, "", 0, 0), (
            made.examples
        )
        if made.share < 1:
            assert made.compared == made.expected < made.results
            expected += made.expected
    # Of results that show two keys the part is the square.
    assert made.share in (1 / 4, 1 / 8, 1 / 16, 1 / 64)
    assert made.tuples <= 200
    assert expected > 50


@pytest.mark.parametrize(
    ("change", "missing", "extra"),
    [
        (lambda results: results[1:], 1, 0),
        (lambda results: [*results, *results[:1]], 0, 1),
        (lambda results: [{**results[0], "flight": "wrong"}, *results[1:]] if results else results, 1, 1),
    ],
    ids=["one is missing", "one comes twice", "one is wrong"],
)
def test_what_is_wrong_in_a_sample_is_found_and_nothing_else(
    streams: dict[str, Stream],
    owner: User,
    bus: redis.Redis,
    change: Callable[[list[Tuple]], Sequence[Tuple]],
    missing: int,
    extra: int,
) -> None:
    world = World(bus, owner, KEYED, 5)
    world.minutes(40)
    assert getattr(world.check(), "verdict", None) == Verdict.EQUAL
    changed, found_missing, found_extra = 0, 0, 0
    for _ in range(40):
        changed += world.minutes(1, change)
        made = world.check()
        assert made is not None
        assert made.share in (1 / 2, 1 / 4, 1 / 8)
        assert made.missing in (0, missing)
        assert made.extra in (0, extra)
        assert (made.verdict == Verdict.DIFFERS) == bool(made.missing or made.extra)
        found_missing, found_extra = found_missing + made.missing, found_extra + made.extra
    # About as many as belong to the sample.
    assert changed / 20 <= max(found_missing, found_extra) < changed
    assert (found_missing > 0, found_extra > 0) == (missing > 0, extra > 0)


def test_late_tuples_are_none_of_a_sample(streams: dict[str, Stream], owner: User, bus: redis.Redis) -> None:
    world = World(bus, owner, KEYED, 3)
    world.minutes(50)
    assert getattr(world.check(), "verdict", None) == Verdict.EQUAL
    for _ in range(10):
        world.minutes(2, late=True)
        made = world.check()
        assert made is not None
        assert (made.verdict, made.reason) == (Verdict.EQUAL, "")
        assert made.share < 1


def test_what_has_left_redis_is_waited_for(streams: dict[str, Stream], owner: User, bus: redis.Redis) -> None:
    world = World(bus, owner, KEYED, 1)
    world.minutes(45)
    bus.xtrim(stream_key("departures"), maxlen=5, approximate=False)
    gone = world.check()
    assert gone is not None
    assert gone.verdict == Verdict.UNCHECKED
    verdicts = []
    for _ in range(8):
        world.minutes(5)
        # Only what comes between two checks has to be there.
        made = world.check()
        assert made is not None
        verdicts.append(made.verdict)
        if made.verdict == Verdict.UNCHECKED:
            assert made.reason.startswith(
                "its windows are too large to be read at once, and the sample that is kept of them has what "
                "is newer than 2013-01-01 10:4"
            )
        bus.xtrim(stream_key("departures"), maxlen=5, approximate=False)
        bus.xtrim(events_key("flights"), maxlen=12, approximate=False)
    assert verdicts == [Verdict.UNCHECKED] * 6 + [Verdict.EQUAL] * 2


def test_what_running_groups_count_is_kept_though_it_leaves_redis(
    streams: dict[str, Stream], owner: User, bus: redis.Redis
) -> None:
    world = World(bus, owner, RUNNING, 4)
    counts: Counter[str] = Counter()

    def minutes(many: int, more: int = 0) -> None:
        for _ in range(many):
            came = world.arrivals()
            met = Counter(row["origin"] for row in came["departures"])
            counts.update(met)
            changes = [{"origin": one, "n": counts[one] + more, "_deleted": False} for one in met]
            world.job.batch(came, changes)

    for _ in range(12):
        minutes(5)
        made = world.check()
        assert made is not None
        assert (made.verdict, made.reason) == (Verdict.EQUAL, "")
        assert made.compared == made.expected > 0
        assert made.share < 1 or made.compared == made.results
        bus.xtrim(stream_key("departures"), maxlen=5, approximate=False)
        bus.xtrim(events_key("flights"), maxlen=12, approximate=False)
    assert made.share in (1 / 8, 1 / 16)
    minutes(5, more=1)
    wrong = world.check()
    assert wrong is not None
    assert (wrong.verdict, wrong.missing) == (Verdict.DIFFERS, wrong.extra)
    assert wrong.extra == wrong.compared > 0


def test_running_groups_whose_beginning_has_gone_say_so(
    streams: dict[str, Stream], owner: User, bus: redis.Redis
) -> None:
    world = World(bus, owner, RUNNING, 4)
    for _ in range(10):
        world.job.batch(world.arrivals(), [])
    bus.xtrim(stream_key("departures"), maxlen=5, approximate=False)
    assert getattr(world.check(), "verdict", None) == Verdict.UNCHECKED
    world.job.batch(world.arrivals(), [])
    made = world.check()
    assert made is not None
    assert made.verdict == Verdict.UNCHECKED
    assert made.reason.startswith(
        "what it counts may be of any age, so its tuples are not read anew, and the"
    )
    assert made.reason.endswith("of departures; they reach back to its beginning")


def test_a_sample_is_read_in_parts(
    streams: dict[str, Stream], owner: User, bus: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "MOST_READ", 500)
    world = World(bus, owner, KEYED, 2)
    world.minutes(60)
    made = [world.check()]
    for _ in range(3):
        world.minutes(1)
        made.append(world.check())
    assert [one.verdict for one in made if one is not None] == [Verdict.UNCHECKED] + [Verdict.EQUAL] * 3
    assert made[0] is not None
    assert made[0].reason.endswith("has been read up to batch 47 of 59")


def test_a_topology_that_begins_anew_has_another_sample(
    streams: dict[str, Stream], owner: User, bus: redis.Redis
) -> None:
    world = World(bus, owner, KEYED, 6)
    world.minutes(50)
    assert getattr(world.check(), "verdict", None) == Verdict.EQUAL
    for key in (
        events_key("flights"),
        results_key("flights", "pairs"),
        stream_key("departures"),
        stream_key("weather"),
    ):
        bus.delete(key)
    plan = world.job.plan_id
    world.job = ToldJob(bus, plan, "pairs", ("departures", "weather"))
    world._came.clear()
    for _ in range(3):
        world.minutes(30)
        made = world.check()
        assert made is not None
        assert (made.verdict, made.reason) == (Verdict.EQUAL, "")


def test_results_that_show_no_key_say_what_would_make_a_sample(
    streams: dict[str, Stream], owner: User, bus: redis.Redis
) -> None:
    world = World(bus, owner, UNTOLD, 7)
    world.minutes(40, lambda results: [{"wind": row["wind"]} for row in results])
    made = world.check()
    assert made is not None
    assert (made.verdict, made.reason) == (
        Verdict.UNCHECKED,
        "its windows hold more than 100 tuples of departures, and no sample of them can be told among its "
        "results: have a key of departures among its columns",
    )


def test_the_longest_windows_have_a_sample_of_everything(
    streams: dict[str, Stream], owner: User, bus: redis.Redis, settings: Settings
) -> None:
    settings.MILLRACE_MAX_STATE_TUPLES = settings.MILLRACE_MAX_TUPLE_RATE = 1e30
    world = World(bus, owner, KEYED.replace(f"{WINDOW} MINUTES", "999999999 DAYS"), 8)
    world.minutes(20)
    for _ in range(3):
        made = world.check()
        assert made is not None
        assert (made.verdict, made.reason) == (Verdict.EQUAL, "")
        world.minutes(3)
    assert made.share < 1


@pytest.mark.parametrize(
    ("select", "where"),
    [
        ("d.origin, a.tail, w.wind", "d.origin = w.origin AND d.tail = a.tail"),
        ("w.origin AS place, d.flight", "d.origin = w.origin AND d.tail = a.tail AND a.delay > w.wind"),
        ("d.flight, w.wind, a.delay", "w.wind < a.delay AND d.delay > w.wind + 3"),
        ("w.wind, d.tail, a.tail AS other", "w.wind = d.delay AND d.delay = a.delay"),
    ],
    ids=["two keys", "a key and a stream kept whole", "no equality", "numbers with a point"],
)
def test_a_join_of_samples_is_the_sample_of_the_join(
    streams: dict[str, Stream],
    owner: User,
    bus: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
    select: str,
    where: str,
) -> None:
    text = f"SELECT {select} FROM " + ", ".join(
        f"{name} [RANGE 10 MINUTES] AS {name[0]}" for name in ("departures", "weather", "arrivals")
    )
    deploy_query(owner, create_query(owner, "pairs", f"{text} WHERE {where}"), "flights")
    topology = Topology.objects.get()
    assert revisions.plan_newest(topology.pk)
    job = ToldJob(bus, Plan.objects.get().plan_id, "pairs", ("departures", "weather", "arrivals"))
    chance = random.Random(11)
    catalog = load_catalog()
    (query,) = parse_versions([topology.answered.get().version], catalog).values()
    kept: Sample | None = None
    found, all_of_it = 0, 0
    monkeypatch.setattr(sample, "MOST_TUPLES", 1000)
    for minute in range(0, 60, 2):
        names = [chance.choice(("", "A", "B", "C", "D", "E")) or None for _ in range(40)]
        numbers = [chance.choice((-0.0, 0.0, 1.5, 2.0, 4.25, None)) for _ in range(40)]
        rows = [
            {
                "at": at(minute + chance.random()),
                "flight": names[n],
                "origin": names[n - 1],
                "tail": names[n - 2],
                "delay": numbers[n],
                "wind": numbers[n - 1],
            }
            for n in range(40)
        ]
        job.batch({stream: _of(rows[n::3], stream) for n, stream in enumerate(streams)}, [])
        if minute % 4:
            continue
        ledger = Ledger(told_batches("flights"))
        checked = None if kept is None else kept.batch
        looked_at = span.choose_span(ledger, "pairs", set(streams), lambda _: True, checked)
        assert looked_at is not None
        sampling = Sampling(query, catalog, ledger, keys_of(query))
        kept = sampling.read_on(sampling.begun(looked_at) if kept is None else kept)
        some = reference.sampled_reference(sampling, kept, looked_at)
        with monkeypatch.context() as unlimited:
            unlimited.setattr(span, "MOST_TUPLES", 100_000)
            whole = reference.reference(query, catalog, ledger, looked_at)
        assert some.sampled is not None
        for batch, expected in whole.by_batch.items():
            for kind in ("required", "possible"):
                mine = Counter(
                    {row: n for row, n in getattr(expected, kind).items() if some.sampled.holds(row)}
                )
                assert getattr(some.by_batch[batch], kind) == mine
            found += some.by_batch[batch].required.total()
            all_of_it += expected.required.total()
    assert kept is not None
    assert kept.halvings > 0
    assert 0 < found < all_of_it


def _of(rows: Sequence[Tuple], stream: str) -> list[Tuple]:
    columns = {
        "departures": ("at", "flight", "tail", "origin", "delay"),
        "arrivals": ("at", "tail", "delay"),
        "weather": ("at", "origin", "wind"),
    }
    return [{name: row[name] for name in columns[stream]} for row in rows]
