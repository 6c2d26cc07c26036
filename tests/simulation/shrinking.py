"""Make a failing schedule small: fewer steps, faults, tuples and queries, as long as it fails alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.simulation.schedule import Schedule, Step

Fails = Callable[[Schedule], bool]


def shrink(schedule: Schedule, fails: Fails, patience_s: float = 120.0) -> Schedule:
    """The smallest schedule found in time that fails as `fails` says.

    Args:
        schedule: fails.
        fails: whether another one fails in the same way.
        patience_s: processor time after which no other one is tried.
    """
    until = time.process_time() + patience_s
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(schedule):
            if time.process_time() > until:
                return schedule
            if fails(candidate):
                schedule, smaller = candidate, True
                break
    return schedule


def _candidates(schedule: Schedule) -> Iterator[Schedule]:
    """Simpler schedules, the boldest first."""
    steps = schedule.steps
    size = len(steps) // 2
    while size:
        for begin in range(0, len(steps), size):
            yield replace(schedule, steps=(*steps[:begin], *steps[begin + size :]))
        size //= 2
    for number, step in enumerate(steps):
        for simpler in _simpler(step):
            yield replace(schedule, steps=(*steps[:number], simpler, *steps[number + 1 :]))
    if len(schedule.first.queries) > 1:
        for name in schedule.first.queries:
            left = tuple(one for one in schedule.first.queries if one != name)
            yield replace(schedule, first=replace(schedule.first, queries=left))
    for settings in (
        {"share_bytes": None},
        {"passing": None},
        {"other_away": None},
        {"idle_s": None},
        {"most_rows": 12},
    ):
        if any(getattr(schedule, name) != value for name, value in settings.items()):
            yield replace(schedule, **settings)  # type: ignore[arg-type]


def _simpler(step: Step) -> Iterator[Step]:
    plain = Step(gap_s=step.gap_s, tuples=step.tuples, deploy=step.deploy, merged=step.merged)
    if plain != step:
        yield plain
    if step.tuples:
        yield replace(step, tuples={}, poison=())
    if step.deploy is not None:
        yield replace(step, deploy=None, message=None, heard_at=0)
    for name in ("disk", "tasks", "poison", "redis", "sink_away"):
        given = getattr(step, name)
        for at in range(len(given)):
            yield replace(step, **{name: (*given[:at], *given[at + 1 :])})
    for name, value in (("clock_s", 0), ("message", None), ("heard_at", 0), ("too_many", 0)):
        if getattr(step, name) != value:
            yield replace(step, **{name: value})
    for name, value in (("merged", (0, 0)), ("log_lost", False), ("repeated", False), ("gap_s", 1)):
        if getattr(step, name) != value:
            yield replace(step, **{name: value})  # type: ignore[arg-type]
    for stream, rows in step.tuples.items():
        if rows and not any(name == stream for name, _ in step.poison):
            yield replace(step, tuples={**step.tuples, stream: ()})
            for at in range(len(rows) if len(rows) > 1 else 0):
                yield replace(step, tuples={**step.tuples, stream: (*rows[:at], *rows[at + 1 :])})
