"""Plans follow what data do, and neither chance nor what comes and goes faster than they can follow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from optimizer.adaptation import LearntStatistics
from tests.unit.adaptation.replaying import AFTER, BEFORE, EPOCH, Replay, policy, world

EPOCHS = 30


def switches(folder: Path, data: Callable[[int], LearntStatistics], **drawn: float) -> list[int]:
    """The epochs that begin with another plan, of a replay whose epochs have these data."""
    seed = round(drawn.pop("seed", 0))
    replay = Replay(folder, policy(), world=lambda batch: data(batch // EPOCH), seed=seed, **drawn)
    replay.run(EPOCHS * EPOCH).controller.close()
    return replay.switches


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("uneven", [0.0, 0.25])
def test_chance_alone_changes_no_plan(seed: int, uneven: float, tmp_path: Path) -> None:
    """Two orders are as good as equal, so that chance would tell now the one and now the other."""
    assert switches(tmp_path / "a", lambda _: world(0.0050, 0.0052), seed=seed, uneven=uneven) == []


@pytest.mark.parametrize("seed", range(2))
def test_a_change_that_lasts_is_followed_at_once(seed: int, tmp_path: Path) -> None:
    """Observed in epoch 10, evaluated in epoch 11, in use from epoch 12 on."""
    assert switches(tmp_path / "a", lambda epoch: AFTER if epoch >= 10 else BEFORE, seed=seed) == [12]


def test_a_change_is_followed_back(tmp_path: Path) -> None:
    """The first switch is from what was declared."""
    day, night = world(0.002, 0.02), world(0.02, 0.002)
    first, there, back = switches(tmp_path / "a", lambda epoch: night if 8 <= epoch < 20 else day)
    assert (first, there) == (2, 10)
    assert back in (22, 23)


@pytest.mark.parametrize("period", [2, 3, 4, 16])
def test_days_and_nights_change_plans_at_most_twice_in_each(period: int, tmp_path: Path) -> None:
    """What comes and goes within the two epochs that a switch takes is mostly lived with."""
    day, night = world(0.002, 0.02), world(0.02, 0.002)
    found = switches(tmp_path / "a", lambda epoch: day if epoch % period < period / 2 else night)
    # The first one is from what was declared.
    assert len(found) <= 1 + min(2 * EPOCHS / period, 6)


def test_a_slow_drift_changes_the_plan_once_it_pays(tmp_path: Path) -> None:
    """Selectivities that pass each other within twenty epochs."""

    def drifting(epoch: int) -> LearntStatistics:
        share = min(1.0, epoch / 20)
        return world(0.005 * 0.002**share, 0.0075 * 66.7**share)

    found = switches(tmp_path / "a", drifting)
    assert len(found) == 1
    assert found[0] < 22


def test_a_killed_replay_of_uneven_data_decides_alike(tmp_path: Path) -> None:
    whole = Replay(tmp_path / "whole", policy(), seed=1, uneven=0.5).run(24)
    cut = Replay(tmp_path / "cut", policy(), seed=1, uneven=0.5)
    for at in (5, 9, 16, 24):
        cut = cut.run(at).killed()
    assert cut.plans == whole.plans
    for replay in (whole, cut):
        replay.controller.close()
