"""The latencies of a minute are those of all its results, whenever their batches were."""

from __future__ import annotations

import numpy as np
import pytest

from jobs.control_plane.latency_window import LatencyWindow
from jobs.driver.batch_totals import Waits, weighted_quantiles

SECOND_US = 1_000_000


def _waits(ms: np.ndarray) -> Waits:
    return Waits(ms, np.ones(len(ms)))


def test_percentiles_are_those_of_the_minutes_results() -> None:
    drawn, window = np.random.default_rng(17), LatencyWindow()
    told: list[tuple[int, np.ndarray]] = []
    for second in range(0, 200, 7):
        ms = drawn.lognormal(5, 1.2, int(drawn.integers(1, 40)))
        told.append((second, ms))
        window.add(second * SECOND_US, {"q": _waits(ms), "other": _waits(ms * 3)})
        inside = np.concatenate([ms for at, ms in told if at > second - 60])
        found = window.of("q")
        assert found is not None
        exact = weighted_quantiles(inside, np.ones(len(inside)), (0.5, 0.99))
        assert [found.p50, found.p99] == pytest.approx(exact, rel=0.0101)
        together = window.of_all()
        assert together is not None
        assert together.p99 > found.p99


def test_a_minute_without_results_has_no_latency() -> None:
    window = LatencyWindow()
    assert window.of_all() is None
    window.add(0, {"q": _waits(np.array([5.0]))})
    window.add(59 * SECOND_US, {})
    assert window.of("q") is not None
    window.add(60 * SECOND_US, {})
    assert window.of("q") is None
    assert window.of_all() is None


def test_a_wait_stands_for_as_many_results_as_it_is_told_to() -> None:
    window = LatencyWindow()
    window.add(0, {"q": Waits(np.array([10.0, 1000.0]), np.array([2.0, 998.0]))})
    found = window.of("q")
    assert found is not None
    assert found.p50 == pytest.approx(1000, rel=0.01)


def test_no_latency_is_off_the_scale() -> None:
    window = LatencyWindow()
    window.add(0, {"q": _waits(np.array([-3.0, 0.0, 1e300]))})
    found = window.of("q")
    assert found is not None
    assert found.p50 == 1.0
