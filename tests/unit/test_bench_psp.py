"""The benchmark of time slices: what its layouts keep and whom their probes ask, and its data."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.physical.graph import Slices
from tests.bench.psp.workload import WINDOW_S, Rates, Way, count_with_duckdb, write


@pytest.mark.parametrize(
    ("way", "kinds", "copies"),
    [
        (Way("slices", Slices(4), tasks=4), {"slices"}, 1),
        (Way("copies", replicated=True, tasks=4), {"grid"}, 4),
        (Way("broadcast", tasks=4), {"shuffle", "all"}, 1),
    ],
)
def test_layouts_are_what_they_are_called(tmp_path: Path, way: Way, kinds: set[str], copies: int) -> None:
    write(tmp_path, Rates(((2, 3),)))
    graph = way.graph(tmp_path / "workload")
    assert {edge.kind for edge in graph.edges} == kinds
    assert {(store.tasks, store.copies) for store in graph.stores} == {(4, copies)}


def test_what_one_task_is_expected_to_have() -> None:
    """Even shares, but for slices of a window: one or two of them are at work."""
    shares = [Way("", layout, tasks=4).share(2.0) for layout in (None, Slices(4), Slices(1))]
    assert shares[:2] == pytest.approx([0.25, 0.25])
    assert 0.5 < shares[2] < 1.0


def test_the_rate_doubles_and_duckdb_counts_images_that_are_alike(tmp_path: Path) -> None:
    rates = Rates(((WINDOW_S, 4), (WINDOW_S, 8)))
    times = rates.times_us().cast("int64").to_pylist()
    assert len(times) == rates.rows == 12 * WINDOW_S
    assert sum(time - times[0] < WINDOW_S * 1_000_000 for time in times) == 4 * WINDOW_S
    write(tmp_path, rates)
    alike = count_with_duckdb(tmp_path)
    assert 0 < alike < rates.rows**2 / 20, "of 20 motifs, and of half of the images"
