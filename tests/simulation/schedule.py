"""A schedule: what comes, what is asked, and what goes wrong, step by step. A seed gives one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from pydantic import TypeAdapter

from tests.simulation.disk import DiskFault, FaultKind
from tests.simulation.queries import AT_ONCE, HELD, RUNNING, STREAMS, TABLE, Deployed

_SEEDS_OF_A_MENU = 1000
_SETS = 12
Tuple = tuple[int, int | None, int | None]
"""Seconds before or after the step's time, k, j."""


@dataclass(frozen=True, slots=True)
class TaskFault:
    """What happens to one task of a batch; `stage` 0 takes tuples in."""

    kind: str
    """`twice`: it is done again, and what the first attempt made is dropped. `zombie`: the same, and the
    first attempt goes on writing some steps later. `lost`: its executor is lost, all of the batch is done
    again. `shuffled`: what it receives comes in another order."""
    stage: int
    task: int
    later: int = 1
    """Steps until a zombie is back."""

    def __str__(self) -> str:
        back = f", back {self.later} steps later" if self.kind == "zombie" else ""
        return f"task {self.task} of stage {self.stage} {self.kind}{back}"


@dataclass(frozen=True, slots=True)
class MessageFault:
    """What happens to what the control plane sends in a step."""

    lost: bool = False
    delay: int = 0
    """Steps."""
    copies: int = 1

    def __str__(self) -> str:
        return (
            "its message is lost"
            if self.lost
            else f"its message comes {self.copies} times, {self.delay} steps late"
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One batch, with what happens before and during it."""

    gap_s: int = 1
    clock_s: int = 0
    """By how much the wall clock is set back or forth."""
    tuples: dict[str, tuple[Tuple, ...]] = field(default_factory=dict)
    deploy: Deployed | None = None
    message: MessageFault | None = None
    """What happens to the deployment's message; None for nothing."""
    heard_at: int = 0
    """The change of the disk before which the job hears of messages."""
    disk: tuple[DiskFault, ...] = ()
    """One for each process that works on the step, but the last."""
    tasks: tuple[TaskFault, ...] = ()
    poison: tuple[tuple[str, int], ...] = ()
    """By stream and position among the step's tuples, those that the batch fails with."""
    too_many: int = 0
    """How often a step of the plan makes too much."""
    merged: tuple[int, int] = (0, 0)
    """Merges that end before the batch's tasks, and behind them."""
    redis: tuple[tuple[str, int], ...] = ()
    """Commands to Redis that fail, counted from the step's beginning: `refused` before they are carried out,
    `unanswered` behind it; `emptied` is all of Redis."""
    sink_away: tuple[str, ...] = ()
    """Where the sink goes away: `connect`, `publish`, `published`."""
    log_lost: bool = False
    """True if the source's log loses its end with the power."""
    repeated: bool = False
    """True if a committed batch comes again at a start."""

    def lines(self) -> Iterator[str]:
        """What is in it, one thing a line."""
        if self.clock_s:
            yield f"the clock is set by {self.clock_s} s"
        for stream, rows in sorted(self.tuples.items()):
            if rows:
                yield f"{stream}: {' '.join(f'({at:+d}s k={k} j={j})' for at, k, j in rows)}"
        if self.deploy is not None:
            yield f"deploy {self.deploy}" + (f"; {self.message}" if self.message else "")
        if self.deploy is not None and self.heard_at:
            yield f"messages are heard before change {self.heard_at}"
        yield from (str(fault) for fault in (*self.disk, *self.tasks))
        if self.poison:
            yield f"the batch fails with {', '.join(f'{name}[{row}]' for name, row in self.poison)}"
        if self.too_many:
            yield f"a step of the plan makes too much, {self.too_many} times"
        if self.merged != (0, 0):
            yield f"{self.merged[0]} merges end before its tasks, {self.merged[1]} behind them"
        yield from (f"command {at} to Redis is {kind}" for kind, at in self.redis)
        yield from (f"the sink goes away at {point}" for point in self.sink_away)
        if self.log_lost:
            yield "the source's log loses its end with the power"
        if self.repeated:
            yield "the last batch comes again at a start"


@dataclass(frozen=True, slots=True)
class Schedule:
    seed: str
    """What is left to chance is drawn from it."""
    first: Deployed
    steps: tuple[Step, ...]
    share_bytes: int | None = None
    beside: bool = True
    """Whether runs are merged behind the commits."""
    fan: int = 2
    spans: int = 1
    passing: bool | None = None
    """Whether a sink publishes results and files are deleted behind it; None for no sink."""
    other_away: tuple[int, int] | None = None
    """Between which steps another sink is away; None for no other."""
    idle_s: int | None = None
    """A stream that is silent for so long stops holding the watermark back."""
    most_rows: int = 12
    """Of each stream in a batch."""

    def describe(self) -> str:
        said = [
            f"seed {self.seed}: {self.first}",
            f"memory {self.share_bytes}, merged {'beside' if self.beside else 'inside'}, fan {self.fan}, "
            f"spans {self.spans}, sink {self.passing}, another away {self.other_away}, idle {self.idle_s}, "
            f"at most {self.most_rows} rows",
        ]
        for number, step in enumerate(self.steps):
            said.append(f"step {number} (+{step.gap_s} s)")
            said += [f"    {line}" for line in step.lines()]
        return "\n".join(said)


SCHEDULE: TypeAdapter[Schedule] = TypeAdapter(Schedule)
"""Reads and writes schedules as JSON, for fixtures."""


def schedule_of(seed: int) -> Schedule:
    """The schedule of a seed."""
    chance = random.Random(f"simulation {seed}")
    menu = _menu(seed // _SEEDS_OF_A_MENU)
    trouble = chance.choice((0.2, 0.6, 0.6, 1.0))
    steps = tuple(_step(chance, trouble) for _ in range(chance.randint(3, 8)))
    return Schedule(
        seed=str(seed),
        first=chance.choice(menu),
        steps=tuple(_settled(chance, steps, menu)),
        share_bytes=chance.choice((None, None, 600, 40_000)),
        beside=chance.random() < 0.65,
        fan=chance.choice((2, 2, 3, 4)),
        spans=chance.choice((1, 4)),
        passing=chance.choice((None, True, False)),
        idle_s=chance.choice((None, None, 60)),
        most_rows=chance.choice((3, 12, 12)),
        # Drawn last: the rest of a seed's schedule is what it was.
        other_away=(chance.randint(0, 4), chance.randint(0, 9)) if chance.random() < 0.5 else None,
    )


@cache
def _menu(number: int) -> tuple[Deployed, ...]:
    """What schedules ask for: of each set of queries some plans. Planning takes longer than a batch."""
    chance = random.Random(f"menu {number}")
    found: list[Deployed] = []
    for _ in range(_SETS):
        names = chance.sample(sorted(AT_ONCE), chance.choice((1, 1, 2, 3)))
        if chance.random() < 0.6:
            names += chance.sample(sorted(HELD), chance.choice((1, 1, 2)))
        if chance.random() < 0.4:
            names += chance.sample(sorted(RUNNING), chance.choice((1, 1, 2)))
        queries = tuple(sorted(names))
        found.append(Deployed(queries, 0))
        found += [Deployed(queries, chance.randint(1, 11)) for _ in range(2)]
        if chance.random() < 0.5:
            found.append(Deployed(queries, chance.choice((0, 3)), slices=chance.choice((1, 2))))
        if chance.random() < 0.3:
            found.append(Deployed(queries, 0, grids=True))
    return tuple(found)


def _settled(chance: random.Random, steps: tuple[Step, ...], menu: tuple[Deployed, ...]) -> Iterator[Step]:
    """The steps, some with deployments: of other queries, or of the same by another plan."""
    newest: Deployed | None = None
    for step in steps:
        if chance.random() < 0.35:
            asked = newest.queries if newest is not None and chance.random() < 0.5 else None
            newest = chance.choice([one for one in menu if asked is None or one.queries == asked])
            message = None
            if chance.random() < 0.4:
                drawn = chance.random()
                message = MessageFault(drawn < 0.3, chance.choice((0, 1, 2)), chance.choice((1, 1, 2)))
            heard = chance.choice((0, 0, chance.randint(1, 60)))
            yield replace(step, deploy=newest, message=message, heard_at=heard)
        else:
            yield step


def _step(chance: random.Random, trouble: float) -> Step:
    def happens(share: float) -> bool:
        return chance.random() < share * trouble

    tuples = {
        name: tuple(
            (chance.randint(-5, 2), _key(chance), _key(chance)) for _ in range(chance.choice((0, 1, 2, 3, 4)))
        )
        for name in (*STREAMS, TABLE)
    }
    faults: list[DiskFault] = []
    while happens(0.6) and len(faults) < 4:
        faults.append(_disk_fault(chance))
    kinds = ("twice", "zombie", "lost", "shuffled")
    tasks = [
        TaskFault(chance.choice(kinds), chance.randint(0, 3), chance.randint(0, 2), chance.randint(1, 3))
        for _ in range(chance.choice((1, 1, 2)) if happens(0.6) else 0)
    ]
    names = sorted(name for name in STREAMS if tuples[name])
    poison = []
    if names and happens(0.15):
        name = chance.choice(names)
        poison.append((name, chance.randrange(len(tuples[name]))))
    redis = [
        (chance.choice(("refused", "unanswered", "refused", "unanswered", "emptied")), chance.randint(0, 12))
        for _ in range(chance.choice((1, 2, 4)) if happens(0.4) else 0)
    ]
    return Step(
        gap_s=chance.choice((1, 1, 1, 2, 5, 9)),
        clock_s=chance.choice((-86_400, -30, 30, 300, 86_400)) if happens(0.2) else 0,
        tuples=tuples,
        disk=tuple(faults),
        tasks=tuple(tasks),
        poison=tuple(poison),
        too_many=1 if happens(0.15) else 0,
        merged=(chance.choice((0, 0, 1, 3, 6)), chance.choice((0, 0, 1, 3, 6))),
        redis=tuple(redis),
        sink_away=tuple(
            chance.choice(("connect", "publish", "published")) for _ in range(1 if happens(0.3) else 0)
        ),
        log_lost=chance.random() < 0.5,
        repeated=chance.random() < 0.3,
    )


def _key(chance: random.Random) -> int | None:
    return chance.choice((None, 0, 1, 1, 2))


def _disk_fault(chance: random.Random) -> DiskFault:
    kinds: tuple[FaultKind, ...] = ("kill", "power", "full", "rename fails", "flush fails", "pause")
    (kind,) = chance.choices(kinds, (5, 9, 2, 2, 2, 1))
    return DiskFault(kind, int(chance.triangular(0, 70, 8)))
