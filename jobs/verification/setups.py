"""The ways in which a case is answered: arrival orders, batches, plans, and kills."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from optimizer.logical.catalog import Catalog
from optimizer.workload.fixtures import Case, GivenTuple

KillPoint = Literal["in its tasks", "before its manifest", "behind its manifest"]
KILL_POINTS: tuple[KillPoint, ...] = ("in its tasks", "before its manifest", "behind its manifest")
"""Where a batch may end: some of its tasks have written runs; all have, and results; it is committed, and no
result has its final name yet."""
ORDERS = 4
"""Shuffled arrival orders of a case, each under another plan."""
_METHODS = ("greedy", "flat", "left-deep", "tree", "ilp", "individual")


@dataclass(frozen=True, slots=True)
class PlanChoice:
    method: str = "greedy"
    tasks: int = 1
    matrices: bool = False
    """Whether all stores are laid out as join matrices."""
    slices: int = 0
    """Of event time per task of bounded stores; 0 for none."""
    together: bool = False
    """Whether the directory's other queries over the same streams are answered by the same plan."""


@dataclass(frozen=True, slots=True)
class Setup:
    """One way of answering a case."""

    name: str
    """For people."""
    arrivals: tuple[GivenTuple, ...]
    ends: tuple[int, ...]
    """Where batches end, as numbers of tuples; the last is the number of all."""
    plan: PlanChoice
    kill: KillPoint | None = None
    """Where the process ends in every batch, once."""


def setups(case: Case, catalog: Catalog, seed: int) -> list[Setup]:
    """All the ways of answering a case; the same seed gives the same ones."""
    chance = random.Random(f"{seed} {case.name}")
    given, many = case.given, len(case.given)
    found = [
        Setup("as given, in one batch", given, (many,), PlanChoice()),
        Setup("as given, each tuple a batch", in_order(given, catalog), _each(many), PlanChoice(tasks=2)),
        Setup(
            "as given, beside the directory's other queries",
            given,
            (many,),
            PlanChoice(tasks=2, together=True),
        ),
    ]
    for number in range(ORDERS):
        choice = PlanChoice(
            method=_METHODS[(number + seed) % len(_METHODS)],
            tasks=chance.choice((1, 2, 3)),
            matrices=number == 1,
            slices=2 if number == 2 else 0,
            together=number % 2 == 1,
        )
        name = f"arrival order {number + 1}, method {choice.method}, {choice.tasks} tasks"
        found.append(Setup(name, shuffled(given, catalog, chance), _some(many, chance), choice))
    for point in KILL_POINTS:
        arrivals = shuffled(given, catalog, chance)
        ends = _some(many, chance)
        found.append(Setup(f"every batch killed {point}", arrivals, ends, PlanChoice(tasks=2), point))
    return found


def shuffled(given: Sequence[GivenTuple], catalog: Catalog, chance: random.Random) -> tuple[GivenTuple, ...]:
    """Another order of arrival in which nothing is late, in whatever batches.

    A tuple arrives up to its stream's lateness, and the stream up to an hour, behind its event time. Of one
    stream whatever arrived before it is then no more than the lateness newer. Versions of a table come at
    their own time, before the watermark of the streams can reach them.
    """
    delays = {
        stream.name: timedelta(0)
        if catalog[stream.name].is_table
        else timedelta(seconds=chance.choice((0.0, 0.0, chance.uniform(0, 3600))))
        for stream in catalog
    }
    first = datetime.min.replace(tzinfo=UTC)
    keyed: list[tuple[datetime, float, GivenTuple]] = []
    for one in given:
        stream = catalog[one.stream]
        time = one.row[stream.event_time]
        if not isinstance(time, datetime):
            # Turned away whenever it comes.
            keyed.append((first, chance.random(), one))
            continue
        within = timedelta(0) if stream.is_table else chance.random() * stream.lateness
        keyed.append((_later(time, within + delays[one.stream]), chance.random(), one))
    return tuple(one for _, _, one in sorted(keyed, key=lambda each: each[:2]))


def in_order(given: Sequence[GivenTuple], catalog: Catalog) -> tuple[GivenTuple, ...]:
    """By event time, equal ones as the file has them; tables first."""

    def key(one: GivenTuple) -> tuple[bool, float, bool]:
        stream = catalog[one.stream]
        time = one.row[stream.event_time]
        return (isinstance(time, datetime), time.timestamp() if isinstance(time, datetime) else 0.0,
                not stream.is_table)  # fmt: skip

    return tuple(sorted(given, key=key))


def _later(time: datetime, delay: timedelta) -> datetime:
    try:
        return time + delay
    except OverflowError:
        return time


def _each(many: int) -> tuple[int, ...]:
    return tuple(range(1, many + 1)) or (0,)


def _some(many: int, chance: random.Random) -> tuple[int, ...]:
    inner = {chance.randint(1, many) for _ in range(3)} if many else set()
    return tuple(sorted(inner | {many}))


def by_stream(arrivals: Sequence[GivenTuple]) -> Mapping[str, list[GivenTuple]]:
    found: dict[str, list[GivenTuple]] = {}
    for one in arrivals:
        found.setdefault(one.stream, []).append(one)
    return found
