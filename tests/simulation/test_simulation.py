"""Schedules of fresh seeds, what once failed, and that a seed repeats itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fresh import fresh_seed
from tests.simulation.campaign import Failed, Simulator, simulator
from tests.simulation.sabotage import DEFECTS, search
from tests.simulation.schedule import SCHEDULE, schedule_of
from tests.simulation.world import Outcome

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.json"))
FIRST = (1_000 + fresh_seed("simulation", 999_000)) * 1000
"""Of the schedules that this run tries; those of one thousand share their plans."""

FAULTS = (
    *("Redis: emptied", "Redis: refused", "Redis: unanswered", "sink away: publish", "sink away for steps"),
    *("kill: flush", "power: flush", "full: write", "rename fails: rename", "contents lost"),
    *("a zombie writes", "task lost in stage 2", "task twice", "task shuffled", "a batch is given up"),
    *("a message is lost", "a message is late or doubled", "the clock is set", "tuples set aside"),
)
"""Some of each kind, which a hundred seeds meet ten times and more."""


@pytest.fixture(scope="module")
def simulation() -> Iterator[Simulator]:
    with simulator() as made:
        yield made


def test_schedules_of_fresh_seeds_give_what_duckdb_gives(
    simulation: Simulator, pytestconfig: pytest.Config
) -> None:
    met: Counter[str] = Counter()
    seeds = range(FIRST, FIRST + pytestconfig.getoption("schedules"))
    for seed in seeds:
        found = simulation.outcome(schedule_of(seed))
        assert isinstance(found, Outcome), f"python -m tests.simulation --seed {seed}: {found.told}"
        met += found.counts
    assert len(seeds) < 100 or set(FAULTS) <= met.keys(), "a fault that is drawn never struck"


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.stem)
def test_what_once_failed_does_not_fail_again(simulation: Simulator, file: Path) -> None:
    found = simulation.outcome(SCHEDULE.validate_json(file.read_bytes()))
    assert isinstance(found, Outcome), found.told


@pytest.mark.parametrize("seed", [14, 22])
def test_a_seed_repeats_itself(simulation: Simulator, seed: int) -> None:
    one, other = (simulation.outcome(schedule_of(seed)) for _ in range(2))
    assert isinstance(one, Outcome)
    assert one == other


@pytest.mark.parametrize("name", ["empty files are not flushed", "a range is read twice"])
def test_a_planted_defect_is_found_and_made_small(simulation: Simulator, name: str) -> None:
    """All of them are tried by `python -m tests.simulation --sabotage`."""
    (defect,) = (one for one in DEFECTS if one.name == name)
    assert search(simulation, defect, range(8, 24)).seeds is not None


def test_a_failing_schedule_is_made_small(simulation: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome(schedule: object) -> Failed | None:
        return Failed("kind", "told") if "poison=(('r'" in repr(schedule) else None

    monkeypatch.setattr(simulation, "outcome", outcome)
    seed = next(seed for seed in range(1000) if outcome(schedule_of(seed)))
    small = simulation.shrunk(schedule_of(seed), Failed("kind", "told"), 10.0)
    (step,) = small.steps
    assert [name for name, _ in step.poison] == ["r"]
    assert (step.disk, step.tasks, step.redis, step.deploy) == ((), (), (), None)
    assert SCHEDULE.validate_json(SCHEDULE.dump_json(small)) == small
