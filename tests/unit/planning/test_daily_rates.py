"""A stream with days and nights is expected to have them again; one without is expected to go on."""

from __future__ import annotations

import random

import pytest

from optimizer.statistics.observation.daily import Rate

HOUR_US = 3_600_000_000


def run(rate_at: dict[int, float], hours: int, epoch_h: float, seed: int = 0) -> list[tuple[float, float]]:
    """(expected, seen) tuples per hour of every epoch but the first."""
    chance = random.Random(seed)
    known, told = None, []
    for number in range(round(hours / epoch_h)):
        until = (number + 1) * epoch_h
        mean = sum(rate_at[int(until - epoch_h * (n + 0.5) / 20) % 24] for n in range(20)) / 20
        seen = max(0, round(chance.gauss(mean * epoch_h, (mean * epoch_h) ** 0.5)))
        if known is not None:
            told.append((known.next.expected * 3600, seen / epoch_h))
        epoch = Rate.of_epoch(epoch_h * 3600, seen, round(until * HOUR_US))
        known = epoch if known is None else known.then(epoch)
    return told


@pytest.mark.parametrize("epoch_h", [0.25, 1.0, 3.0, 8.0])
def test_days_and_nights_are_foreseen_from_the_second_day_on(epoch_h: float) -> None:
    told = run({hour: 400.0 if 6 <= hour < 22 else 40.0 for hour in range(24)}, 24 * 8, epoch_h)
    settled = told[round(24 * 4 / epoch_h) :]
    off = [max(a, b) / min(a, b) for a, b in settled]
    assert sum(one < 2 for one in off) >= 0.9 * len(off)


def test_epochs_that_do_not_divide_the_day_are_foreseen_most_of_the_time() -> None:
    """Their tuples count as evenly spread over them, which dusk and dawn are not."""
    told = run({hour: 400.0 if 6 <= hour < 22 else 40.0 for hour in range(24)}, 24 * 20, 7.9)
    off = [max(a, b) / min(a, b) for a, b in told[round(24 * 4 / 7.9) :]]
    assert sum(one < 2 for one in off) >= 0.75 * len(off)


@pytest.mark.parametrize("epoch_h", [0.25, 1.0, 8.0])
def test_a_steady_stream_is_expected_to_go_on(epoch_h: float) -> None:
    told = run(dict.fromkeys(range(24), 100.0), 24 * 6, epoch_h)
    assert all(70 < expected < 140 for expected, _ in told[10:])


def test_a_rate_that_changed_for_good_is_followed() -> None:
    known = None
    for number in range(20):
        tuples = 1000 if number < 10 else 100
        epoch = Rate.of_epoch(3600.0, tuples, (number + 1) * HOUR_US)
        known = epoch if known is None else known.then(epoch)
        if number == 11:
            assert known.next.expected * 3600 == pytest.approx(100, rel=0.05)
    assert known is not None
    assert known.next.low * 3600 < 100 < known.next.high * 3600


def test_without_event_times_there_are_no_hours() -> None:
    known = Rate.of_epoch(10.0, 50, None).then(Rate.of_epoch(10.0, 50, None))
    assert known.next.expected == pytest.approx(5.0)
    assert set(known.hours) == {None}
    nothing = Rate.of_epoch(10.0, 0, None)
    assert nothing.next.expected == 0.0
    assert nothing.next.high > 0
